/** The command line of `sluice up`: a gateway starts faster without the other commands. */
import { completeProgram, newProgram, runProgram } from "./base-program.js";
import { addUp } from "./commands/up.js";
import { commandWord } from "./session/other-words.js";
import type { Session } from "./session/terminal.js";

/** Runs a command line, as `runProgram`; null if its command is another one. */
export async function runUpAlone(
  argv: readonly string[],
  session: Session,
): Promise<number | null> {
  const program = newProgram(session);
  if (commandWord(program, argv) !== "up") return null;
  addUp(program, session);
  completeProgram(program);
  return runProgram(program, argv, session);
}
