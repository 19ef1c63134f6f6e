/**
 * How many connections and requests the proxy holds at once (docs/reference/bounds.md,
 * "Connections"). A new connection always gets in: near the bound, the one that has been idle
 * longest makes room for it. So whoever opens connections and sends nothing loses them, and a
 * probe of `/ready` is answered.
 *
 * Not here: sockets. `http/http-listener.ts` says what happens on them.
 */
import { connectionsReserveMax } from "../../shared/bounds.js";

interface Connection {
  destroy(): void;
}

/** An open connection. Idle ones are a ring, so that one goes in and out of it without a search. */
interface Open<C> {
  /** Null: where the ring begins and ends. */
  readonly connection: C | null;
  /** How many of its requests run. */
  running: number;
  /** Its neighbours among the idle ones; itself while it isn't idle. */
  longerIdle: Open<C>;
  shorterIdle: Open<C>;
}

export class ConnectionRoom<C extends Connection> {
  /** How many requests may run at once, and how many connections may be open without idle ones. */
  readonly max: number;
  readonly #reserve: number;
  readonly #open = new Map<C, Open<C>>();
  /** Those without a running request: behind it the longest idle one, before it the last. */
  readonly #idle = alone<C>(null);
  #idleCount = 0;
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
    return this.#open.size;
  }

  all(): Iterable<C> {
    return this.#open.keys();
  }

  /** How many of its requests run. */
  runningOn(connection: C): number {
    return this.#open.get(connection)?.running ?? 0;
  }

  opened(connection: C): void {
    if (this.#open.has(connection)) return;
    const open = alone(connection);
    this.#open.set(connection, open);
    this.#becomesIdle(open);
    // As many newer ones come before a new connection is closed again.
    if (this.#open.size > this.max && this.#idleCount > this.#reserve) this.closeIdle(1);
  }

  gone(connection: C): void {
    const open = this.#open.get(connection);
    if (open === undefined) return;
    this.#requests -= open.running;
    if (open.running === 0) this.#isIdleNoMore(open);
    this.#open.delete(connection);
  }

  began(connection: C): void {
    const open = this.#open.get(connection);
    if (open === undefined) return;
    if (open.running === 0) this.#isIdleNoMore(open);
    open.running++;
    this.#requests++;
    if (this.isFull) this.#onFull?.();
  }

  ended(connection: C): void {
    const open = this.#open.get(connection);
    if (open === undefined || open.running === 0) return;
    open.running--;
    if (open.running === 0) this.#becomesIdle(open);
    this.#requests--;
  }

  /** Closes those that have been idle longest. */
  closeIdle(count: number): void {
    for (let left = count; left > 0; left--) {
      const { connection } = this.#idle.shorterIdle;
      if (connection === null) return;
      this.#onFull?.();
      this.gone(connection);
      connection.destroy();
    }
  }

  #becomesIdle(open: Open<C>): void {
    const ring = this.#idle;
    open.longerIdle = ring.longerIdle;
    open.shorterIdle = ring;
    ring.longerIdle.shorterIdle = open;
    ring.longerIdle = open;
    this.#idleCount++;
  }

  #isIdleNoMore(open: Open<C>): void {
    open.longerIdle.shorterIdle = open.shorterIdle;
    open.shorterIdle.longerIdle = open.longerIdle;
    open.longerIdle = open.shorterIdle = open;
    this.#idleCount--;
  }
}

function alone<C>(connection: C | null): Open<C> {
  const open = { connection, running: 0 } as Open<C>;
  open.longerIdle = open.shorterIdle = open;
  return open;
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
