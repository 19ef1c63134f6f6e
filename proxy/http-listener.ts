/**
 * Node's HTTP server as exchanges: bounds on sockets, headers and time, request ids, the reading of
 * bodies and the writing of responses. It decides nothing about a request.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { requestIdCharsMax } from "../shared/bounds.js";
import type { BodyResult, Exchange } from "./exchange.js";

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

/** Header bytes of a request: Node's own default, stated. */
const headerBytesMax = 16 * 1024;
/** A request's header must be whole by then, its body too: slow senders don't hold sockets. */
const headersTimeoutMs = 30_000;
const requestTimeoutMs = 300_000;
/** Longer than the usual idle time of load balancers, so that they close first. */
const keepAliveMs = 75_000;
const connectionsMax = 10_000;

export async function listenHttp(options: ListenerOptions): Promise<HttpListener> {
  let closing = false;
  const server = createServer({ maxHeaderSize: headerBytesMax, headersTimeout: headersTimeoutMs, requestTimeout: requestTimeoutMs, keepAliveTimeout: keepAliveMs, noDelay: true }, (request, response) => {
    if (closing) response.setHeader("connection", "close");
    options.handle(new NodeExchange(request, response, options.stalledClientMs));
  });
  server.maxConnections = connectionsMax;
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
      return closeServer(server, graceMs);
    },
  };
}

function addressOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === "string") return String(address);
  return `http://${address.family === "IPv6" ? `[${address.address}]` : address.address}:${address.port}`;
}

function closeServer(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), graceMs);
    const idle = setInterval(() => server.closeIdleConnections(), 100);
    server.close(() => {
      clearTimeout(cut);
      clearInterval(idle);
      resolve();
    });
    server.closeIdleConnections();
  });
}

const saneRequestId = new RegExp(`^[A-Za-z0-9._:/+=@-]{1,${requestIdCharsMax}}$`);

class NodeExchange implements Exchange {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly rawHeaders: readonly string[];
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #stalledClientMs: number;
  #stalled: NodeJS.Timeout | null = null;
  #drain: (() => void) | null = null;

  constructor(request: IncomingMessage, response: ServerResponse, stalledClientMs: number) {
    this.#request = request;
    this.#response = response;
    this.#stalledClientMs = stalledClientMs;
    const given = request.headers["x-request-id"];
    this.id = typeof given === "string" && saneRequestId.test(given) ? given : `req_${randomUUID()}`;
    this.method = request.method ?? "GET";
    const url = request.url ?? "/";
    const query = url.indexOf("?");
    this.path = query === -1 ? url : url.slice(0, query);
    this.rawHeaders = request.rawHeaders;
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
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

  /** The rest of the body isn't read: the connection ends with the answer. */
  #tooLarge(): BodyResult {
    this.#response.setHeader("connection", "close");
    return { ok: false, reason: "too_large" };
  }

  get gone(): boolean {
    return this.#response.destroyed || this.#response.errored != null;
  }

  onGone(run: () => void): void {
    this.#response.on("close", () => {
      if (this.#stalled !== null) clearTimeout(this.#stalled);
      if (!this.#response.writableEnded) run();
    });
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
  }

  reply(status: number, headers: readonly string[], body: string, encoding: "latin1" | "utf8"): void {
    if (this.#response.destroyed) return;
    const bytes = encoding === "latin1" ? body.length : Buffer.byteLength(body);
    this.#response.writeHead(status, [...headers, "content-length", String(bytes)]);
    if (this.method === "HEAD") this.#response.end();
    else this.#response.end(body, encoding);
  }

  cut(): void {
    this.#response.destroy();
  }
}
