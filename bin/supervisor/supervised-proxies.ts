/**
 * The proxies under one supervisor, all on the same listening sockets, each restarted when it dies.
 * A reload replaces them one by one: the new proxy must be ready before the old one gets the signal
 * to finish.
 *
 * Not here: what causes a reload, and its configuration.
 */
import { proxyNameVariable } from "../../shared/supervision/proxy-name.js";
import { exitCodes } from "../session/exit-code.js";
import type { ServiceReady } from "./ready-message.js";
import { successorReadyMs } from "./reload/hand-over.js";
import type { ReloadOutcome } from "./reload/reload-outcome.js";
import type { ServiceExit } from "./restart-pause.js";
import {
  type ServiceEvents,
  type ServiceOptions,
  type StopSignal,
  SupervisedService,
} from "./supervised-service.js";

export interface ProxyOptions {
  readonly script: string;
  readonly args: readonly string[];
  readonly sockets: NonNullable<ServiceOptions["sockets"]>;
  /** How many. */
  readonly count: number;
}

interface ProxiesPorts {
  /** Variables for each of them. */
  readonly env: NonNullable<ServiceOptions["env"]>;
  /** Handles a proxy's output and its ends. */
  events(name: string, onReady: (ready: ServiceReady) => void): ServiceEvents;
  /** All are ready, for the first time. */
  onReady(ready: ServiceReady): void;
}

/**
 * Replaced proxies that still run; beyond this the oldest must finish within the drain of a stop.
 */
const finishingMax = 8;

export class SupervisedProxies {
  readonly #ports: ProxiesPorts;
  readonly #stopDeadlineMs: number;
  #options: ProxyOptions;
  #proxies: SupervisedService[] = [];
  readonly #finishing = new Set<SupervisedService>();
  #successor: SupervisedService | null = null;
  #isStopping = false;

  constructor(options: ProxyOptions, ports: ProxiesPorts, stopDeadlineMs: number) {
    this.#options = options;
    this.#ports = ports;
    this.#stopDeadlineMs = stopDeadlineMs;
  }

  /** `isHeld`: the processes load now, and serve after `release`. */
  start(isHeld: boolean): void {
    const waiting = new Set<number>();
    for (let position = 0; position < this.#options.count; position++) {
      waiting.add(position);
      this.#proxies.push(
        this.#create(
          position,
          (ready) => {
            if (waiting.delete(position) && waiting.size === 0) this.#ports.onReady(ready);
          },
          { isHeld },
        ),
      );
    }
    for (const service of this.#proxies) service.start();
  }

  release(): void {
    for (const service of this.#proxies) service.release();
  }

  /**
   * Replaces the proxies, with the result as in `ReloadOutcome`; those not replaced keep running.
   */
  async reload(options: ProxyOptions): Promise<ReloadOutcome> {
    this.#options = options;
    const before = this.#proxies.length;
    for (let position = 0; position < options.count; position++) {
      const failed = await this.#replace(position);
      if (failed === null) continue;
      const done =
        position === 0 ? [] : [`${position} of ${before} proxies had been replaced before that`];
      return { ...failed, lines: [...failed.lines, ...done] };
    }
    for (const surplus of this.#proxies.splice(options.count)) this.#finish(surplus);
    const count = options.count === 1 ? "the proxy" : `${options.count} proxies`;
    return { ok: true, lines: [`replaced ${count}`] };
  }

  /** Stops all proxies; resolves with how each one that wasn't replaced ended. */
  async stop(
    signal: StopSignal,
  ): Promise<readonly { readonly name: string; readonly exit: ServiceExit | null }[]> {
    this.#isStopping = true;
    const finished = [...this.#finishing, ...(this.#successor === null ? [] : [this.#successor])];
    const [exits] = await Promise.all([
      Promise.all(
        this.#proxies.map(async (service) => ({
          name: service.name,
          exit: await service.stop(signal, this.#stopDeadlineMs),
        })),
      ),
      ...finished.map((service) => service.stop(signal, this.#stopDeadlineMs)),
    ]);
    return exits;
  }

  kill(): void {
    this.#isStopping = true;
    for (const service of [...this.#proxies, ...this.#finishing]) service.kill();
    this.#successor?.kill();
  }

  /** Null if a new proxy is ready at this position; the old one, if any, then finishes. */
  async #replace(position: number): Promise<(ReloadOutcome & { readonly ok: false }) | null> {
    const failure = await this.#startSuccessor(position);
    const successor = this.#successor!;
    this.#successor = null;
    if (failure !== null) {
      successor.kill();
      return failure;
    }
    const old = this.#proxies[position];
    this.#proxies[position] = successor;
    if (old !== undefined) this.#finish(old);
    return null;
  }

  #startSuccessor(position: number): Promise<(ReloadOutcome & { readonly ok: false }) | null> {
    return new Promise((resolve) => {
      const fail = (exitCode: number, line: string): void => {
        clearTimeout(late);
        resolve({ ok: false, exitCode, lines: [line] });
      };
      const late = setTimeout(
        () =>
          fail(exitCodes.failed, `error: the new proxy isn't ready after ${successorReadyMs} ms`),
        successorReadyMs,
      );
      const successor = this.#create(
        position,
        () => {
          clearTimeout(late);
          resolve(
            this.#isStopping
              ? { ok: false, exitCode: exitCodes.failed, lines: ["error: Sluice was stopped"] }
              : null,
          );
        },
        {
          onTrialFailed: (exitCode) =>
            fail(
              exitCode === null || exitCode === exitCodes.ok ? exitCodes.failed : exitCode,
              "error: the new proxy ended before it was ready; the log has the reason",
            ),
        },
      );
      this.#successor = successor;
      successor.start();
    });
  }

  #create(
    position: number,
    onReady: (ready: ServiceReady) => void,
    {
      isHeld = false,
      onTrialFailed = null,
    }: {
      readonly isHeld?: boolean;
      readonly onTrialFailed?: ((exitCode: number | null) => void) | null;
    },
  ): SupervisedService {
    const { script, args, sockets, count } = this.#options;
    const name = count === 1 ? "proxy" : `proxy-${position + 1}`;
    const events = this.#ports.events(name, onReady);
    return new SupervisedService(
      {
        name,
        script,
        args,
        nodeFlags: [newSpaceFlag],
        sockets,
        env: { ...this.#ports.env, ...proxyNameVariable(name) },
        isHeld,
        isOnTrial: onTrialFailed !== null,
      },
      onTrialFailed === null ? events : { ...events, onGiveUp: onTrialFailed },
    );
  }

  #finish(old: SupervisedService): void {
    this.#finishing.add(old);
    void old.replaced().then(() => this.#finishing.delete(old));
    const [oldest] = this.#finishing;
    if (this.#finishing.size > finishingMax && oldest !== undefined)
      void oldest.stop("SIGINT", this.#stopDeadlineMs);
  }
}

/**
 * Node's flag for a proxy, also in its systemd units. V8 lets the space for new objects grow to
 * twice 16 MB. Half of it saves a fifth of the memory of a burst of streams for less than a percent
 * of CPU.
 */
export const newSpaceFlag = "--max-semi-space-size=8";
