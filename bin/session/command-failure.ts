/**
 * How a command fails: one error with its exit code, the lines for people and the object for
 * `--json`. `print-failure.ts` prints it.
 */
import { type Problem, problemLine } from "../../shared/config/problems.js";
import { type Failure, failure, invalid } from "../../shared/error-code.js";
import type { DaemonError } from "../../shared/wire/daemon-error.js";
import { exitCodes } from "./exit-code.js";

interface CommandFailureOptions {
  readonly exitCode: number;
  /** For people: lines on standard error. Empty if everything is already printed. */
  readonly lines: readonly string[];
  /** For `--json`: printed as `{"error": …}`. */
  readonly error: object;
}

/** Thrown by a command; ends the program with `exitCode`. */
export class CommandFailure extends Error {
  override name = "CommandFailure";
  readonly exitCode: number;
  readonly lines: readonly string[];
  readonly error: object;

  constructor(options: CommandFailureOptions) {
    super(options.lines.join("; "));
    this.exitCode = options.exitCode;
    this.lines = options.lines;
    this.error = options.error;
  }
}

/** The reader of standard output has closed it, as `| head` does: prints nothing. */
export function outputClosedFailure(): CommandFailure {
  return new CommandFailure({ exitCode: exitCodes.outputClosed, lines: [], error: {} });
}

/** What is wrong with a flag or an argument as it was typed; `param` names it. */
export interface ArgumentProblem {
  readonly message: string;
  readonly param: string | null;
}

/** The meaning of flags and arguments, or every problem with them. */
export type ParsedArguments<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly ArgumentProblem[] };

/** Flags or arguments are wrong; the command reports all problems at once. */
export function usageFailure(problems: readonly ArgumentProblem[]): CommandFailure {
  const messages = problems.map(({ message }) => message);
  return new CommandFailure({
    exitCode: exitCodes.usage,
    lines: messages.map((message) => `error: ${message}`),
    error: errorObject(invalid(messages.join("; "), problems[0]?.param ?? null)),
  });
}

/** The daemon refused. `remark` adds what the daemon can't know. */
export function refusal(refused: Failure, remark = ""): CommandFailure {
  const exitCode = refused.status === 404 ? exitCodes.notFound : exitCodes.failed;
  const message = refused.message + remark;
  return new CommandFailure({
    exitCode,
    lines: [`error: ${message}`],
    error: errorObject({ ...refused, message }),
  });
}

/** The user pressed Ctrl-C: prints nothing. */
export function stoppedFailure(): CommandFailure {
  return new CommandFailure({ exitCode: exitCodes.killed, lines: [], error: {} });
}

/** For `--exit-code`: there are differences, already printed. */
export class DifferencesFound extends CommandFailure {
  constructor() {
    super({ exitCode: exitCodes.usage, lines: [], error: {} });
  }
}

/** Whether the daemon, or that of a remote gateway, is away and may return. */
export function isAway(error: unknown): boolean {
  if (!(error instanceof CommandFailure)) return false;
  const { code } = error.error as { readonly code?: unknown };
  return (
    error.exitCode === exitCodes.unreachable ||
    (error.exitCode === exitCodes.failed && code === "limiter_unavailable")
  );
}

function exitCodeOf(trouble: DaemonError["trouble"]): number {
  if (trouble === "refused") return exitCodes.failed;
  return trouble === "untrusted" ? exitCodes.untrusted : exitCodes.unreachable;
}

/** The daemon didn't answer. */
export function daemonFailure(error: DaemonError): CommandFailure {
  const exitCode = exitCodeOf(error.trouble);
  return new CommandFailure({
    exitCode,
    lines: [`error: ${error.message}`],
    error: errorObject(failure("limiter_unavailable", error.message)),
  });
}

/**
 * The configuration has problems: a line for each, beginning with its place. If only flags are
 * wrong, it is wrong usage.
 */
export function configurationFailure(
  file: string | null,
  problems: readonly Problem[],
): CommandFailure {
  if (problems.every(({ kind }) => kind === "flags"))
    return usageFailure(
      problems.map(({ message }) => ({ message, param: message.split(" ", 1)[0] ?? null })),
    );
  const messages = problems.map(({ message }) => message);
  return new CommandFailure({
    exitCode: exitCodes.configuration,
    lines: problems.map(problemLine),
    error: { ...errorObject(invalid(messages.join("; "))), file, problems: messages },
  });
}

function errorObject(source: Failure): object {
  const { type, message, code, param } = source;
  return { type, message, code, param };
}
