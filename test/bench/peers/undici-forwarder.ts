/**
 * A peer of the HTTP part, a process of its own: the simplest correct forwarder on
 * `undici.dispatch`. It holds the request body, as any gateway that reads the model from it must,
 * and honours back-pressure and aborts. It decides nothing.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Dispatcher, Pool } from "undici";
import { announceReady } from "../measure/job-channel.js";

const [, , upstream = ""] = process.argv;
// No stream of a burst waits for another one.
const pool = new Pool(upstream, { connections: 4096, pipelining: 1 });
/** What belongs to one connection and isn't handed on (RFC 9110, section 7.6.1). */
const hopByHop = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "host",
  "expect",
]);

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () =>
    forward(request, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks), response),
  );
});

function forward(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
  let controller: Dispatcher.DispatchController | null = null;
  response.on("close", () => {
    if (!response.writableFinished) controller?.abort(new Error("the client went away"));
  });
  response.on("drain", () => controller?.resume());
  pool.dispatch(
    {
      path: request.url ?? "/",
      method: (request.method ?? "GET") as Dispatcher.HttpMethod,
      headers: endToEnd(request.headers),
      body,
    },
    {
      onRequestStart(started) {
        controller = started;
      },
      onResponseStart(_controller, status, headers) {
        response.writeHead(status, endToEnd(headers));
      },
      onResponseData(started, chunk) {
        if (!response.write(chunk)) started.pause();
      },
      onResponseEnd() {
        response.end();
      },
      onResponseError() {
        if (response.headersSent) response.destroy();
        else response.writeHead(502).end();
      },
    },
  );
}

function endToEnd(headers: NodeJS.Dict<string | string[]>): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined && !hopByHop.has(name)) kept[name] = value;
  }
  return kept;
}

// By default 511 connections may wait to be accepted, and later ones try again after a second.
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () =>
  announceReady(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
);
