/**
 * Daemon and proxy under one supervisor: the daemon starts first and stops last, so that the proxy
 * can connect to it and it receives the proxy's last settles. When one dies, the other keeps
 * running. One child process by itself is in `supervised-service.ts`.
 */
import { exitCodes } from "../session/exit-code.js";
import type { Terminal } from "../session/terminal.js";
import type { ServiceExit } from "./restart-pause.js";
import { renderServiceLogLine } from "./service-log-line.js";
import {
  howItEnded,
  type ServiceEvents,
  type ServiceOptions,
  type ServiceReady,
  type StopSignal,
  SupervisedService,
} from "./supervised-service.js";

interface SuperviseOptions {
  readonly limiterd: ServiceOptions;
  readonly proxy: ServiceOptions;
  readonly terminal: Terminal;
  /**
   * True: log lines go to standard output unchanged. False: warnings and worse go to standard error
   * in a readable form.
   */
  readonly verbose: boolean;
  /** How long each service may take to stop before it is killed. */
  readonly stopDeadlineMs: number;
  /** The text to print once both serve. */
  readyText(proxy: ServiceReady): string;
}

interface Supervisor {
  /** Resolves with the exit code when both services have ended for good. */
  readonly done: Promise<number>;
  /** Stops both in order, by this signal; a second call kills both at once. */
  stop(signal: StopSignal): void;
}

/** Starts both services. */
export function superviseServices(options: SuperviseOptions): Supervisor {
  const { promise: done, resolve } = withResolvers();
  const supervision = new Supervision(options, resolve);
  supervision.start();
  return { done, stop: (signal) => supervision.stop(signal) };
}

class Supervision {
  readonly #options: SuperviseOptions;
  readonly #onDone: (exitCode: number) => void;
  readonly #limiterd: SupervisedService;
  readonly #proxy: SupervisedService;
  #proxyStarted = false;
  #announced = false;
  #stopping = false;
  #killed = false;

  constructor(options: SuperviseOptions, onDone: (exitCode: number) => void) {
    this.#options = options;
    this.#onDone = onDone;
    this.#limiterd = new SupervisedService(
      options.limiterd,
      this.#events(options.limiterd.name, () => this.#startProxy()),
    );
    this.#proxy = new SupervisedService(
      options.proxy,
      this.#events(options.proxy.name, (ready) => this.#announce(ready)),
    );
  }

  start(): void {
    this.#limiterd.start();
  }

  stop(signal: StopSignal): void {
    if (!this.#stopping) {
      this.#options.terminal.err(
        "stopping: waiting for requests in flight; a second signal ends them",
      );
      const exitCode = signal === "SIGINT" ? exitCodes.killed : exitCodes.ok;
      void this.#stopBoth(exitCode, signal);
      return;
    }
    this.#killed = true;
    this.#proxy.kill();
    this.#limiterd.kill();
  }

  #events(name: string, onReady: (ready: ServiceReady) => void): ServiceEvents {
    const { terminal, verbose } = this.#options;
    return {
      onReady,
      onGiveUp: (exitCode) => void this.#stopBoth(exitCode, "SIGTERM"),
      onRemark: (line) => terminal.err(line),
      onLogLine: (line) => {
        if (verbose) return terminal.out(line);
        const rendered = renderServiceLogLine(name, line);
        if (rendered !== null) terminal.err(rendered);
      },
    };
  }

  #startProxy(): void {
    if (this.#proxyStarted) return;
    this.#proxyStarted = true;
    this.#proxy.start();
  }

  #announce(ready: ServiceReady): void {
    if (this.#announced) return;
    this.#announced = true;
    this.#options.terminal.out(this.#options.readyText(ready));
  }

  async #stopBoth(exitCode: number, signal: StopSignal): Promise<void> {
    if (this.#stopping) return;
    this.#stopping = true;
    const clean = [];
    for (const service of [this.#proxy, this.#limiterd]) {
      const exit = await service.stop(signal, this.#options.stopDeadlineMs);
      clean.push(this.#endedCleanly(service.name, exit));
    }
    const asked = exitCode === exitCodes.ok || exitCode === exitCodes.killed;
    if (this.#killed) this.#onDone(exitCodes.killed);
    else this.#onDone(asked && clean.includes(false) ? exitCodes.failed : exitCode);
  }

  /** Whether a service stopped as it should; if not, prints how it ended. */
  #endedCleanly(name: string, exit: ServiceExit | null): boolean {
    if (exit === null || exit.code === exitCodes.ok) return true;
    // Ended by the signal itself: it came before the process had installed its handler.
    if (exit.signal === "SIGTERM" || exit.signal === "SIGINT") return true;
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
