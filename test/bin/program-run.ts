/** A program in a process of its own, whose output a test waits for instead of sleeping. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { until } from "../support/client.js";
import type { Owner } from "./fake-daemon.js";

export interface ProgramEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Program {
  readonly child: ChildProcess;
  readonly out: string[];
  readonly err: string[];
  /**
   * Resolves with the first line, past or to come, that matches; rejects when the program ends
   * without it.
   */
  line(pattern: RegExp): Promise<string>;
  readonly ended: Promise<ProgramEnd>;
}

export interface ProgramOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly uid?: number;
  /** A process group of its own, as a shell gives it. */
  readonly detached?: boolean;
  /** With an IPC channel, as `sluice up` gives it to its children. */
  readonly ipc?: boolean;
}

/** A compiled script beside the tests: `supervisor/up-driver.js`. */
export function scriptPath(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}

/** Starts a script with no environment but PATH and what is given; the test's end kills it. */
export function startProgram(
  t: Owner,
  script: string,
  argv: readonly string[],
  options: ProgramOptions = {},
): Program {
  const { env = {}, cwd = "/", detached = false, ipc = false, uid } = options;
  const child = spawn(process.execPath, [script, ...argv], {
    env: { PATH: process.env["PATH"], SLUICE_DRAIN_GRACE_SECONDS: "0", ...env },
    cwd,
    detached,
    stdio: ["ignore", "pipe", "pipe", ...(ipc ? (["ipc"] as const) : [])],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  // Not the child's `close`, which isn't emitted after a test has closed the IPC channel.
  const ended = Promise.all([
    once(child, "exit"),
    once(child.stdout!, "close"),
    once(child.stderr!, "close"),
  ]).then(([[code, signal]]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }));
  t.teardown(() => void child.kill("SIGKILL"));
  const program: Program = { child, out: [], err: [], line, ended };
  const waiting: { readonly pattern: RegExp; resolve(line: string): void }[] = [];
  for (const [stream, lines] of [
    [child.stdout, program.out],
    [child.stderr, program.err],
  ] as const) {
    createInterface({ input: stream! }).on("line", (text) => {
      lines.push(text);
      for (const one of waiting) if (one.pattern.test(text)) one.resolve(text);
    });
  }
  function line(pattern: RegExp): Promise<string> {
    const seen = [...program.out, ...program.err].find((text) => pattern.test(text));
    if (seen !== undefined) return Promise.resolve(seen);
    const found = new Promise<string>((resolve) => waiting.push({ pattern, resolve }));
    const over = ended.then((end) => {
      const output = [...program.out, ...program.err].join("\n");
      const wanted = `a line that matches ${String(pattern)}`;
      throw new Error(`ended (${JSON.stringify(end)}) without ${wanted}; its output:\n${output}`);
    });
    return Promise.race([found, over]);
  }
  return program;
}

/** Runs a script to its end. */
export async function runProgram(
  t: Owner,
  script: string,
  argv: readonly string[],
  options: ProgramOptions = {},
): Promise<{ readonly exitCode: number | null; readonly out: string; readonly err: string }> {
  const program = startProgram(t, script, argv, options);
  const { code } = await program.ended;
  return { exitCode: code, out: program.out.join("\n"), err: program.err.join("\n") };
}

/**
 * Until the processes have ended that a reload of `sluice up` has replaced: without a grace, they
 * may close a connection on which a request is just sent. `services`: how many run then.
 */
export async function whenReplaced({ child: { pid } }: Program, services = 2): Promise<void> {
  const children = () => readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
  await until(children, (pids) => pids.trim().split(" ").length === services);
}

/**
 * A directory that is removed after the test, even while the children of a killed program still
 * write to it. Its name is short: a Unix socket's path is bounded.
 */
export function temporaryDirectory(t: Owner): string {
  const directory = mkdtempSync(join(tmpdir(), "sluice-"));
  // `maxRetries` of `rm` doesn't look for new files.
  const isRemoved = (): Promise<boolean> =>
    rm(directory, { recursive: true, force: true }).then(
      () => true,
      () => false,
    );
  t.teardown(() => until(isRemoved, Boolean));
  return directory;
}

/** A running process: it is connected. */
export interface Presence {
  readonly name: string;
  readonly pid: number;
  readonly gone: Promise<void>;
}

/** Observes the starts and ends of processes, which connect to `path` with a line `name pid`. */
export async function listenForPresence(
  t: Owner,
): Promise<{ readonly path: string; next(name: string): Promise<Presence> }> {
  const path = join(temporaryDirectory(t), "presence.sock");
  const present: Presence[] = [];
  const waiting: { readonly name: string; resolve(presence: Presence): void }[] = [];
  const server = net.createServer((socket) => {
    const gone = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    socket.once("error", () => {}); // A killed process may reset its connection: `close` follows.
    createInterface({ input: socket }).once("line", (line) => {
      const [name = "", pid] = line.split(" ");
      const presence = { name, pid: Number(pid), gone };
      const at = waiting.findIndex((one) => one.name === name);
      if (at === -1) present.push(presence);
      else waiting.splice(at, 1)[0]!.resolve(presence);
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.teardown(() => void server.close());
  return {
    path,
    next(name) {
      const at = present.findIndex((one) => one.name === name);
      if (at !== -1) return Promise.resolve(present.splice(at, 1)[0]!);
      return new Promise((resolve) => waiting.push({ name, resolve }));
    },
  };
}
