/** Errors of the operating system as failures of a command. */
import { plainFailure } from "../../shared/error-code.js";
import { systemReason } from "../../shared/text/system-reason.js";
import { outputClosedFailure, refusal } from "./command-failure.js";

/**
 * Runs work that writes to `name`, and turns its errors of the operating system into failures. A
 * closed pipe (`| head`) prints nothing: the user closed it.
 */
export async function withSystemErrors<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    if (code === "EPIPE") throw outputClosedFailure();
    throw refusal(
      plainFailure(500, "internal_error", `can't write to ${name}: ${systemReason(error)}`),
    );
  }
}
