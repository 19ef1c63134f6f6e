/**
 * Bounds the connections and requests of the proxy (docs/reference/bounds.md, "Connections"). A new
 * connection is always accepted: near the bound it evicts the longest idle one. So connections that
 * send nothing are closed first, and a probe of `/ready` gets its answer.
 *
 * Not here: sockets (`http/http-listener.ts`).
 */
import { connectionsReserveMax } from "../../shared/bounds.js";

interface Connection {
  destroy(): void;
}

/** An open connection. Idle ones form a ring, for insertion and removal without a search. */
interface Open<C> {
  /** Null for the sentinel of the ring. */
  readonly connection: C | null;
  /** The number of its running requests. */
  running: number;
  /** Its neighbours in the ring of idle connections; itself while it isn't idle. */
  longerIdle: Open<C>;
  shorterIdle: Open<C>;
}

export class ConnectionRoom<C extends Connection> {
  /**
   * The bound on running requests. Also the bound on connections: beyond it the longest idle one is
   * closed for each new one, as long as more than the reserve are idle.
   */
  readonly max: number;
  readonly #reserve: number;
  readonly #open = new Map<C, Open<C>>();
  /** The sentinel of the ring: the longest idle connection follows it, the last one precedes it. */
  readonly #idle = soleConnection<C>(null);
  #idleCount = 0;
  readonly #onFull: (() => void) | null;
  #requests = 0;

  /** `onFull` runs for each evicted connection and each request over the bound. */
  constructor(max: number, onFull: (() => void) | null = null) {
    this.max = max;
    this.#reserve = reserveOf(max);
    this.#onFull = onFull;
  }

  /** Whether a request that has begun exceeds the bound. */
  get isFull(): boolean {
    return this.#requests > this.max;
  }

  get requests(): number {
    return this.#requests;
  }

  /** The number of open connections. */
  get open(): number {
    return this.#open.size;
  }

  all(): Iterable<C> {
    return this.#open.keys();
  }

  /** The number of a connection's running requests. */
  runningOn(connection: C): number {
    return this.#open.get(connection)?.running ?? 0;
  }

  onOpen(connection: C): void {
    if (this.#open.has(connection)) return;
    const open = soleConnection(connection);
    this.#open.set(connection, open);
    this.#becomesIdle(open);
    // The reserve: a connection that is still idle survives this number of newer ones.
    if (this.#open.size > this.max && this.#idleCount > this.#reserve) this.closeIdle(1);
  }

  onGone(connection: C): void {
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

  onRequestEnd(connection: C): void {
    const open = this.#open.get(connection);
    if (open === undefined || open.running === 0) return;
    open.running--;
    if (open.running === 0) this.#becomesIdle(open);
    this.#requests--;
  }

  /** Closes the longest idle connections. */
  closeIdle(count: number): void {
    for (let remaining = count; remaining > 0; remaining--) {
      const { connection } = this.#idle.shorterIdle;
      if (connection === null) return;
      this.#onFull?.();
      this.onGone(connection);
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

function soleConnection<C>(connection: C | null): Open<C> {
  const open = { connection, running: 0 } as Open<C>;
  open.longerIdle = open.shorterIdle = open;
  return open;
}

/** The share of idle connections that stays open near the bound. */
function reserveOf(max: number): number {
  return Math.min(connectionsReserveMax, Math.max(4, Math.floor(max / 8)));
}

/** File descriptors of the process itself: event loop, log, daemon, running uploads. */
const ownFiles = 64;

/**
 * The connections that fit into this many file descriptors: a request needs one for its client and
 * one for its provider.
 */
export function connectionsWithin(filesMax: number, connectionsMax: number): number {
  let max = Math.max(1, Math.min(connectionsMax, Math.floor((filesMax - ownFiles) / 2)));
  while (max > 1 && 2 * max + reserveOf(max) + ownFiles > filesMax) max--;
  return max;
}
