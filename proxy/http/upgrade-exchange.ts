/**
 * The handshake of a WebSocket as an exchange: any answer is a refusal and ends the connection; a
 * tunnel takes the socket over.
 */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { earlyBytesMax } from "../../shared/bounds.js";
import { ByteBuffer } from "../../shared/byte-buffer.js";
import type { ClientSocket } from "./exchange.js";
import { type ExchangeContext, NodeExchange } from "./node-exchange.js";

/**
 * `head`: the bytes that have arrived after the request. Errors of the socket are ignored here: its
 * tunnel handles them.
 */
export function createUpgradeExchange(
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
  context: ExchangeContext,
): NodeExchange {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.once("finish", () => {
    response.detachSocket(socket);
    socket.destroySoon();
  });
  socket.on("error", () => {});
  const waiting = new WaitingSocket(socket, response, head);
  const exchange = new NodeExchange(request, response, context, waiting);
  response.once("close", () => exchange.onClosed());
  return exchange;
}

/**
 * A socket whose tunnel isn't open yet. This class reads it, to notice when the client disconnects.
 */
class WaitingSocket implements ClientSocket {
  readonly socket: Socket;
  readonly #response: ServerResponse;
  readonly #early = new ByteBuffer();

  constructor(socket: Socket, response: ServerResponse, head: Buffer) {
    this.socket = socket;
    this.#response = response;
    this.#early.append(head);
    socket.on("data", this.#onData);
    socket.on("end", this.#onEnd);
  }

  #onData = (chunk: Buffer): void => {
    this.#early.append(chunk);
    if (this.#early.length > earlyBytesMax) this.socket.pause();
  };

  #onEnd = (): void => {
    this.socket.destroy();
  };

  takeOver(): void {
    this.socket.off("data", this.#onData);
    this.socket.off("end", this.#onEnd);
    this.#response.detachSocket(this.socket);
    // Paused, so that nothing flows before the tunnel listens; piping it resumes it.
    this.socket.pause();
    if (this.#early.length > 0) this.socket.unshift(this.#early.take());
  }
}
