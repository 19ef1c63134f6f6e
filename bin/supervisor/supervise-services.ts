/**
 * The daemon and the proxies under one supervisor: their processes load at the same time, but the
 * proxies start once the daemon is ready, and it stops last, so that they can connect to it and it
 * receives their last settles. When one process dies, the others keep running. A child process is
 * in `supervised-service.ts`, the proxies are in `supervised-proxies.ts`.
 */

import type { ChildProcess } from "node:child_process";
import type { LogLevel } from "../../shared/log.js";
import { lineText } from "../../shared/logging/line-text.js";
import { exitCodes } from "../session/exit-code.js";
import type { Terminal } from "../session/terminal.js";
import { gatheredMetrics, watchProxy } from "./metrics/watch-proxy.js";
import { printedVariable } from "./printed-level.js";
import type { ServiceReady } from "./ready-message.js";
import type { ReloadOutcome } from "./reload/reload-outcome.js";
import type { ServiceExit } from "./restart-pause.js";
import { type ProxyOptions, SupervisedProxies } from "./supervised-proxies.js";
import {
  exitText,
  forkWaitingService,
  type ServiceEvents,
  type ServiceOptions,
  type StopSignal,
  SupervisedService,
} from "./supervised-service.js";

interface SuperviseOptions {
  /** Null if the daemon runs elsewhere. */
  readonly limiterd: ServiceOptions | null;
  readonly proxies: ProxyOptions;
  readonly terminal: Terminal;
  /** Whether all log lines are printed, to standard output; else warnings, to standard error. */
  readonly verbose: boolean;
  /** Whether lines are formatted for people; otherwise they are printed unchanged. */
  readonly logsText: boolean;
  /** How long each service may take to stop before it is killed. */
  readonly stopDeadlineMs: number;
  /** All services are ready. */
  onReady(proxy: ServiceReady): void;
}

export interface Supervisor {
  /** Resolves with the exit code when all services have ended for good. */
  readonly done: Promise<number>;
  /**
   * Replaces the proxies, then restarts the daemon if the configuration `needs` that. Must not
   * overlap with another reload.
   */
  reload(proxies: ProxyOptions, needs: { readonly daemon: boolean }): Promise<ReloadOutcome>;
  /** The proxies keep running; their metrics count the failed reload. */
  reloadFailed(): void;
  /** Stops all services in order, with this signal; a second call kills all immediately. */
  stop(signal: StopSignal): void;
}

/** How long a restarted daemon may take until it is ready. */
const daemonReadyMs = 60_000;

/** The daemon's process, which loads meanwhile: `limiterd.waitingProcess`. */
export function forkDaemon(limiterd: ServiceOptions, verbose: boolean): ChildProcess {
  return forkWaitingService({ ...limiterd, env: printedVariable(leastPrintedLevel(verbose)) });
}

/** The least severe level that is printed. */
function leastPrintedLevel(verbose: boolean): LogLevel {
  return verbose ? "trace" : "warn";
}

/** Starts all services. */
export function superviseServices(options: SuperviseOptions): Supervisor {
  return new Supervision(options);
}

class Supervision implements Supervisor {
  readonly done: Promise<number>;
  readonly #options: SuperviseOptions;
  #onDone: (exitCode: number) => void = () => {};
  readonly #metrics = gatheredMetrics((line) => this.#options.terminal.err(line));
  readonly #limiterd: SupervisedService | null;
  readonly #proxies: SupervisedProxies;
  #isReleased = false;
  #isStopping = false;
  #isKilled = false;

  constructor(options: SuperviseOptions) {
    this.done = new Promise((resolve) => {
      this.#onDone = resolve;
    });
    this.#options = options;
    const { limiterd, proxies, stopDeadlineMs } = options;
    const env = printedVariable(leastPrintedLevel(options.verbose));
    this.#proxies = new SupervisedProxies(
      proxies,
      {
        env,
        events: (name, onReady) => ({
          ...this.#events(name, onReady),
          onStarted: (child) => watchProxy(this.#metrics, name, child),
        }),
        onReady: (ready) => options.onReady(ready),
      },
      stopDeadlineMs,
    );
    this.#limiterd =
      limiterd === null
        ? null
        : new SupervisedService(
            { ...limiterd, env },
            this.#events(limiterd.name, () => this.#release()),
          );
    this.#limiterd?.start();
    this.#proxies.start(this.#limiterd !== null);
    if (this.#limiterd === null) this.#isReleased = true;
  }

  async reload(proxies: ProxyOptions, needs: { readonly daemon: boolean }): Promise<ReloadOutcome> {
    if (!this.#isReleased)
      return {
        ok: false,
        exitCode: exitCodes.taken,
        lines: ["error: Sluice is starting: nothing was reloaded"],
      };
    const outcome = await this.#proxies.reload(proxies);
    if (!outcome.ok || this.#limiterd === null || this.#isStopping) return outcome;
    if (!needs.daemon)
      return {
        ok: true,
        lines: [...outcome.lines, "the daemon keeps running: none of its settings has changed"],
      };
    const times = { stopMs: this.#options.stopDeadlineMs, readyMs: daemonReadyMs };
    if (await this.#limiterd.restart(times))
      return { ok: true, lines: [...outcome.lines, "restarted the daemon"] };
    return {
      ok: false,
      exitCode: exitCodes.unreachable,
      lines: [
        ...outcome.lines,
        "error: the daemon isn't back: Sluice keeps restarting it, and the log has the reason",
      ],
    };
  }

  reloadFailed(): void {
    this.#metrics.reloadFailed();
  }

  stop(signal: StopSignal): void {
    if (!this.#isStopping) {
      this.#options.terminal.err(
        "stopping: waiting for requests in flight; a second signal ends them",
      );
      void this.#stopAll(signal === "SIGINT" ? exitCodes.killed : exitCodes.ok, signal);
      return;
    }
    this.#isKilled = true;
    this.#proxies.kill();
    this.#limiterd?.kill();
  }

  #events(name: string, onReady: (ready: ServiceReady) => void): ServiceEvents {
    const { terminal, verbose, logsText } = this.#options;
    const print = (line: string): void => (verbose ? terminal.out(line) : terminal.err(line));
    return {
      onReady,
      onGiveUp: (exitCode) => void this.#stopAll(exitCode ?? exitCodes.failed, "SIGTERM"),
      onRemark: (line) => terminal.err(line),
      onLogLine: (line) => {
        // All lines are printed unchanged, so they needn't be parsed.
        if (verbose && !logsText) return print(line);
        const text = lineText(name, line, leastPrintedLevel(verbose));
        if (text !== null) print(logsText ? text : line);
      },
    };
  }

  /** The daemon is ready, for the first time or after a restart. */
  #release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#proxies.release();
  }

  async #stopAll(exitCode: number, signal: StopSignal): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    const exits = await this.#proxies.stop(signal);
    const clean = exits.map(({ name, exit }) => this.#endedCleanly(name, exit));
    const limiterd = this.#limiterd;
    if (limiterd !== null) {
      const exit = await limiterd.stop(signal, this.#options.stopDeadlineMs);
      clean.push(this.#endedCleanly(limiterd.name, exit));
    }
    const isRequested = exitCode === exitCodes.ok || exitCode === exitCodes.killed;
    if (this.#isKilled) this.#onDone(exitCodes.killed);
    else this.#onDone(isRequested && clean.includes(false) ? exitCodes.failed : exitCode);
  }

  /** Whether a service stopped as it should; if not, prints how it ended. */
  #endedCleanly(name: string, exit: ServiceExit | null): boolean {
    if (exit === null || exit.code === exitCodes.ok) return true;
    // The signal ended the process before it had installed its handler.
    if (exit.signal === "SIGTERM" || exit.signal === "SIGINT") return true;
    this.#options.terminal.err(`${name} ${exitText(exit)}`);
    return false;
  }
}
