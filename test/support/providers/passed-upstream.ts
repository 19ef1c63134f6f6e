/**
 * A provider for what passes as it is: a real server that shows each request as it came, and does
 * with it what a test says.
 */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";

export interface Seen {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** All of it; rejects when it is cut. */
  readonly body: Promise<string>;
  /**
   * Resolved when the connection, or the response, is closed from the other side before its end.
   */
  readonly abandoned: Promise<void>;
}

export interface SeenUpgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

export interface PassedUpstream {
  readonly origin: string;
  readonly seen: Seen[];
  /** How many connections were made. */
  connections(): number;
  answer: (seen: Seen) => void;
  upgrade: (seen: SeenUpgrade) => void;
  /** The next request, as soon as its head is there. */
  next(): Promise<Seen>;
  close(): Promise<void>;
}

export function replyJson(seen: Seen, value: unknown, headers: Record<string, string> = {}): void {
  seen.response
    .writeHead(200, { "content-type": "application/json", ...headers })
    .end(JSON.stringify(value));
}

/** It answers `{}` once the body is there, and refuses upgrades, until told otherwise. */
export async function startPassedUpstream(): Promise<PassedUpstream> {
  const waiting: ((seen: Seen) => void)[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    // Asked for by every proxy at its start, if its models aren't configured.
    const body = readAll(request);
    body.catch(() => {});
    const abandoned = new Promise<void>((resolve) =>
      response.on("close", () => void (response.writableEnded || resolve())),
    );
    const seen: Seen = { request, response, body, abandoned };
    upstream.seen.push(seen);
    upstream.answer(seen);
    for (const resolve of waiting.splice(0)) resolve(seen);
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
  const upstream: PassedUpstream = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: [],
    connections: () => connections,
    answer: (seen) =>
      void seen.body.then(
        () => replyJson(seen, {}),
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
