/** The person or script at the other end: what commands print to and ask. Commands get it handed, so that tests read what a person would. */
import { createInterface } from "node:readline";

export interface Terminal {
  /** Prints to standard output, with a newline after it. */
  out(text: string): void;
  /** The same to standard error. */
  err(text: string): void;
  /** Asks and waits for a line; empty at the end of the input. Null when nobody is there to answer. */
  readonly ask: ((question: string) => Promise<string>) | null;
}

/** All that a command takes from the process it runs in. */
export interface Session {
  readonly terminal: Terminal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly uid: number;
}

/** The session of this very process. */
export function processSession(): Session {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", ignoreBrokenPipe);
  return { terminal: processTerminal(), env: process.env, cwd: process.cwd(), uid: process.getuid?.() ?? 0 };
}

function processTerminal(): Terminal {
  return {
    out: (text) => void process.stdout.write(`${text}\n`),
    err: (text) => void process.stderr.write(`${text}\n`),
    ask: process.stdin.isTTY && process.stderr.isTTY ? ask : null,
  };
}

function ask(question: string): Promise<string> {
  return new Promise((resolve) => {
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    lines.once("SIGINT", () => lines.close());
    lines.once("close", () => resolve(""));
    lines.question(question, (answer) => {
      resolve(answer);
      lines.close();
    });
  });
}

/** `sluice limits list | head` ends without a word; any other failed write is told. */
export function ignoreBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
}

/** Resolves when what was printed has left the process, so that it may exit. */
export async function drainOutput(): Promise<void> {
  await Promise.all([process.stdout, process.stderr].map((stream) => new Promise<void>((resolve) => stream.write("", () => resolve()))));
}
