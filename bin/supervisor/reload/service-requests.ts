/**
 * What others ask of a running service: signals, and messages of the process that started it. What
 * the service does then is in `run-service.ts`.
 */

import { exitCodes } from "../../session/exit-code.js";
import { isBegin } from "../ready-message.js";
import { isRelease } from "./hand-over.js";

/** Why the service is to end. */
export interface StopRequest {
  readonly reason: string;
  /** Without the time for load balancers: Ctrl-C, or a parent that is gone. */
  readonly atOnce: boolean;
}

export interface ServiceRequests {
  /** The supervisor lets a held service start. */
  readonly begin: Promise<void>;
  /** The first request to stop. A second signal ends the process at once. */
  readonly stop: Promise<StopRequest>;
  /** Another process listens on the same sockets from now on. */
  readonly untilReplaced: Promise<void>;
  /** This process itself has started another one that does. */
  markReplaced(): void;
  /** What SIGHUP does from now on; before, it is a request to stop. */
  onHangUp(run: () => void): void;
}

/** Listens from now on; call it once, before anything else takes time. */
export function onServiceRequests(): ServiceRequests {
  let hangUp: (() => void) | null = null;
  let onBegin: () => void = () => {};
  let onReplaced: () => void = () => {};
  let isReleased = false;
  const stop = new Promise<StopRequest>((resolve) => {
    let requested = false;
    const request = (reason: string): void => {
      if (requested) process.exit(exitCodes.killed);
      requested = true;
      resolve({ reason, atOnce: reason === "SIGINT" });
    };
    process.on("SIGTERM", request);
    process.on("SIGINT", request);
    process.on("SIGHUP", (signal) => (hangUp === null ? request(signal) : hangUp()));
    // The end of a parent with an IPC channel: `sluice up`, killed before it could send a signal.
    const parentGone = (): void => {
      if (!isReleased) resolve({ reason: "the parent process is gone", atOnce: true });
    };
    process.once("disconnect", parentGone);
    // Undefined without a channel; false when the parent died while this module was loading.
    if (process.connected === false) parentGone();
  });
  process.on("message", (message) => {
    if (isRelease(message)) isReleased = true;
    else if (isBegin(message)) onBegin();
    else if (typeof message === "object" && message !== null && "replaced" in message) onReplaced();
  });
  return {
    begin: new Promise((resolve) => {
      onBegin = resolve;
    }),
    stop,
    untilReplaced: new Promise((resolve) => {
      onReplaced = resolve;
    }),
    markReplaced: () => onReplaced(),
    onHangUp(run) {
      hangUp = run;
    },
  };
}
