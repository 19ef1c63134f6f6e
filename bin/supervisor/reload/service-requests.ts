/**
 * Requests to a running service: signals, and messages of the process that started it.
 * `run-service.ts` acts on them.
 */

import { exitCodes } from "../../session/exit-code.js";
import { exitNow } from "../exit-now.js";
import { isBegin } from "../ready-message.js";
import { isRelease } from "./hand-over.js";

/** A request to stop. */
export interface StopRequest {
  readonly reason: string;
  /** Without the time for load balancers: Ctrl-C, or a parent that is gone. */
  readonly atOnce: boolean;
}

export interface ServiceRequests {
  /** Resolves when the supervisor lets a held service start. */
  readonly begin: Promise<void>;
  /** Resolves with the first request to stop. A second signal ends the process immediately. */
  readonly stop: Promise<StopRequest>;
  /** Resolves when another process has taken over the sockets. */
  readonly untilReplaced: Promise<void>;
  /** Notes that a process that this one started has taken over the sockets. */
  markReplaced(): void;
  /** Sets the action of SIGHUP; until then SIGHUP stops the service. */
  onHangUp(run: () => void): void;
}

/** Starts listening. Call it once, before anything else takes time. */
export function onServiceRequests(): ServiceRequests {
  let hangUp: (() => void) | null = null;
  let onBegin: () => void = () => {};
  let onReplaced: () => void = () => {};
  let isReleased = false;
  const stop = new Promise<StopRequest>((resolve) => {
    let isRequested = false;
    const request = (reason: string): void => {
      if (isRequested) exitNow(exitCodes.killed);
      isRequested = true;
      resolve({ reason, atOnce: reason === "SIGINT" });
    };
    process.on("SIGTERM", request);
    process.on("SIGINT", request);
    process.on("SIGHUP", (signal) => (hangUp === null ? request(signal) : hangUp()));
    // A parent with an IPC channel has ended: `sluice up`, killed before it could send a signal.
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
