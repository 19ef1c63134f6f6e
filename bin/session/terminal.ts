/**
 * The terminal or script that runs a command: what the command prints to, and reads answers from.
 * Commands receive it as an argument, so that tests can read what a person would.
 */
import { readlinkSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { escapeControls } from "../../shared/logging/escape-controls.js";
import { systemReason } from "../../shared/text/system-reason.js";
import { openScreen, type Screen } from "../text/raw-screen.js";
import { escapeExceptTones, paintWords, showsColour } from "../text/tone.js";
import { outputClosedFailure, stoppedFailure } from "./command-failure.js";
import { exitCodes } from "./exit-code.js";

export interface Terminal {
  /** Prints to standard output, with a newline after it; control characters as escapes. */
  out(text: string): void;
  /** As `out`, to standard error. */
  err(text: string): void;
  /**
   * Writes to standard output unchanged; resolves when the text has left the process, so that a
   * slow reader slows the writer. Rejects with `CommandFailure` if the reader has closed it.
   */
  write(text: string | Uint8Array): Promise<void>;
  /** The width of the terminal; null if standard output isn't one. */
  readonly columns: number | null;
  /** Whether standard output shows colours. */
  readonly colour: boolean;
  /**
   * Replaces the progress text in the last line of standard error; an empty text removes it. Null
   * if standard error isn't a terminal.
   */
  readonly showProgress: ((text: string) => void) | null;
  /** The whole screen, to redraw it; null where there is none. */
  openScreen(): Screen | null;
  /**
   * Asks and waits for a line; empty at the end of the input. Rejects with `CommandFailure` at
   * Ctrl-C. Null if there is no terminal.
   */
  readonly ask: ((question: string) => Promise<string>) | null;
}

/** Everything that a command uses of the process it runs in. */
export interface Session {
  readonly terminal: Terminal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly uid: number;
  /** The directory of the program that runs, and of the other two. */
  readonly programs: string;
  /** How long to wait for an answer of the daemon, if not as long as by default. */
  readonly daemonDeadlineMs?: number;
  /** The wall clock. */
  nowMs(): number;
  /** A monotonic clock, for durations. */
  monoMs(): number;
  /** Waits. */
  pause(ms: number): Promise<void>;
}

/** The session of this process. */
export function processSession(): Session {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", endOnFailedWrite);
  return {
    terminal: processTerminal(),
    env: process.env,
    cwd: workingDirectory(),
    uid: process.getuid?.() ?? 0,
    // npm puts links to the programs elsewhere.
    programs: dirname(realpathSync(process.argv[1]!)),
    nowMs: Date.now,
    monoMs: () => performance.now(),
    pause: (ms) => delay(ms),
  };
}

/** A removed directory has the path that the kernel shows, which ends in ` (deleted)`. */
function workingDirectory(): string {
  try {
    return process.cwd();
  } catch {
    return readlinkSync("/proc/self/cwd");
  }
}

function processTerminal(): Terminal {
  return {
    out: (text) => void process.stdout.write(`${escapeExceptTones(text)}\n`),
    err: (text) => {
      const escaped = escapeControls(text);
      const painted = showsColour(process.env, process.stderr.isTTY)
        ? paintWords(escaped)
        : escaped;
      process.stderr.write(`${painted}\n`);
    },
    write: (text) =>
      new Promise((resolve, reject) =>
        process.stdout.write(text, (error) => {
          if (error == null) resolve();
          else
            reject(
              (error as NodeJS.ErrnoException).code === "EPIPE" ? outputClosedFailure() : error,
            );
        }),
      ),
    columns: process.stdout.isTTY ? process.stdout.columns : null,
    colour: showsColour(process.env, process.stdout.isTTY),
    showProgress:
      process.stderr.isTTY && process.env["TERM"] !== "dumb"
        ? (text) => void process.stderr.write(`\r${text}\u001b[K`)
        : null,
    openScreen: () => openScreen((exitCode) => process.exit(exitCode)),
    ask: process.stdin.isTTY && process.stderr.isTTY ? ask : null,
  };
}

function ask(question: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    lines.once("SIGINT", () => {
      process.stderr.write("\n");
      reject(stoppedFailure());
      lines.close();
    });
    lines.once("close", () => resolve(""));
    lines.question(question, (answer) => {
      resolve(answer);
      lines.close();
    });
  });
}

/** Whether the terminal shows UTF-8, by the locale variables in their order of precedence. */
export function showsUnicode(env: Session["env"]): boolean {
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "";
  return /utf-?8/i.test(locale);
}

/**
 * A closed pipe (`sluice limits list | head`) prints nothing; any other failed write, such as to a
 * full disk, is printed to standard error and ends the process.
 */
function endOnFailedWrite(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE") return;
  process.stderr.write(`error: can't write to standard output: ${systemReason(error)}\n`);
  process.exit(exitCodes.failed);
}

/** Resolves when all output has left the process, so that it may exit. */
export async function drainOutput(): Promise<void> {
  await Promise.all(
    [process.stdout, process.stderr].map(
      (stream) => new Promise<void>((resolve) => stream.write("", () => resolve())),
    ),
  );
}
