/** Asks at a terminal before something that can't be undone. */
import { invalid } from "../../shared/error-code.js";
import { CommandFailure } from "./command-failure.js";
import { exitCodes } from "./exit-code.js";

/** Returns if the answer is yes; otherwise throws a `CommandFailure` that says `refused`. */
export async function confirm(
  ask: (question: string) => Promise<string>,
  question: string,
  refused: string,
): Promise<void> {
  const answer = await ask(`${question} [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return;
  const { type, message, code, param } = invalid(refused);
  throw new CommandFailure({
    exitCode: exitCodes.failed,
    lines: [message],
    error: { type, message, code, param },
  });
}
