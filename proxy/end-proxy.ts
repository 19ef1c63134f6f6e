/**
 * The order in which a proxy shuts down, after a stop and after its replacement by a successor on
 * the same address. `main.ts` wires the parts.
 */
import type { DrainTimes } from "./http/drain/drain-server.js";

interface ProxyParts {
  readonly listeners: { close(times: DrainTimes): Promise<void> };
  readonly liveFeed: { close(): void };
  readonly sessions: { drain(): void; ended(): Promise<void> };
  /** Settles requests that were cut, and closes everything. */
  finish(): Promise<void>;
  /** Resolves after a time, or earlier at the next call. */
  schedule(ms: number, run: () => void): void;
}

interface EndTimes {
  readonly drainGraceMs: number;
  readonly drainMs: number;
  readonly reloadDrainMs: number;
  /** How long a stop leaves idle connections open: `heldIdleMs` or 0. */
  readonly stopIdleMs: number;
}

/**
 * How long idle connections to a replaced proxy stay open: longer than most clients keep an unused
 * one, so that no request is sent into a closing connection.
 */
const replacedIdleMs = 5_000;
/**
 * The same when the supervisor holds the socket during a stop. New connections wait for the next
 * proxy, so this is just long enough for requests in transit.
 */
export const heldIdleMs = 1_000;

export class ProxyEnd {
  readonly #parts: ProxyParts;
  readonly #times: EndTimes;
  #isStopping = false;
  #closed: Promise<void> | null = null;

  constructor(parts: ProxyParts, times: EndTimes) {
    this.#parts = parts;
    this.#times = times;
  }

  /**
   * Whether /ready answers 503. A replaced proxy stays ready: the successor accepts the next
   * connection.
   */
  get stopping(): boolean {
    return this.#isStopping;
  }

  /**
   * Serves requests during the grace period while /ready answers 503; then waits for running
   * requests, and cuts those that take too long. There is no grace period after `replaced` or with
   * `atOnce`.
   */
  async stop({ atOnce }: { readonly atOnce: boolean }): Promise<void> {
    const graceMs = atOnce || this.#closed !== null ? 0 : this.#times.drainGraceMs;
    this.#isStopping = true;
    if (graceMs > 0) await new Promise<void>((resolve) => this.#parts.schedule(graceMs, resolve));
    this.#parts.sessions.drain();
    const idleMs = atOnce ? 0 : this.#times.stopIdleMs;
    return this.#close({ idleMs, runningMs: this.#times.drainMs });
  }

  /** A successor accepts on the same address, so running requests get much more time. */
  replaced(): Promise<void> {
    const { drainMs, reloadDrainMs } = this.#times;
    this.#parts.schedule(Math.max(0, reloadDrainMs - drainMs), () => this.#parts.sessions.drain());
    return this.#close({ idleMs: replacedIdleMs, runningMs: reloadDrainMs });
  }

  #close(times: DrainTimes): Promise<void> {
    this.#parts.liveFeed.close();
    const closed = this.#parts.listeners.close(times);
    this.#closed ??= closed
      .then(() => this.#parts.sessions.ended())
      .then(() => this.#parts.finish());
    return this.#closed;
  }
}
