/**
 * What others ask of a running service: signals, and messages of the process that started it. What
 * the service does then is in `run-service.ts`.
 */
import { exitCodes } from "../session/exit-code.js";

/** Why the service is to end. */
export interface StopRequest {
  readonly reason: string;
  /** Nobody waits for a load balancer: Ctrl-C, or a parent that is gone. */
  readonly atOnce: boolean;
}

export interface ServiceRequests {
  /** The first request to stop. A second signal ends the process at once. */
  readonly stop: Promise<StopRequest>;
  /** Another process listens on the same sockets from now on. */
  readonly replaced: Promise<void>;
}

/** Listens from now on; call it once, before anything else takes time. */
export function onServiceRequests(): ServiceRequests {
  return { stop: onStop(), replaced: onReplaced() };
}

function onStop(): Promise<StopRequest> {
  return new Promise((resolve) => {
    let requested = false;
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
      process.on(signal, () => {
        if (requested) process.exit(exitCodes.killed);
        requested = true;
        resolve({ reason: signal, atOnce: signal === "SIGINT" });
      });
    }
    // The end of a parent with an IPC channel: `sluice up`, killed before it could send a signal.
    const parentGone = { reason: "the parent process is gone", atOnce: true };
    process.once("disconnect", () => resolve(parentGone));
    // Undefined without a channel; false when the parent died while this module was loading.
    if (process.connected === false) resolve(parentGone);
  });
}

function onReplaced(): Promise<void> {
  return new Promise((resolve) => {
    process.on("message", (message) => {
      if (typeof message === "object" && message !== null && "replaced" in message) resolve();
    });
  });
}
