/**
 * One child process of `sluice up`: started, listened to, started again when it ends, stopped. When
 * it is started again is `restart-pause.ts`'s decision; in which order the parts start and stop is
 * `supervise-services.ts`'s.
 */
import { type ChildProcess, fork } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { afterExit, type PartExit } from "./restart-pause.js";

export interface PartOptions {
  /** What lines call it. */
  readonly name: string;
  /** A compiled script that sends `{ ready, … }` to its parent once it serves. */
  readonly script: string;
  readonly args: readonly string[];
}

export interface PartEvents {
  /** It serves, for the first time or again. */
  onReady(ready: PartReady): void;
  /** It can't be started; it said why itself. */
  onGiveUp(exitCode: number): void;
  /** A line of its standard output: its log. */
  onLogLine(line: string): void;
  /** Something for people: a line of its standard error, an end, a restart. */
  onRemark(line: string): void;
}

/** What a part says of itself when it is ready. */
export interface PartReady {
  readonly ready: string;
  readonly open: boolean;
}

/** A child that starts again until it is stopped. */
export class SupervisedPart {
  readonly name: string;
  readonly #options: PartOptions;
  readonly #events: PartEvents;
  #child: ChildProcess | null = null;
  #restart: NodeJS.Timeout | null = null;
  #pauseMs: number | null = null;
  #wasReady = false;
  #stopped = false;
  readonly #onStopped: ((exit: PartExit) => void)[] = [];

  constructor(options: PartOptions, events: PartEvents) {
    this.name = options.name;
    this.#options = options;
    this.#events = events;
  }

  start(): void {
    const startedAtMs = performance.now();
    // A session of its own: Ctrl-C at the terminal reaches `up` alone, which stops the parts in
    // order.
    const child = fork(this.#options.script, [...this.#options.args], {
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    this.#child = child;
    let failed: Error | null = null;
    child.on("error", (error) => {
      failed = error;
      if (child.pid === undefined)
        this.#onExit(child, { code: null, signal: null }, { livedMs: 0, failed });
    });
    child.on("message", (message) => this.#onMessage(message));
    forEachLine(child.stdout, (line) => this.#events.onLogLine(line));
    forEachLine(child.stderr, (line) => this.#events.onRemark(`${this.name}: ${line}`));
    // Not `exit`: its last lines come before `close`, and are to stand before what is said of its
    // end.
    child.on("close", (code, signal) =>
      this.#onExit(child, { code, signal }, { livedMs: performance.now() - startedAtMs, failed }),
    );
  }

  /**
   * Ends it for good with SIGTERM, with SIGKILL past the deadline; resolves with how it ended, null
   * when it wasn't running.
   */
  stop(deadlineMs: number): Promise<PartExit | null> {
    this.#stopped = true;
    if (this.#restart !== null) clearTimeout(this.#restart);
    const child = this.#child;
    if (child === null) return Promise.resolve(null);
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#events.onRemark(`${this.name} didn't stop within ${deadlineMs} ms; it is killed`);
        child.kill("SIGKILL");
      }, deadlineMs);
      this.#onStopped.push((exit) => {
        clearTimeout(timer);
        resolve(exit);
      });
      child.kill("SIGTERM");
    });
  }

  /** Ends it at once; a `stop` that waits hears of it. */
  kill(): void {
    this.#stopped = true;
    if (this.#restart !== null) clearTimeout(this.#restart);
    this.#child?.kill("SIGKILL");
  }

  #onMessage(message: unknown): void {
    const ready = readyFrom(message);
    if (ready === null || this.#stopped) return;
    if (this.#wasReady) this.#events.onRemark(`${this.name} is back`);
    this.#wasReady = true;
    this.#events.onReady(ready);
  }

  #onExit(
    child: ChildProcess,
    exit: PartExit,
    life: { readonly livedMs: number; readonly failed: Error | null },
  ): void {
    // One that couldn't be started may tell of its end twice.
    if (this.#child !== child) return;
    this.#child = null;
    if (this.#stopped) {
      for (const heard of this.#onStopped) heard(exit);
      return;
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
      `${this.name} ${howItEnded(exit, life.failed)}; it starts again in ${next.pauseMs} ms`,
    );
    this.#restart = setTimeout(() => this.start(), next.pauseMs);
  }
}

/** How a child ended, as the rest of a sentence. */
export function howItEnded(exit: PartExit, failed: Error | null = null): string {
  if (exit.signal !== null) return `was ended by ${exit.signal}`;
  return exit.code === null
    ? `couldn't be started: ${failed?.message ?? "no reason given"}`
    : `ended with exit code ${exit.code}`;
}

function readyFrom(message: unknown): PartReady | null {
  if (
    typeof message !== "object" ||
    message === null ||
    !("ready" in message) ||
    typeof message.ready !== "string"
  )
    return null;
  return { ready: message.ready, open: "open" in message && message.open === true };
}

function forEachLine(stream: Readable | null, onLine: (line: string) => void): void {
  if (stream !== null)
    createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }).on("line", onLine);
}
