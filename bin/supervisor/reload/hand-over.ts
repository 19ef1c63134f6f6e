/**
 * A service that replaces itself, under a supervisor that follows it: a new process on the same
 * sockets, started by this one, which is told of the successor (`MAINPID=` of systemd) once that is
 * ready. Then this one finishes. Of the proxies of a supervisor of Sluice, `proxy-slots.ts` does
 * the same from outside.
 */
import { type ChildProcess, fork } from "node:child_process";
import {
  handOverVariables,
  type InheritedSockets,
} from "../../../shared/supervision/inherited-sockets.js";
import type { SupervisorNotices } from "../../../shared/supervision/supervisor-notices.js";
import { exitCodes } from "../../session/exit-code.js";
import type { ReloadOutcome } from "./reload-outcome.js";

/** How long a successor may take until it is ready. */
export const successorReadyMs = 60_000;

/** What the successor is told once it is the service: it outlives this process. */
const released = { released: true } as const;

/** Whether a message of the process that has started this one says so. */
export function isRelease(message: unknown): boolean {
  return typeof message === "object" && message !== null && "released" in message;
}

interface HandOverOptions {
  readonly script: string;
  readonly args: readonly string[];
  readonly sockets: InheritedSockets;
  readonly notices: SupervisorNotices;
  /** Resolves when this process is told to stop. */
  readonly stopped: Promise<unknown>;
  /** Whether a further reload has been asked for meanwhile, which is the successor's then. */
  readonly isAskedAgain: () => boolean;
}

/**
 * Starts a successor and makes it the service. Until it is ready, and if it never is, nothing
 * changes.
 */
export async function handOver(options: HandOverOptions): Promise<ReloadOutcome> {
  const { script, args, sockets, notices } = options;
  const given = [...sockets.byName].flatMap(([name, fds]) => fds.map((fd) => ({ name, fd })));
  const successor = fork(script, [...args], {
    env: { ...process.env, ...handOverVariables(given.map(({ name }) => name)) },
    stdio: ["ignore", "inherit", "inherit", ...given.map(({ fd }) => fd), "ipc"],
  });
  let isService = false;
  void options.stopped.then(() => {
    if (!isService) successor.kill("SIGTERM");
  });
  const failure = await untilReady(successor);
  if (failure !== null) {
    // It may have taken connections: it is told to finish, not killed.
    successor.kill("SIGTERM");
    return failure;
  }
  if (!(await notices.send({ mainPid: successor.pid! }))) {
    successor.kill("SIGTERM");
    return failed(exitCodes.failed, "error: the supervisor couldn't be told of the new process");
  }
  isService = true;
  if (options.isAskedAgain()) successor.kill("SIGHUP");
  successor.send(released, () => {
    if (successor.connected) successor.disconnect();
  });
  successor.unref();
  return { ok: true, lines: [`process ${successor.pid} has taken over from ${process.pid}`] };
}

function untilReady(successor: ChildProcess): Promise<(ReloadOutcome & { ok: false }) | null> {
  return new Promise((resolve) => {
    const end = (outcome: (ReloadOutcome & { ok: false }) | null): void => {
      clearTimeout(late);
      resolve(outcome);
    };
    const late = setTimeout(
      () => end(failed(exitCodes.failed, `error: it isn't ready after ${successorReadyMs} ms`)),
      successorReadyMs,
    );
    successor.once("error", ({ message }) =>
      end(failed(exitCodes.failed, `error: it couldn't be started: ${message}`)),
    );
    successor.once("exit", (code) =>
      end(
        failed(
          code === null || code === exitCodes.ok ? exitCodes.failed : code,
          "error: the new process ended before it was ready; its reason is in the log",
        ),
      ),
    );
    successor.once("message", () => end(null));
  });
}

function failed(exitCode: number, line: string): ReloadOutcome & { ok: false } {
  return { ok: false, exitCode, lines: [line] };
}
