/**
 * Node's HTTP server as exchanges: bounds on sockets, headers and time, request ids, the reading of
 * bodies and the writing of responses. It decides nothing about a request.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { BodyResult, Exchange } from "./exchange.js";
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

/** What is read of a body that is refused. */
const discardedBytesMax = 64 * 1024 * 1024;
const discardMs = 500;
/** What may wait for a client that has its whole response: the operating system takes as much off our hands. A timer for every small reply would cost more than it saves. */
const unreadBytesMax = 64 * 1024;
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

class NodeExchange implements Exchange {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly rawHeaders: readonly string[];
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #stalledClientMs: number;
  readonly #socket: Socket;
  #onClose: (() => void) | null = null;
  #onGone: () => void = () => {};
  #stalled: NodeJS.Timeout | null = null;
  #drain: (() => void) | null = null;

  constructor(request: IncomingMessage, response: ServerResponse, idOf: (given: unknown) => string, stalledClientMs: number) {
    this.#request = request;
    this.#response = response;
    this.#stalledClientMs = stalledClientMs;
    this.#socket = request.socket;
    this.id = idOf(request.headers["x-request-id"]);
    this.method = request.method ?? "GET";
    const url = request.url ?? "/";
    const query = url.indexOf("?");
    this.path = query === -1 ? url : url.slice(0, query);
    this.query = query === -1 ? "" : url.slice(query + 1);
    this.rawHeaders = request.rawHeaders;
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  isRepeated(name: string): boolean {
    let times = 0;
    for (let i = 0; i < this.rawHeaders.length; i += 2) if (this.rawHeaders[i]!.toLowerCase() === name) times++;
    return times > 1;
  }

  readBody(bytesMax: number): Promise<BodyResult> {
    return new Promise((resolve) => {
      const request = this.#request;
      if (Number(request.headers["content-length"] ?? 0) > bytesMax) return resolve(this.#tooLarge());
      const chunks: Buffer[] = [];
      let bytes = 0;
      request.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > bytesMax) {
          request.removeAllListeners("data");
          resolve(this.#tooLarge());
        } else chunks.push(chunk);
      });
      request.on("end", () => resolve({ ok: true, bytes: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes) }));
      request.on("close", () => resolve({ ok: false, reason: "gone" }));
    });
  }

  /**
   * The connection ends with the answer, but not before a client that writes all before it reads had its
   * chance: a reset would take the answer with it. What comes meanwhile is thrown away, not without end.
   */
  #tooLarge(): Promise<BodyResult> {
    const request = this.#request;
    this.#response.setHeader("connection", "close");
    return new Promise((resolve) => {
      let discarded = 0;
      const done = (): void => {
        clearTimeout(timer);
        resolve({ ok: false, reason: "too_large" });
      };
      const timer = setTimeout(done, discardMs);
      request.on("end", done);
      request.on("close", done);
      request.on("data", (chunk: Buffer) => {
        discarded += chunk.length;
        if (discarded > discardedBytesMax) done();
      });
    });
  }

  get gone(): boolean {
    return this.#socket.destroyed || this.#response.destroyed;
  }

  /** A response that waits behind another on its connection has no socket yet and hears of nothing: then the socket itself is asked. */
  onGone(run: () => void): void {
    this.#onGone = run;
    if (this.#onClose !== null) return;
    const onClose = (): void => {
      if (this.#onClose === null) return;
      this.#onClose = null;
      if (this.#stalled !== null) clearTimeout(this.#stalled);
      this.#onGone();
    };
    this.#onClose = onClose;
    if (this.#response.socket === null) this.#socket.on("close", onClose);
    else this.#response.on("close", onClose);
  }

  /** The response is whole: what becomes of the socket is no longer this request's affair. */
  #leaveSocket(): void {
    if (this.#onClose !== null) this.#socket.off("close", this.#onClose);
    this.#onClose = null;
    if (this.#stalled !== null) clearTimeout(this.#stalled);
    this.#stalled = null;
    if (this.#response.writableLength <= unreadBytesMax || this.#response.socket === null) return;
    // What is left lies in our memory until the client reads it.
    const timer = setTimeout(() => this.#socket.destroy(), this.#stalledClientMs);
    const forget = (): void => clearTimeout(timer);
    this.#response.once("close", forget);
  }

  get begun(): boolean {
    return this.#response.headersSent;
  }

  begin(status: number, headers: readonly string[]): void {
    // A write to a socket that the client has closed; "close" says all there is to say of it.
    this.#response.on("error", () => {});
    this.#response.writeHead(status, headers as string[]);
    // A stream's head must not wait for its first byte; when that came in the same turn, they leave together.
    setImmediate(() => {
      if (!this.#response.destroyed) this.#response.flushHeaders();
    });
  }

  write(chunk: Buffer): boolean {
    if (this.#response.write(chunk)) return true;
    this.#stalled ??= setTimeout(() => this.cut(), this.#stalledClientMs);
    return false;
  }

  onDrain(run: () => void): void {
    if (this.#drain !== null) return;
    this.#drain = run;
    this.#response.once("drain", () => {
      if (this.#stalled !== null) clearTimeout(this.#stalled);
      this.#stalled = null;
      this.#drain = null;
      run();
    });
  }

  end(): void {
    this.#response.end();
    this.#leaveSocket();
  }

  reply(status: number, headers: readonly string[], body: string, encoding: "latin1" | "utf8"): void {
    if (this.gone) return;
    const bytes = encoding === "latin1" ? body.length : Buffer.byteLength(body);
    this.#response.writeHead(status, status === 204 ? (headers as string[]) : [...headers, "content-length", String(bytes)]);
    if (this.method === "HEAD") this.#response.end();
    else this.#response.end(body, encoding);
    this.#leaveSocket();
  }

  cut(): void {
    this.#socket.destroy();
  }
}
