/**
 * The connections to one provider: a pool of kept-alive connections, and single connections for one
 * call each.
 */
import { performance } from "node:perf_hooks";
import { endsPerTurn } from "../../../shared/bounds.js";
import type { ProviderConfig } from "../../../shared/config/config.js";
import { createThrottledEnds } from "../../../shared/throttled-queue.js";
import type { Egress } from "../../egress/egress.js";
import {
  type CallBody,
  type CallHandler,
  Connection,
  type ConnectionOwner,
  type ConnectionUse,
  type WaitingCall,
} from "./connection.js";
import { createSocketOpener, type SocketOpener } from "./open-socket.js";
import { requestHead } from "./request-head.js";

export interface CallOptions {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: CallBody;
}

/** A connection is closed this long before the provider would close it. */
const closedEarlierMs = 2000;
/** The longest time for which a provider may keep a connection open. */
const keptMsMax = 600_000;

class PoolClosed extends Error {
  override name = "PoolClosed";
}

export class ConnectionPool implements ConnectionOwner {
  /** The host in the form of the Host header. */
  readonly host: string;
  readonly #max: number;
  readonly #keepAliveMs: number;
  readonly #opener: SocketOpener;
  readonly #throttledEnds = createThrottledEnds((run) => void setImmediate(run), endsPerTurn);
  readonly #open = new Set<Connection>();
  /** Idle connections; the one that was used last is at the end, and is used first. */
  readonly #idle: Connection[] = [];
  /** Kept connections that got a call in this turn of the event loop. */
  #reserved: Connection[] = [];
  readonly #waiting = new Set<WaitingCall>();
  readonly #alone = new Set<Connection>();
  #sweeper: NodeJS.Timeout | null = null;
  #onClosed: (() => void) | null = null;
  #isClosed = false;

  /** `replaceError`: replaces the error of a failed connection if the cause is another one. */
  constructor(
    { baseUrl, connectionsMax, connectTimeoutMs, keepAliveMs }: ProviderConfig,
    egress: Egress,
    replaceError: (error: Error) => Error,
  ) {
    const url = new URL(baseUrl);
    this.host = url.host;
    this.#max = connectionsMax;
    this.#keepAliveMs = keepAliveMs;
    this.#opener = createSocketOpener(url, egress, connectTimeoutMs, replaceError);
  }

  dispatch(options: CallOptions, call: CallHandler): void {
    const waiting = this.#prepare(options, call, "kept");
    if (waiting !== null) this.#place(waiting);
  }

  /** Opens a connection for this call, and closes it after the call. */
  dispatchAlone(options: CallOptions, call: CallHandler): void {
    const waiting = this.#prepare(options, call, "single");
    if (waiting === null) return;
    const connection = new Connection(this, "single");
    this.#alone.add(connection);
    connection.open(this.#opener, waiting, this.#throttledEnds);
  }

  #prepare(options: CallOptions, call: CallHandler, use: ConnectionUse): WaitingCall | null {
    const { method, body } = options;
    try {
      if (this.#isClosed) throw new PoolClosed("the connections are closed");
      const isLast = use === "single" || method === "HEAD";
      return { method, head: requestHead(options, this.host, isLast), body, call };
    } catch (error) {
      call.onError(error as Error);
      return null;
    }
  }

  #place(waiting: WaitingCall): void {
    const idle = this.#takeIdle();
    if (idle !== null) this.#reserve(idle, waiting);
    else if (this.#open.size < this.#max) {
      const connection = new Connection(this, "kept");
      this.#open.add(connection);
      connection.open(this.#opener, waiting, this.#throttledEnds);
    } else {
      this.#waiting.add(waiting);
      waiting.call.onQueued(() => this.#waiting.delete(waiting));
    }
  }

  #takeIdle(): Connection | null {
    if (this.#idle.length === 0) return null;
    const nowMs = performance.now();
    for (;;) {
      const idle = this.#idle.pop();
      if (idle === undefined) return null;
      const socket = idle.socket!;
      if (idle.isUsable && nowMs < idle.idleUntilMs) {
        socket.ref();
        return idle;
      }
      socket.destroy();
    }
  }

  /**
   * Sends the request after the event loop has read all that its sockets have received: the end of
   * the connection, which may have followed the last answer, or bytes that belong to no request,
   * which must not become the answer to this call.
   */
  #reserve(connection: Connection, waiting: WaitingCall): void {
    connection.reserve(waiting);
    this.#reserved.push(connection);
    if (this.#reserved.length > 1) return;
    setImmediate(() => {
      const reserved = this.#reserved;
      this.#reserved = [];
      setImmediate(() => this.#start(reserved));
    });
  }

  #start(reserved: readonly Connection[]): void {
    for (const connection of reserved) {
      const unsent = connection.start();
      if (unsent !== null && !this.#isClosed) this.#place(unsent);
      else unsent?.call.onError(new PoolClosed("the connections are closed"));
    }
  }

  onFree(connection: Connection): void {
    const keptMs = connection.keptAliveMs;
    const idleMs =
      keptMs === null ? this.#keepAliveMs : Math.min(keptMs - closedEarlierMs, keptMsMax);
    if (this.#isClosed || idleMs <= 0) return void connection.socket!.destroy();
    const waiting = this.#takeWaiting();
    if (waiting !== null) return this.#reserve(connection, waiting);
    connection.socket!.unref();
    connection.idleUntilMs = performance.now() + idleMs;
    this.#idle.push(connection);
    this.#sweeper ??= setInterval(() => this.#sweep(), this.#sweepMs()).unref();
  }

  #sweepMs(): number {
    return Math.min(1000, Math.max(10, this.#keepAliveMs / 8));
  }

  #sweep(): void {
    const nowMs = performance.now();
    for (const connection of this.#idle)
      if (connection.idleUntilMs <= nowMs) connection.socket!.destroy();
    if (this.#idle.length > 0 || this.#sweeper === null) return;
    clearInterval(this.#sweeper);
    this.#sweeper = null;
  }

  #takeWaiting(): WaitingCall | null {
    for (const waiting of this.#waiting) {
      this.#waiting.delete(waiting);
      return waiting;
    }
    return null;
  }

  onClosed(connection: Connection): void {
    if (this.#alone.delete(connection)) return this.#mayBeClosed();
    this.#open.delete(connection);
    const index = this.#idle.indexOf(connection);
    if (index !== -1) this.#idle.splice(index, 1);
    if (this.#isClosed) return this.#mayBeClosed();
    const waiting = this.#takeWaiting();
    if (waiting !== null) this.#place(waiting);
  }

  #mayBeClosed(): void {
    if (this.#open.size === 0 && this.#alone.size === 0) this.#onClosed?.();
  }

  /** Destroys all connections. */
  close(): Promise<void> {
    this.#isClosed = true;
    if (this.#sweeper !== null) clearInterval(this.#sweeper);
    for (let waiting = this.#takeWaiting(); waiting !== null; waiting = this.#takeWaiting())
      waiting.call.onError(new PoolClosed("the connections are closed"));
    return new Promise((resolve) => {
      this.#onClosed = resolve;
      for (const connection of [...this.#open, ...this.#alone]) connection.destroy();
      this.#mayBeClosed();
    });
  }
}
