/** Runs a command line in this process and returns its output. */
import { runCommandLine } from "../../bin/program.js";
import type { Session } from "../../bin/session/terminal.js";

export interface CommandRun {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The answer of a person at the terminal; null: there is no terminal. */
  readonly answer?: string | null;
  /** The width of the terminal; null: standard output is none. */
  readonly columns?: number | null;
  /** Whether the terminal shows colours. */
  readonly colour?: boolean;
  /** What happens while a command waits; it ends the command by a rejection. */
  readonly pause?: (ms: number) => Promise<void>;
  /** Where the programs are. */
  readonly programs?: string;
  /** What day it is. */
  readonly nowMs?: number;
}

/**
 * The command line without the program's name; output lines are joined by newlines, questions are
 * part of `err`.
 */
export async function run(argv: readonly string[], options: RunOptions = {}): Promise<CommandRun> {
  const { session, out, err } = sessionForTests(options);
  const exitCode = await runCommandLine(argv, session);
  return { exitCode, out: out.join("\n"), err: err.join("\n") };
}

/** A session whose output is kept in two lists. */
export function sessionForTests(options: RunOptions = {}): {
  readonly session: Session;
  readonly out: readonly string[];
  readonly err: readonly string[];
} {
  const out: string[] = [];
  const err: string[] = [];
  const { answer = null } = options;
  const ask = async (question: string): Promise<string> => {
    err.push(question);
    return answer ?? "";
  };
  const write = async (text: string): Promise<void> => void out.push(text.replace(/\n$/, ""));
  const session: Session = {
    terminal: {
      out: (text) => void out.push(text),
      err: (text) => void err.push(text),
      write,
      columns: options.columns ?? null,
      colour: options.colour ?? false,
      showProgress: null,
      openScreen: () => null,
      ask: answer === null ? null : ask,
    },
    env: options.env ?? {},
    cwd: options.cwd ?? "/",
    uid: 1000,
    programs: options.programs ?? "/nowhere",
    // A busy machine takes longer for many events than a daemon may.
    daemonDeadlineMs: 60_000,
    nowMs: () => options.nowMs ?? 0,
    monoMs: () => 0,
    pause: options.pause ?? (async () => {}),
  };
  return { session, out, err };
}
