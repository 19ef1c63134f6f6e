/**
 * How the benchmark's main process and the processes it starts talk: `{ ready }` once, then one
 * job at a time and its result. Both ends are compiled together and one starts the other, so the
 * shapes are the compiler's to check, not this file's.
 */
import type { ChildProcess } from "node:child_process";

type Reply<Result> =
  | { readonly ok: true; readonly result: Result }
  | { readonly ok: false; readonly reason: string };

/**
 * In the child: says that it is ready, where it listens (empty for one that doesn't), and does the
 * jobs that come.
 */
export function serveJobs<Job, Result>(run: (job: Job) => Promise<Result>, url = ""): void {
  process.on("message", (job: Job) => {
    run(job).then(
      (result) => process.send?.({ ok: true, result } satisfies Reply<Result>),
      (error: unknown) =>
        process.send?.({
          ok: false,
          reason: error instanceof Error ? error.message : String(error),
        } satisfies Reply<Result>),
    );
  });
  announceReady(url);
}

/**
 * In the child: the ready message, in the form that Sluice's own processes send. The child ends
 * with its parent.
 */
export function announceReady(url: string): void {
  process.on("disconnect", () => process.exit());
  process.send?.({ ready: url });
}

/** In the parent: one job, and its result. Rejects when the job failed or the child ended. */
export function giveJob<Job extends object, Result>(
  child: ChildProcess,
  job: Job,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: unknown): void => {
      child.off("exit", onExit);
      const reply = message as Reply<Result>;
      if (reply.ok) resolve(reply.result);
      else reject(new Error(reply.reason));
    };
    const onExit = (): void => {
      child.off("message", onMessage);
      reject(new Error("the process ended in the middle of a job"));
    };
    child.once("message", onMessage);
    child.once("exit", onExit);
    child.send(job);
  });
}
