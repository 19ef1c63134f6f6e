/**
 * Node's HTTP server: bounds on sockets, headers and time, and how it stops. It decides nothing about a
 * request, and what a request is stands in `node-exchange.ts`.
 */
import { createServer, type Server } from "node:http";
import type { Socket } from "node:net";
import type { Exchange } from "./exchange.js";
import { NodeExchange } from "./node-exchange.js";
import { headerBytesMax, refuseUnreadable } from "./refuse-unreadable.js";
import { createRequestIds } from "./request-id.js";

export interface ListenerOptions {
  /** An address, or a listening socket that a supervisor hands over. */
  readonly listen: { readonly host: string; readonly port: number } | { readonly fd: number };
  /** How long a client may leave a response unread before its connection is cut. */
  readonly stalledClientMs: number;
  /** Handles one request; must never reject. */
  readonly handle: (exchange: Exchange) => void;
}

export interface HttpListener {
  /** Where it listens, with the port that was really bound. */
  readonly url: string;
  /** Stops accepting, lets requests end for `graceMs`, then cuts them. */
  close(graceMs: number): Promise<void>;
}

/** A request's header must be whole by then, its body too: slow senders don't hold sockets. */
const headersTimeoutMs = 30_000;
const requestTimeoutMs = 300_000;
/** Longer than the usual idle time of load balancers, so that they close first. */
const keepAliveMs = 75_000;
const connectionsMax = 10_000;

export async function listenHttp(options: ListenerOptions): Promise<HttpListener> {
  let closing = false;
  const idOf = createRequestIds();
  const sockets = new Set<Socket>();
  const server = createServer({ maxHeaderSize: headerBytesMax, headersTimeout: headersTimeoutMs, requestTimeout: requestTimeoutMs, keepAliveTimeout: keepAliveMs, noDelay: true }, (request, response) => {
    if (closing) response.setHeader("connection", "close");
    options.handle(new NodeExchange(request, response, idOf, options.stalledClientMs));
  });
  server.maxConnections = connectionsMax;
  server.on("clientError", refuseUnreadable);
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.listen, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return {
    url: addressOf(server),
    close: (graceMs) => {
      closing = true;
      return closeServer(server, sockets, graceMs);
    },
  };
}

function addressOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === "string") return String(address);
  return `http://${address.family === "IPv6" ? `[${address.address}]` : address.address}:${address.port}`;
}

function closeServer(server: Server, sockets: ReadonlySet<Socket>, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), graceMs);
    const idle = setInterval(() => {
      server.closeIdleConnections();
      // One that never said anything isn't idle to Node but on the way to its first request: clients open them ahead.
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    }, 100);
    server.close(() => {
      clearTimeout(cut);
      clearInterval(idle);
      // The last sockets tell their requests of their end when this turn of the event loop closes.
      setImmediate(() => setImmediate(resolve));
    });
    server.closeIdleConnections();
  });
}
