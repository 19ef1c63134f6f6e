/** Processes of clients: no way out of the machine, and a time by which they end. */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The folder with the clients' packages: the sources', not the compiled files'. */
export const clientsDirectory = fileURLToPath(new URL("../../../test/clients/", import.meta.url));

/** Of the virtual environment with the clients' packages. */
export const pythonProgram = `${clientsDirectory}node_modules/.python/bin/python`;

/** A program of an installed package. */
export function binary(name: string): string {
  return `${clientsDirectory}node_modules/${name}`;
}

/** Nothing listens there: whoever tries to reach the internet fails at once. */
const noWayOut = "http://127.0.0.1:9";

export function clientEnvironment(home: string, own: Record<string, string>): NodeJS.ProcessEnv {
  return {
    PATH: process.env["PATH"],
    HOME: home,
    TMPDIR: home,
    XDG_CONFIG_HOME: `${home}/.config`,
    XDG_DATA_HOME: `${home}/.local/share`,
    XDG_STATE_HOME: `${home}/.local/state`,
    XDG_CACHE_HOME: `${home}/.cache`,
    HTTP_PROXY: noWayOut,
    HTTPS_PROXY: noWayOut,
    http_proxy: noWayOut,
    https_proxy: noWayOut,
    NO_PROXY: "127.0.0.1,localhost",
    no_proxy: "127.0.0.1,localhost",
    TERM: "dumb",
    CI: "true",
    PYTHONDONTWRITEBYTECODE: "1",
    ...own,
  };
}

export interface Ended {
  readonly code: number | null;
  /** Whether it was killed at its deadline. */
  readonly isLate: boolean;
  readonly output: string;
}

interface Run {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** When it is to be interrupted. */
  readonly leave: Promise<void>;
  readonly deadlineMs: number;
}

/** Runs a process to its end; one that is late is killed, and so is what it started. */
export function runChild({ command, args, cwd, env, leave, deadlineMs }: Run): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    let isLate = false;
    const timer = setTimeout(() => {
      output += `\nkilled after ${deadlineMs} ms`;
      isLate = true;
      killGroup(child, "SIGKILL");
    }, deadlineMs);
    void leave.then(() => killGroup(child, "SIGINT"));
    child.stdout.on("data", (text: Buffer) => (output += text.toString()));
    child.stderr.on("data", (text: Buffer) => (output += text.toString()));
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(timer);
      resolve({ code, isLate, output });
    });
  });
}

function killGroup({ pid, exitCode }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined || exitCode !== null) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // It has just ended.
  }
}
