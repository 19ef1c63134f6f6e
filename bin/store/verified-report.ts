/** Verifies a store's file in a separate process, with a line of progress. */

import { runStoreProcess } from "../../limiterd/maintenance/run-store-process.js";
import { parseStoreReport, type StoreReport } from "../../limiterd/maintenance/store-report.js";
import { plainFailure } from "../../shared/error-code.js";
import { CommandFailure, refusal } from "../session/command-failure.js";
import { exitCodes } from "../session/exit-code.js";
import { type Session, showsUnicode } from "../session/terminal.js";
import { createProgressLine, type ProgressLine } from "../usage/progress-line.js";

/**
 * Throws a failure with exit code 74 for a file that can't be read as a store. `name`: the name in
 * messages, if the file is a copy.
 */
export async function verifiedReport(
  session: Session,
  file: string,
  name = file,
): Promise<StoreReport> {
  const progress = progressOf(session);
  const work = runStoreProcess(["verify", file], (ratio) => progress?.show(ratio, "verified"));
  try {
    const report = parseStoreReport(await work.done);
    if (report === null)
      throw refusal(plainFailure(500, "internal_error", "the verification can't be read"));
    return report;
  } catch (error) {
    if (error instanceof Error && error.name === "StoreUnreadableError")
      throw damage([error.message.replaceAll(file, () => name)]);
    throw error;
  } finally {
    progress?.clear();
  }
}

/** Null without a terminal. */
export function progressOf({ terminal, env, monoMs }: Session): ProgressLine | null {
  const { showProgress } = terminal;
  if (showProgress === null) return null;
  return createProgressLine({ draw: showProgress, monoMs, unicode: showsUnicode(env) });
}

/** The failure for a damaged store or backup. */
export function damage(problems: readonly string[]): CommandFailure {
  const message = problems.join("; ");
  return new CommandFailure({
    exitCode: exitCodes.storeUnreadable,
    lines: problems.map((problem) => `error: ${problem}`),
    error: { type: "internal_error", message, code: null, param: null },
  });
}
