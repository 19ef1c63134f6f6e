/** Errors of the operating system as failures of a command. */
import { plainFailure } from "../../shared/error-code.js";
import { CommandFailure, refusal } from "./command-failure.js";
import { exitCodes } from "./exit-code.js";

/**
 * Turns them, in work that writes to `name`, into failures of the command. A closed pipe (`| head`)
 * prints nothing: the user closed it.
 */
export async function withSystemErrors<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    if (code === "EPIPE")
      throw new CommandFailure({ exitCode: exitCodes.outputClosed, lines: [], error: {} });
    // Node's message ends with the system call and the path of the temporary file.
    throw refusal(
      plainFailure(
        500,
        "internal_error",
        `can't write to ${name}: ${message.replace(/, \w+( '.*')?$/, "")}`,
      ),
    );
  }
}
