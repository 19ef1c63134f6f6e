/** What a service process does with errors that nothing has caught. */
import type { Log } from "../../shared/log.js";
import { exitCodes } from "../session/exit-code.js";

/** What decides about an uncaught error: nothing is survived before the service has started. */
export interface LastResort {
  survives: (error: unknown) => boolean;
}

/**
 * An uncaught error is a bug in Sluice. It is logged; a service that survives it goes on, any other
 * ends, and the supervisor starts a new process.
 */
export function onLastResort(log: Log, lastResort: LastResort): void {
  const end = (error: unknown): void => {
    if (lastResort.survives(error))
      return log.error({ err: error }, "a bug in Sluice, in no request that is known");
    // `fatal` writes its line before it returns: nothing else may run in a process whose state is
    // unknown.
    log.fatal({ err: error }, "an unexpected error ends this process");
    process.exit(exitCodes.bug);
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}
