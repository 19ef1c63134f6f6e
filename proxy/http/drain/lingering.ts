/**
 * Ends connections whose client is still sending a request that was answered early or couldn't be
 * read. An immediate close would reset the connection when more bytes arrive, and many clients
 * would report the reset instead of the answer. So this ends only the sending half, and for a while
 * reads and drops the rest (RFC 9112 section 9.6).
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** The bytes are dropped, so these bound time and transfer, not memory. */
export interface LingeringBounds {
  readonly bytesMax: number;
  readonly ms: number;
  /** Connections that linger at a time; further ones are closed immediately. */
  readonly connectionsMax: number;
}

/** Twice the largest body by default; an upload of 30 MiB at 25 Mbit/s. */
export const lingeringBounds: LingeringBounds = {
  bytesMax: 64 * 1024 * 1024,
  ms: 10_000,
  connectionsMax: 256,
};
/** Node itself reads the rest of a shorter body before the next request on the connection. */
const shortBodyBytes = 64 * 1024;
/** Interval of the checks of time and bytes. */
const everyMs = 50;

export class Lingering {
  readonly #bounds: LingeringBounds;
  readonly #sockets = new Set<Socket>();

  constructor(bounds: LingeringBounds = lingeringBounds) {
    this.#bounds = bounds;
  }

  has(socket: Socket): boolean {
    return this.#sockets.has(socket);
  }

  /**
   * Closes the connections whose answer is sent completely; others must finish sending first. Call
   * it again until none is left.
   */
  end(): void {
    for (const socket of this.#sockets) endIfSent(socket);
  }

  /**
   * Call it before the last response of a connection ends, if its request is incomplete: Node then
   * calls `destroySoon`, which lingers instead.
   */
  afterAnswer(request: IncomingMessage, socket: Socket): void {
    const close = socket.destroySoon.bind(socket);
    socket.destroySoon = () => {
      socket.destroySoon = close;
      if (request.complete) return close();
      request.once("end", close);
      // The iterator that read the body has stopped in the middle and would keep it paused.
      request.removeAllListeners("readable");
      // Without a listener, Node would pause the request again in the next tick.
      request.on("data", () => {}).resume();
      this.begin(socket);
    };
  }

  /**
   * Ends the sending half once all is sent; the connection ends with the client's half or at a
   * bound.
   */
  begin(socket: Socket): void {
    if (socket.destroyed || this.#sockets.size >= this.#bounds.connectionsMax)
      return socket.destroySoon();
    this.#sockets.add(socket);
    socket.end();
    const fromBytes = socket.bytesRead;
    const untilMonoMs = performance.now() + this.#bounds.ms;
    const timer = setInterval(() => {
      const isOver =
        performance.now() >= untilMonoMs || socket.bytesRead - fromBytes > this.#bounds.bytesMax;
      if (isOver) endIfSent(socket);
    }, everyMs);
    socket.once("close", () => {
      clearInterval(timer);
      this.#sockets.delete(socket);
    });
  }
}

/** Not `destroySoon`, which adds a listener to the socket with each call. */
function endIfSent(socket: Socket): void {
  if (socket.writableFinished) socket.destroy();
}

/**
 * Whether the rest of an incomplete request may be long, or may never come because the client waits
 * for `100 Continue`. `isBegun`: a part of the body was read, so that Node doesn't read the rest.
 */
export function leavesMuch(request: IncomingMessage, isBegun: boolean): boolean {
  const { "transfer-encoding": coding, "content-length": length, expect } = request.headers;
  const isLong = coding !== undefined || Number(length ?? 0) > shortBodyBytes;
  return isBegun || isLong || expect !== undefined;
}
