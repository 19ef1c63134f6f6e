/**
 * Connections that end with an answer: what follows the request that gets it is no request (RFC
 * 9112 section 9.6). It would be served, with no way to answer it.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

export class LastRequests {
  readonly #bySocket = new WeakMap<Socket, IncomingMessage>();

  /** The answer to this request says, or will say, that its connection ends. */
  add(request: IncomingMessage): void {
    this.#bySocket.set(request.socket, request);
  }

  /** Whether what looks like a request follows such a one. Its body is dropped then. */
  drops(request: IncomingMessage): boolean {
    if (!this.#bySocket.has(request.socket)) return false;
    request.resume();
    return true;
  }

  /** Whether such a request has come to its end: what can't be read then follows it. */
  isComplete(socket: Socket): boolean {
    return this.#bySocket.get(socket)?.complete === true;
  }
}
