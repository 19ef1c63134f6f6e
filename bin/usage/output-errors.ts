/** Errors of a command's output file as failures of the command. */
import { type ArgumentProblem, usageFailure } from "../session/command-failure.js";
import { withSystemErrors } from "../session/system-errors.js";
import { NotAFileError } from "./export-file.js";

/** As `withSystemErrors`; a path that isn't a regular file is wrong usage, in these words. */
export async function withOutputErrors<T>(
  { name, notAFile }: { readonly name: string; readonly notAFile: ArgumentProblem },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await withSystemErrors(name, work);
  } catch (error) {
    if (!(error instanceof NotAFileError)) throw error;
    throw usageFailure([notAFile]);
  }
}
