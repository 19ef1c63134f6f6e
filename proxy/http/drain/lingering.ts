/**
 * The end of a connection whose client still sends what nobody wants: its request was answered
 * before it had come completely, or couldn't be read. Closed at once, the connection would be reset
 * by what still arrives, and many clients would report that in place of the answer. So only our
 * half is ended, and the rest is read and dropped for a while (RFC 9112 section 9.6).
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** Nothing is kept of what is read, so these bound time and transfer, not memory. */
export interface LingeringBounds {
  readonly bytesMax: number;
  readonly ms: number;
  /** Connections at once; others are closed at once. */
  readonly connectionsMax: number;
}

/** Twice the largest body by default; an upload of 30 MiB at 25 Mbit/s. */
export const lingeringBounds: LingeringBounds = {
  bytesMax: 64 * 1024 * 1024,
  ms: 10_000,
  connectionsMax: 256,
};
/** The rest of a shorter body is read by Node before the next request on the connection. */
const shortBodyBytes = 64 * 1024;
/** How often it is looked at how much has come. */
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
   * Ends those that have sent all: of an answer that its client still reads the rest comes first.
   * To be called again until none is left.
   */
  end(): void {
    for (const socket of this.#sockets) endIfSent(socket);
  }

  /**
   * To be called before the last response of a connection ends, whose request hasn't come to its
   * end: Node then calls `destroySoon`, which lingers instead.
   */
  afterAnswer(request: IncomingMessage, socket: Socket): void {
    const close = socket.destroySoon.bind(socket);
    socket.destroySoon = () => {
      socket.destroySoon = close;
      if (request.complete) return close();
      request.once("end", close);
      // The iterator that read it in pieces has stopped in the middle, and would keep it paused.
      request.removeAllListeners("readable");
      // Without a listener it would be paused again in the next tick.
      request.on("data", () => {}).resume();
      this.begin(socket);
    };
  }

  /** Ends our half once all is sent, and the connection with the client's half or at a bound. */
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

/** Not `destroySoon`, which listens once more to the socket each time that it is called. */
function endIfSent(socket: Socket): void {
  if (socket.writableFinished) socket.destroy();
}

/**
 * Whether a request hasn't come to its end, and what is missing may be long, or may never come, as
 * of a client that waits to be told to send it. `isBegun`: a part of its body was read, so that
 * Node doesn't read the rest.
 */
export function leavesMuch(request: IncomingMessage, isBegun: boolean): boolean {
  if (request.complete) return false;
  const { "transfer-encoding": coding, "content-length": length, expect } = request.headers;
  const isLong = coding !== undefined || Number(length ?? 0) > shortBodyBytes;
  return isBegun || isLong || expect !== undefined;
}
