/**
 * Starts and ends the processes of a run. Every one gets a bare environment, so that the caller's
 * variables configure nothing by accident, and all are ended with the run, however it ends.
 */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import net from "node:net";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** A daemon with 100,000 rules in its configuration needs some seconds. */
const startDeadlineMs = 120_000;
const stopDeadlineMs = 5_000;

export interface Running {
  readonly pid: number;
  /** The text of the ready message, or the empty text. */
  readonly url: string;
  /** Milliseconds from the spawn to the ready message, or to the first accepted connection. */
  readonly readyMs: number;
  readonly child: ChildProcess;
}

interface NodeOptions {
  /** Another file of Node than the benchmark's. */
  readonly execPath?: string;
  readonly env?: Readonly<Record<string, string>>;
}

interface ProgramOptions {
  readonly cwd?: string;
  /** Beside the bare environment. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Processes {
  /** The file of Node. */
  readonly execPath: string;
  /** A Node program that sends `{ ready: url }` over its IPC channel. */
  node(
    file: string,
    args: readonly string[],
    nodeFlags?: readonly string[],
    options?: NodeOptions,
  ): Promise<Running>;
  /** Any other program; ready once `connectTo` accepts a connection. */
  program(
    file: string,
    args: readonly string[],
    connectTo: net.NetConnectOpts,
    options?: ProgramOptions,
  ): Promise<Running>;
  /** SIGKILL. */
  kill(running: Running): Promise<void>;
  /** SIGTERM, then SIGKILL for one that doesn't end. */
  stop(running: Running): Promise<void>;
  stopAll(): Promise<void>;
}

/**
 * `dir` takes what the processes write to their standard error; it is shown when one fails to
 * start.
 */
export function createProcesses(dir: string): Processes {
  const children = new Set<ChildProcess>();
  const env = { PATH: process.env["PATH"] ?? "", HOME: dir, TMPDIR: dir, LANG: "C.UTF-8" };
  let started = 0;

  function launch(
    file: string,
    start: (stderr: number) => ChildProcess,
    isReady: (child: ChildProcess) => Promise<string>,
  ): Promise<Running> {
    const log = join(dir, `${++started}-${basename(file)}.stderr`);
    const stderr = openSync(log, "w");
    const startedAt = performance.now();
    const child = start(stderr);
    closeSync(stderr);
    children.add(child);
    child.once("exit", () => children.delete(child));
    return new Promise((resolve, reject) => {
      const fail = (reason: string): void => {
        clearTimeout(timer);
        reject(
          new Error(
            `${basename(file)} ${reason}\n${readFileSync(log, "utf8").slice(-2000)}`.trimEnd(),
          ),
        );
      };
      const timer = setTimeout(
        () => fail(`wasn't ready within ${startDeadlineMs / 1000} s`),
        startDeadlineMs,
      );
      child.once("error", (error) => fail(`couldn't be started: ${error.message}`));
      child.once("exit", (code, signal) => fail(`ended before it was ready (${signal ?? code})`));
      void isReady(child).then((url) => {
        clearTimeout(timer);
        resolve({ pid: child.pid ?? 0, url, readyMs: performance.now() - startedAt, child });
      });
    });
  }

  async function end(child: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    const timer = setTimeout(() => child.kill("SIGKILL"), stopDeadlineMs);
    await ended;
    clearTimeout(timer);
  }

  return {
    execPath: process.execPath,
    node: (file, args, nodeFlags = [], options = {}) =>
      launch(
        file,
        (stderr) =>
          fork(file, args, {
            env: { ...env, ...options.env },
            execArgv: [...nodeFlags],
            execPath: options.execPath ?? process.execPath,
            stdio: ["ignore", "ignore", stderr, "ipc"],
          }),
        readyMessage,
      ),
    program: (file, args, connectTo, { cwd, env: more } = {}) =>
      launch(
        file,
        (stderr) =>
          spawn(file, args, { cwd, env: { ...env, ...more }, stdio: ["ignore", "ignore", stderr] }),
        (child) => firstConnection(child, connectTo),
      ),
    kill: (running) => end(running.child, "SIGKILL"),
    stop: (running) => end(running.child),
    async stopAll() {
      await Promise.all([...children].map((child) => end(child)));
    },
  };
}

function readyMessage(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    const onMessage = (message: unknown): void => {
      if (typeof message !== "object" || message === null || !("ready" in message)) return;
      child.off("message", onMessage);
      resolve(typeof message.ready === "string" ? message.ready : "");
    };
    child.on("message", onMessage);
  });
}

async function firstConnection(
  child: ChildProcess,
  connectTo: net.NetConnectOpts,
): Promise<string> {
  while (child.exitCode === null && child.signalCode === null) {
    if (await connects(connectTo)) return "";
    await delay(10);
  }
  // It ended: `launch` has reported it.
  return "";
}

function connects(connectTo: net.NetConnectOpts): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(connectTo);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
