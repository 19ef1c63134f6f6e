/**
 * Daemon and proxy under one roof: the daemon starts first and stops last, so that the proxy finds
 * it and its last settles are taken. One of them dying doesn't touch the other.
 */

import { exitCodes } from "../session/exit-code.js";
import type { Terminal } from "../session/terminal.js";
import type { PartExit } from "./restart-pause.js";
import { renderPartLogLine } from "./service-log-line.js";
import {
  howItEnded,
  type PartEvents,
  type PartOptions,
  type PartReady,
  SupervisedPart,
} from "./supervised-service.js";

export interface SuperviseOptions {
  readonly limiterd: PartOptions;
  readonly proxy: PartOptions;
  readonly terminal: Terminal;
  /**
   * The parts' log lines go to standard output as they are; otherwise warnings and worse, readable,
   * to standard error.
   */
  readonly verbose: boolean;
  /** How long each part may take to stop before it is killed. */
  readonly stopDeadlineMs: number;
  /** What is printed once both serve. */
  readyText(proxy: PartReady): string;
}

export interface Supervisor {
  /** The exit code, when both parts have ended for good. */
  readonly done: Promise<number>;
  /** Stops both in order; asked for a second time, kills both at once. */
  stop(): void;
}

/** Starts both parts. */
export function superviseParts(options: SuperviseOptions): Supervisor {
  const { promise: done, resolve } = withResolvers();
  const supervision = new Supervision(options, resolve);
  supervision.start();
  return { done, stop: () => supervision.stop() };
}

class Supervision {
  readonly #options: SuperviseOptions;
  readonly #onDone: (exitCode: number) => void;
  readonly #limiterd: SupervisedPart;
  readonly #proxy: SupervisedPart;
  #proxyStarted = false;
  #announced = false;
  #stopping = false;
  #killed = false;

  constructor(options: SuperviseOptions, onDone: (exitCode: number) => void) {
    this.#options = options;
    this.#onDone = onDone;
    this.#limiterd = new SupervisedPart(
      options.limiterd,
      this.#events(options.limiterd.name, () => this.#startProxy()),
    );
    this.#proxy = new SupervisedPart(
      options.proxy,
      this.#events(options.proxy.name, (ready) => this.#announce(ready)),
    );
  }

  start(): void {
    this.#limiterd.start();
  }

  stop(): void {
    if (!this.#stopping) {
      this.#options.terminal.err("stopping: requests in flight are finished; once more ends them");
      void this.#stopBoth(exitCodes.ok);
      return;
    }
    this.#killed = true;
    this.#proxy.kill();
    this.#limiterd.kill();
  }

  #events(name: string, onReady: (ready: PartReady) => void): PartEvents {
    const { terminal, verbose } = this.#options;
    return {
      onReady,
      onGiveUp: (exitCode) => void this.#stopBoth(exitCode),
      onRemark: (line) => terminal.err(line),
      onLogLine: (line) => {
        if (verbose) return terminal.out(line);
        const rendered = renderPartLogLine(name, line);
        if (rendered !== null) terminal.err(rendered);
      },
    };
  }

  #startProxy(): void {
    if (this.#proxyStarted) return;
    this.#proxyStarted = true;
    this.#proxy.start();
  }

  #announce(ready: PartReady): void {
    if (this.#announced) return;
    this.#announced = true;
    this.#options.terminal.out(this.#options.readyText(ready));
  }

  async #stopBoth(exitCode: number): Promise<void> {
    if (this.#stopping) return;
    this.#stopping = true;
    const clean = [];
    for (const part of [this.#proxy, this.#limiterd])
      clean.push(this.#tellEnd(part.name, await part.stop(this.#options.stopDeadlineMs)));
    if (this.#killed) this.#onDone(exitCodes.killed);
    else
      this.#onDone(
        exitCode === exitCodes.ok && clean.includes(false) ? exitCodes.failed : exitCode,
      );
  }

  /** Whether a part stopped as it should; says how it didn't. */
  #tellEnd(name: string, exit: PartExit | null): boolean {
    // Ended by SIGTERM itself: it was asked so early that it hadn't begun to listen for it.
    if (exit === null || exit.code === exitCodes.ok || exit.signal === "SIGTERM") return true;
    this.#options.terminal.err(`${name} ${howItEnded(exit)}`);
    return false;
  }
}

function withResolvers(): {
  readonly promise: Promise<number>;
  readonly resolve: (exitCode: number) => void;
} {
  let resolve: (exitCode: number) => void = () => {};
  const promise = new Promise<number>((settle) => (resolve = settle));
  return { promise, resolve };
}
