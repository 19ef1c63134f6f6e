/** Turns a failure into lines on standard error and an exit code; only this file does. */
import { CommanderError } from "commander";
import { CommandFailure, usageFailure } from "./command-failure.js";
import { exitCodes } from "./exit-code.js";
import type { Terminal } from "./terminal.js";

/** Prints a failure and returns its exit code. Throws any other error, which is a bug in Sluice. */
export function printFailure(
  error: unknown,
  to: {
    readonly terminal: Terminal;
    readonly json: boolean;
    /** The text after the message about an unknown word. */
    readonly advice?: () => string;
  },
): number {
  const failure =
    error instanceof CommanderError ? failureOfCommander(error, to.advice ?? (() => "")) : error;
  if (failure === null) return exitCodes.ok;
  if (!(failure instanceof CommandFailure)) throw failure;
  if (failure.lines.length > 0 && to.json)
    to.terminal.err(JSON.stringify({ error: failure.error }));
  else for (const line of failure.lines) to.terminal.err(line);
  return failure.exitCode;
}

/** Null if commander printed the help or the version on request. */
function failureOfCommander(error: CommanderError, advice: () => string): CommandFailure | null {
  if (error.exitCode === 0) return null;
  // `sluice limits` without a command: commander has printed the help to standard error.
  if (error.code === "commander.help")
    return new CommandFailure({ exitCode: exitCodes.usage, lines: [], error: {} });
  const message = error.message.replace(/^error: /, "").replaceAll(/\s*\n\s*/g, " ");
  const isUnknown =
    error.code.startsWith("commander.unknown") || error.code === "commander.excessArguments";
  const better = isUnknown ? advice() : "";
  const plain = better === "" ? message : message.replace(/ \(Did you mean .*\)$/, "");
  return usageFailure([{ message: plain + better, param: null }]);
}
