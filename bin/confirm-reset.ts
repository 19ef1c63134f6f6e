/** The question before everything of a kind is reset. */
import { CommandFailure, usageFailure } from "./command-failure.js";
import { exitCodes } from "./exit-code.js";
import type { Session } from "./terminal.js";

/** Returns after a yes. Throws a `CommandFailure` otherwise, also when nobody can be asked; `what` are the things in the plural. */
export async function confirmReset(session: Session, what: string, question: string): Promise<void> {
  const { ask } = session.terminal;
  if (ask === null) throw usageFailure([{ message: `--yes is required to reset all ${what} when nobody can be asked`, param: "--yes" }]);
  const answer = await ask(`${question} [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return;
  const message = "nothing was reset";
  throw new CommandFailure({ exitCode: exitCodes.failed, lines: [message], error: { type: "invalid_request_error", message, code: null, param: null } });
}
