/** Errors between the command line and the daemon, with what to do about each. */
import { SocketUntrustedError } from "../socket/socket-place.js";

/**
 * Why there was no answer: no daemon listens, this user may not open the socket or must not trust
 * it, another error of the operating system, no welcome, no answer in time, a closed connection, or
 * data that isn't the protocol.
 */
type DaemonTrouble =
  | "absent"
  | "denied"
  | "untrusted"
  | "unreachable"
  | "refused"
  | "silent"
  | "lost"
  | "broken";

/** The message is for people and says what to do. */
export class DaemonError extends Error {
  override name = "DaemonError";
  readonly trouble: DaemonTrouble;

  constructor(trouble: DaemonTrouble, message: string, cause?: unknown) {
    super(message, { cause });
    this.trouble = trouble;
  }
}

/** A connection that the operating system refused. */
export function connectError(path: string, error: NodeJS.ErrnoException): DaemonError {
  if (error instanceof SocketUntrustedError)
    return new DaemonError(
      "untrusted",
      `the socket isn't to be trusted, and nothing was sent: ${error.message}; run this as the daemon's user`,
      error,
    );
  switch (error.code) {
    case "ENOENT":
    case "ECONNREFUSED":
      return new DaemonError(
        "absent",
        `no daemon listens on ${path}: start it with \`sluice up\``,
        error,
      );
    case "EACCES":
    case "EPERM":
      return new DaemonError(
        "denied",
        `permission denied on ${path}: run this as the daemon's user, or as a member of its group where group access is on`,
        error,
      );
    default:
      return new DaemonError("unreachable", `can't connect to ${path}: ${error.message}`, error);
  }
}
