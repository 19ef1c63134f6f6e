/**
 * How a proxy ends: which of its parts closes when, after a stop and after a replacement by a
 * successor on the same address. The parts themselves are wired in `main.ts`.
 */
import type { DrainTimes } from "./http/drain/drain-server.js";

interface ProxyParts {
  readonly listeners: { close(times: DrainTimes): Promise<void> };
  readonly liveFeed: { close(): void };
  readonly sessions: { drain(): void; ended(): Promise<void> };
  /** Settles what has been cut, and leaves nothing open. */
  finish(): Promise<void>;
  /** Resolves after a time, or earlier when it is called again. */
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
 * How long idle connections to a replaced proxy stay open: longer than most clients keep one
 * without using it, so that a close meets no request that is being sent.
 */
const replacedIdleMs = 5_000;
/**
 * The same of one that stops while its supervisor holds the socket. Whoever connects meanwhile
 * waits for the next proxy, so it is short: enough for a request that was on its way.
 */
export const heldIdleMs = 1_000;

export class ProxyEnd {
  readonly #parts: ProxyParts;
  readonly #times: EndTimes;
  #stopping = false;
  #closed: Promise<void> | null = null;

  constructor(parts: ProxyParts, times: EndTimes) {
    this.#parts = parts;
    this.#times = times;
  }

  /**
   * Whether callers should go elsewhere. After a replacement the address stays ready: the next
   * connection is the successor's.
   */
  get stopping(): boolean {
    return this.#stopping;
  }

  /**
   * Takes requests for the grace, while it says that it isn't ready; then lets those that run end,
   * and cuts the last of them. After `replaced`, and with `atOnce`, there is no grace.
   */
  async stop(atOnce: boolean): Promise<void> {
    const graceMs = atOnce || this.#closed !== null ? 0 : this.#times.drainGraceMs;
    this.#stopping = true;
    if (graceMs > 0) await new Promise<void>((resolve) => this.#parts.schedule(graceMs, resolve));
    this.#parts.sessions.drain();
    const idleMs = atOnce ? 0 : this.#times.stopIdleMs;
    return this.#close({ idleMs, runningMs: this.#times.drainMs });
  }

  /** A successor accepts at the same address: what runs here has much longer. */
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
