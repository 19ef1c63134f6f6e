/**
 * One child process of a supervisor: starts it, reads its output, restarts it when it ends, stops
 * it. `restart-pause.ts` decides when to restart; `supervise-services.ts` decides the order in
 * which the services start and stop.
 */
import { type ChildProcess, fork } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { handOverVariables } from "../../shared/supervision/inherited-sockets.js";
import { begin, heldVariable, readyFrom, type ServiceReady } from "./ready-message.js";
import { afterExit, type ServiceExit } from "./restart-pause.js";

export interface ServiceOptions {
  /** Its name in printed lines. */
  readonly name: string;
  /** A compiled script that sends `{ ready, … }` to its parent once it serves. */
  readonly script: string;
  readonly args: readonly string[];
  /** In addition to those of this process, which take precedence. */
  readonly nodeFlags?: readonly string[];
  /** Listening sockets passed to it. */
  readonly sockets?: readonly HandedSocket[];
  /** Variables for it only, in addition to this process's own environment. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Whether its processes start the service only after `release`. */
  readonly isHeld?: boolean;
  /** A process of `forkWaitingService` that becomes the first one. */
  readonly waitingProcess?: ChildProcess;
  /** Whether an end before it was ready is final, however it ends. */
  readonly isOnTrial?: boolean;
}

interface HandedSocket {
  readonly name: string;
  readonly fd: number;
}

/** SIGINT: immediately, without the grace in which load balancers notice the stop. */
export type StopSignal = "SIGTERM" | "SIGINT";

export interface ServiceEvents {
  /** The service is ready, for the first time or after a restart. */
  onReady(ready: ServiceReady): void;
  /** The service can't start and has printed why. */
  onGiveUp(exitCode: number | null): void;
  /** A new process of the service has been started. */
  onStarted?(child: ChildProcess): void;
  /** A line of its standard output, which is its log. */
  onLogLine(line: string): void;
  /** A line to print: from its standard error, or about its end or restart. */
  onRemark(line: string): void;
}

/** A child process that is restarted until it is stopped. */
export class SupervisedService {
  readonly name: string;
  readonly #options: ServiceOptions;
  readonly #events: ServiceEvents;
  #waitingProcess: ChildProcess | null;
  #child: ChildProcess | null = null;
  #restart: NodeJS.Timeout | null = null;
  #pauseMs: number | null = null;
  #isHeld: boolean;
  #wasReady = false;
  #isStopped = false;
  /** Whether to start the service again immediately after its expected end. */
  #isRestarting = false;
  #onReadyAgain: () => void = () => {};
  readonly #onStopped: ((exit: ServiceExit) => void)[] = [];

  constructor(options: ServiceOptions, events: ServiceEvents) {
    this.name = options.name;
    this.#options = options;
    this.#isHeld = options.isHeld === true;
    this.#waitingProcess = options.waitingProcess ?? null;
    this.#events = events;
  }

  start(): void {
    const startedAtMs = performance.now();
    const forked = this.#waitingProcess;
    this.#waitingProcess = null;
    const isForked = forked !== null && runs(forked);
    const child = isForked ? forked : forkService(this.#options, this.#isHeld);
    this.#child = child;
    let failed: Error | null = null;
    child.on("error", (error) => {
      failed = error;
      if (child.pid === undefined)
        this.#onExit(child, { code: null, signal: null }, { livedMs: 0, failed });
    });
    child.on("message", (message) => this.#onMessage(message));
    if (isForked && !this.#isHeld) this.release();
    this.#events.onStarted?.(child);
    forEachLine(child.stdout, (line) => this.#events.onLogLine(line));
    forEachLine(child.stderr, (line) => this.#events.onRemark(`${this.name}: ${line}`));
    // Not `exit`: `close` follows the last lines of output, which must be printed before the line
    // about the end.
    child.on("close", (code, signal) =>
      this.#onExit(child, { code, signal }, { livedMs: performance.now() - startedAtMs, failed }),
    );
  }

  /** Lets a held service start. */
  release(): void {
    this.#isHeld = false;
    // Errors are ignored: the end of a dead process is reported elsewhere.
    this.#child?.send(begin, () => {});
  }

  /**
   * Ends it for good: a signal, and SIGKILL after the deadline. Resolves with how it ended, or null
   * if it wasn't running.
   */
  stop(signal: StopSignal, deadlineMs: number): Promise<ServiceExit | null> {
    this.#isStopped = true;
    if (this.#restart !== null) clearTimeout(this.#restart);
    const child = this.#child;
    if (child === null) return Promise.resolve(null);
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#events.onRemark(`${this.name} didn't stop within ${deadlineMs} ms: killing it`);
        child.kill("SIGKILL");
      }, deadlineMs);
      this.#onStopped.push((exit) => {
        clearTimeout(timer);
        resolve(exit);
      });
      child.kill(signal);
    });
  }

  /**
   * Ends the service, by SIGTERM and after `stopMs` by SIGKILL, and starts it again immediately.
   * Resolves with whether it is ready within `readyMs` after its end. Its restarts continue in any
   * case.
   */
  restart(times: { readonly stopMs: number; readonly readyMs: number }): Promise<boolean> {
    if (this.#restart !== null) clearTimeout(this.#restart);
    return new Promise((resolve) => {
      const child = this.#child;
      const kill = setTimeout(() => child?.kill("SIGKILL"), times.stopMs);
      const late = setTimeout(() => resolve(false), times.stopMs + times.readyMs);
      this.#onReadyAgain = () => {
        clearTimeout(kill);
        clearTimeout(late);
        resolve(true);
      };
      if (child === null) return this.start();
      this.#isRestarting = true;
      child.kill("SIGTERM");
    });
  }

  /**
   * Another process serves on its sockets: it gets the signal to finish, which may take long.
   * Resolves when it has ended.
   */
  replaced(): Promise<ServiceExit | null> {
    this.#isStopped = true;
    if (this.#restart !== null) clearTimeout(this.#restart);
    const child = this.#child;
    if (child === null) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.#onStopped.push(resolve);
      // Errors are ignored: the end of a dead process is reported elsewhere.
      child.send({ replaced: true }, () => {});
    });
  }

  /** Kills the service immediately; a pending `stop` resolves. */
  kill(): void {
    this.#isStopped = true;
    if (this.#restart !== null) clearTimeout(this.#restart);
    this.#child?.kill("SIGKILL");
  }

  #onMessage(message: unknown): void {
    const ready = readyFrom(message);
    if (ready === null || this.#isStopped) return;
    if (this.#wasReady) this.#events.onRemark(`${this.name} is back`);
    this.#wasReady = true;
    this.#onReadyAgain();
    this.#onReadyAgain = () => {};
    this.#events.onReady(ready);
  }

  #onExit(
    child: ChildProcess,
    exit: ServiceExit,
    life: { readonly livedMs: number; readonly failed: Error | null },
  ): void {
    // A process that couldn't be spawned may report its end twice.
    if (this.#child !== child) return;
    this.#child = null;
    if (this.#isStopped) {
      for (const resolve of this.#onStopped) resolve(exit);
      return;
    }
    if (this.#isRestarting) {
      this.#isRestarting = false;
      return this.start();
    }
    if (this.#options.isOnTrial === true && !this.#wasReady) {
      this.#events.onRemark(`${this.name} ${exitText(exit, life.failed)}`);
      return this.#events.onGiveUp(exit.code);
    }
    const next = afterExit({
      exit,
      wasReady: this.#wasReady,
      livedMs: life.livedMs,
      previousPauseMs: this.#pauseMs,
    });
    if (next.kind === "give-up") {
      this.#events.onRemark(`${this.name} can't start (exit code ${next.exitCode})`);
      this.#events.onGiveUp(next.exitCode);
      return;
    }
    this.#pauseMs = next.pauseMs;
    this.#events.onRemark(
      `${this.name} ${exitText(exit, life.failed)}; restarting in ${next.pauseMs} ms`,
    );
    this.#restart = setTimeout(() => this.start(), next.pauseMs);
  }
}

/**
 * A process that loads the program of a service and reads its configuration, and waits until a
 * `SupervisedService` has it as `waitingProcess`.
 */
export function forkWaitingService(options: ServiceOptions): ChildProcess {
  // If it can't be spawned, the service is started as usual, and reports the error.
  return forkService(options, true).on("error", () => {});
}

function forkService(
  { script, args, nodeFlags = [], sockets = [], env = {} }: ServiceOptions,
  isHeld: boolean,
): ChildProcess {
  // `detached` gives it its own session: Ctrl-C at the terminal reaches only `up`, which stops the
  // services in order.
  return fork(script, [...args], {
    detached: true,
    execArgv: [...process.execArgv, ...[keptCodeFlag, ...nodeFlags].filter(isNotGiven)],
    env: {
      ...process.env,
      ...withoutSystemd,
      ...jsonLogs,
      ...oneMallocArena,
      ...env,
      ...heldVariable(isHeld),
      ...handOverVariables(sockets.map(nameOf)),
    },
    stdio: ["ignore", "pipe", "pipe", ...sockets.map(({ fd }) => fd), "ipc"],
  });
}

/**
 * Node's flag for each service, also in its systemd unit: otherwise V8 drops the compiled code for
 * requests some 40 s after a load. `release-memory.ts` gives memory back and keeps the code.
 */
export const keptCodeFlag = "--no-memory-reducer";

/** Whether the operator hasn't set this flag of Node. */
function isNotGiven(flag: string): boolean {
  const given = [...process.execArgv, process.env["NODE_OPTIONS"] ?? ""].join(" ");
  return !given.split(" ").some((text) => flagName(text) === flagName(flag));
}

function flagName(text: string): string {
  return text
    .replaceAll("_", "-")
    .replace(/^--(?:no-)?/, "")
    .replace(/=.*/, "");
}

function runs({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid !== undefined && exitCode === null && signalCode === null;
}

/** How a child ended, as the rest of a sentence that begins with its name. */
export function exitText(exit: ServiceExit, failed: Error | null = null): string {
  if (exit.signal !== null) return `was killed by ${exit.signal}`;
  return exit.code === null
    ? `couldn't be started: ${failed?.message ?? "no reason given"}`
    : `ended with exit code ${exit.code}`;
}

/** The process that reads the lines decides how they are printed. */
const jsonLogs = { ["LOG_FORMAT"]: "json" };

/**
 * The threads of a service share one arena of the C library: one for each costs several megabytes,
 * and they allocate little. A value that the operator sets takes precedence.
 */
const oneMallocArena = { ["MALLOC_ARENA_MAX"]: process.env["MALLOC_ARENA_MAX"] ?? "1" };

/** Removes the variables by which systemd addresses the supervisor. */
const withoutSystemd = {
  ["NOTIFY_SOCKET"]: undefined,
  ["WATCHDOG_USEC"]: undefined,
  ["WATCHDOG_PID"]: undefined,
};

function nameOf({ name }: HandedSocket): string {
  return name;
}

function forEachLine(stream: Readable | null, onLine: (line: string) => void): void {
  if (stream !== null)
    createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }).on("line", onLine);
}
