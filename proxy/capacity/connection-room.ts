/**
 * How many connections and requests the proxy holds at once (docs/bounds.md, "Connections"). A new
 * connection always gets in: near the bound, the one that has been idle longest makes room for it.
 * So whoever opens connections and sends nothing loses them, and a probe of `/ready` is answered.
 *
 * Not here: sockets. `http/http-listener.ts` says what happens on them.
 */
import { connectionsReserveMax } from "../../shared/bounds.js";

interface Connection {
  destroy(): void;
}

export class ConnectionRoom<C extends Connection> {
  /** How many requests may run at once, and how many connections may be open without idle ones. */
  readonly max: number;
  readonly #reserve: number;
  /** All of them, with how many of their requests run. */
  readonly #running = new Map<C, number>();
  /** Those without a running request, the longest idle one first. */
  readonly #idle = new Set<C>();
  readonly #onFull: (() => void) | null;
  #requests = 0;

  /** `onFull`: for each connection that is closed to make room, and each request too many. */
  constructor(max: number, onFull: (() => void) | null = null) {
    this.max = max;
    this.#reserve = reserveOf(max);
    this.#onFull = onFull;
  }

  /** Whether a request that has begun is one too many. */
  get isFull(): boolean {
    return this.#requests > this.max;
  }

  get requests(): number {
    return this.#requests;
  }

  /** How many are open. */
  get open(): number {
    return this.#running.size;
  }

  all(): Iterable<C> {
    return this.#running.keys();
  }

  /** How many of its requests run. */
  runningOn(connection: C): number {
    return this.#running.get(connection) ?? 0;
  }

  opened(connection: C): void {
    this.#running.set(connection, 0);
    this.#idle.add(connection);
    // As many newer ones come before a new connection is closed again.
    if (this.#running.size > this.max && this.#idle.size > this.#reserve) this.closeIdle(1);
  }

  gone(connection: C): void {
    this.#requests -= this.#running.get(connection) ?? 0;
    this.#running.delete(connection);
    this.#idle.delete(connection);
  }

  began(connection: C): void {
    const running = this.#running.get(connection);
    if (running === undefined) return;
    if (running === 0) this.#idle.delete(connection);
    this.#running.set(connection, running + 1);
    this.#requests++;
    if (this.isFull) this.#onFull?.();
  }

  ended(connection: C): void {
    const running = this.#running.get(connection);
    if (running === undefined || running === 0) return;
    if (running === 1) this.#idle.add(connection);
    this.#running.set(connection, running - 1);
    this.#requests--;
  }

  /** Closes those that have been idle longest. */
  closeIdle(count: number): void {
    let left = count;
    for (const connection of this.#idle) {
      if (left-- === 0) return;
      this.#onFull?.();
      this.gone(connection);
      connection.destroy();
    }
  }
}

/** What of the idle connections stays near the bound. */
function reserveOf(max: number): number {
  return Math.min(connectionsReserveMax, Math.max(4, Math.floor(max / 8)));
}

/** What the process itself needs: the event loop, the log, the daemon, uploads on their way. */
const ownFiles = 64;

/**
 * The bound that a process can hold which may open so many files: a request needs one for its
 * client and one for its provider.
 */
export function connectionsWithin(filesMax: number, wanted: number): number {
  let max = Math.max(1, Math.min(wanted, Math.floor((filesMax - ownFiles) / 2)));
  while (max > 1 && 2 * max + reserveOf(max) + ownFiles > filesMax) max--;
  return max;
}
