/** The failure of a command that needs a stopped daemon, if one is running. */
import { failure } from "../../shared/error-code.js";
import { CommandFailure } from "../session/command-failure.js";
import { exitCodes } from "../session/exit-code.js";
import { damage } from "./verified-report.js";

/**
 * Throws the failure for errors of a taken store or socket. An unreadable store is reported as
 * damage.
 */
export function takenFailure(error: unknown): never {
  if (error instanceof Error && error.name === "StoreUnreadableError")
    throw damage([error.message]);
  if (
    !(error instanceof Error) ||
    (error.name !== "StoreLockedError" && error.name !== "SocketTakenError")
  )
    throw error;
  const message = `${error.message}: stop the daemon first`;
  const { type, code, param } = failure("limiter_unavailable", message);
  throw new CommandFailure({
    exitCode: exitCodes.taken,
    lines: [`error: ${message}`],
    error: { type, message, code, param },
  });
}
