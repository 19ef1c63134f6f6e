/**
 * A provider for requests that Sluice forwards unchanged: a real server that hands each request to
 * the test as it arrived, and answers as the test decides.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";

export interface ReceivedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The complete body; rejects when the request is cut off. */
  readonly body: Promise<string>;
  /** Resolved when the other side closes the connection before the response is complete. */
  readonly abandoned: Promise<void>;
}

export interface ReceivedUpgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

export interface PassthroughProvider {
  readonly origin: string;
  readonly received: ReceivedRequest[];
  /** How many connections were made. */
  connections(): number;
  answer: (received: ReceivedRequest) => void;
  upgrade: (received: ReceivedUpgrade) => void;
  /** Resolved with the next request, as soon as its head has arrived. */
  next(): Promise<ReceivedRequest>;
  close(): Promise<void>;
}

export function replyJson(
  received: ReceivedRequest,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  received.response
    .writeHead(200, { "content-type": "application/json", ...headers })
    .end(JSON.stringify(value));
}

/** Until a test sets `answer` or `upgrade`, it answers `{}` and refuses upgrades. */
export async function startPassthroughProvider(): Promise<PassthroughProvider> {
  const waiting: ((received: ReceivedRequest) => void)[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    // Tests that don't read the body must not fail when it is cut off.
    const body = readAll(request);
    body.catch(() => {});
    const abandoned = new Promise<void>((resolve) =>
      response.on("close", () => void (response.writableEnded || resolve())),
    );
    const received: ReceivedRequest = { request, response, body, abandoned };
    upstream.received.push(received);
    upstream.answer(received);
    for (const resolve of waiting.splice(0)) resolve(received);
  });
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    connections++;
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("upgrade", (request, socket, head) => {
    socket.on("error", () => {});
    upstream.upgrade({ request, socket, head });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const upstream: PassthroughProvider = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: [],
    connections: () => connections,
    answer: (received) =>
      void received.body.then(
        () => replyJson(received, {}),
        () => {},
      ),
    upgrade: ({ socket }) =>
      socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"),
    next: () => new Promise((resolve) => waiting.push(resolve)),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
  return upstream;
}

async function readAll(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString("latin1");
}
