/**
 * Node's HTTP server: bounds on sockets, headers and time, the checks of a request's head that
 * Node's parser doesn't make, and its shutdown. `node-exchange.ts` makes an exchange of each
 * request.
 */

import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import type { TLSSocket, TlsOptions } from "node:tls";
import { beginsPerTurn, endsPerTurn } from "../../shared/bounds.js";
import { type Failure, invalid, plainFailure } from "../../shared/error-code.js";
import { createThrottledEnds, createThrottledQueue } from "../../shared/throttled-queue.js";
import type { ConnectionRoom } from "../capacity/connection-room.js";
import type { MemoryLedger } from "../capacity/memory-ledger.js";
import { type DrainTimes, ServerDrain } from "./drain/drain-server.js";
import { Lingering, type LingeringBounds } from "./drain/lingering.js";
import type { ClientTls, Exchange } from "./exchange.js";
import { IncomingRequest } from "./incoming-request.js";
import { createRequestIds, LastRequests, NodeExchange } from "./node-exchange.js";
import {
  answeredBehind,
  answerOn,
  continueWhenRead,
  headerBytesMax,
  isAnswering,
  refuseUnreadable,
} from "./refuse-unreadable.js";
import { replyFailure } from "./respond.js";
import type { TlsFiles } from "./tls-files.js";
import { createUpgradeExchange } from "./upgrade-exchange.js";
import { isHandshake } from "./web-socket-handshake.js";

interface ListenerOptions {
  /** An address, or a listening socket that a supervisor hands over. */
  readonly listen: { readonly host: string; readonly port: number } | { readonly fd: number };
  /** Tracks open connections and running requests. */
  readonly connections: ConnectionRoom<Socket>;
  /** The ledger for the memory of its requests. */
  readonly memory: MemoryLedger;
  /** Clients that read nothing of their response for this long are disconnected. */
  readonly stalledClientMs: number;
  /** How long a client may take to send its request; the defaults are below. */
  readonly timeouts?: ListenerTimeouts;
  /** Bounds for connections that end while their client still sends; default `lingeringBounds`. */
  readonly lingering?: LingeringBounds;
  /** Null for plain HTTP. */
  readonly tls?: ListenerTls | null;
  /** Handles one request, and its own exceptions. */
  readonly handle: (exchange: Exchange) => void;
}

export interface ListenerTls {
  readonly files: TlsFiles;
  /** Whether each client needs a certificate of the configured authorities. */
  readonly needsCertificate: boolean;
  /** The user path of a client certificate; null if it gives none. */
  pathOf(certificate: ReturnType<TLSSocket["getPeerCertificate"]>): string | null;
}

export interface HttpListener {
  /** The address that it listens at, with the port that was bound. */
  readonly url: string;
  /** The host of that address; a path for a Unix socket. */
  readonly host: string;
  /**
   * Stops accepting, waits for requests, then cuts them. Resolves when all are notified. A second
   * call may shorten the wait.
   */
  close(times: DrainTimes): Promise<void>;
}

/**
 * A request's head and body must be complete by then, so that slow clients don't hold sockets.
 * `everyMs`: the interval of the check.
 */
interface ListenerTimeouts {
  readonly headersMs: number;
  readonly requestMs: number;
  readonly everyMs: number;
}

const defaultTimeouts: ListenerTimeouts = {
  headersMs: 30_000,
  requestMs: 300_000,
  everyMs: 30_000,
};
/** Longer than the usual idle time of load balancers, so that they close first. */
const keepAliveMs = 75_000;

/**
 * Connections that the kernel queues while the process is busy; beyond this it resets new ones.
 * Node's default is 511, which 300 short requests a second fill in less than two seconds. The
 * kernel has its own maximum, `net.core.somaxconn`.
 */
const waitingConnectionsMax = 4096;

/** The methods of all endpoints. */
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** The following bytes may be a WebSocket's frames rather than a request. */
const tooEarly = invalid("a WebSocket can't be opened before earlier requests are answered");
const unknownExpectation = plainFailure(
  417,
  "invalid_request_error",
  "Expect: only 100-continue is supported",
);

export async function listenHttp(options: ListenerOptions): Promise<HttpListener> {
  const throttled = createThrottledQueue((run) => void setImmediate(run), endsPerTurn);
  const throttledBegins = createThrottledEnds((run) => void setImmediate(run), beginsPerTurn);
  const cutByStop = new WeakSet<Socket>();
  const upgrades = new WeakMap<Socket, NodeExchange>();
  const lingering = new Lingering(options.lingering);
  const lastRequests = new LastRequests();
  const closings = new SocketClosings();
  const { connections, memory, stalledClientMs } = options;
  const context = {
    idsOf: createRequestIds(),
    stalledClientMs,
    memory,
    throttled,
    cutByStop,
    lingering,
    lastRequests,
    tlsOf: (socket: Socket) => tlsConnections.get(socket) ?? null,
    isLastOn: (socket: Socket) =>
      (drain.hasBegun || lastRequests.isComplete(socket)) && connections.runningOn(socket) <= 1,
  };
  const { headersMs, requestMs, everyMs } = options.timeouts ?? defaultTimeouts;
  const exchangeOf = (request: IncomingMessage, response: ServedResponse): NodeExchange => {
    const socket = request.socket as Socket;
    connections.began(socket);
    if (drain.hasBegun) {
      response.setHeader("connection", "close");
      lastRequests.add(request);
    }
    const exchange = new NodeExchange(request, response, context);
    response.exchange = exchange;
    // `on` is enough: Node emits the event once.
    response.on("close", () => {
      connections.onRequestEnd(socket);
      exchange.onClosed();
      // The head may have been sent before this was known to be the last request, without
      // `connection: close`: so the connection is ended here.
      const isOver = lastRequests.isComplete(socket) && connections.runningOn(socket) === 0;
      // `destroySoon` adds a listener to a destroyed socket with each call.
      if (isOver && !socket.destroyed) socket.destroySoon();
    });
    // A response queued behind another one on its connection has no socket yet, and may end with
    // the connection, without an event of its own.
    if (response.socket === null) {
      const closed = (): void => exchange.onClosed();
      closings.on(socket, closed);
      response.on("close", () => closings.off(socket, closed));
    }
    return exchange;
  };
  const refuse = (request: IncomingMessage, response: ServedResponse, failure: Failure): void =>
    replyFailure(exchangeOf(request, response), "model", failure, ["connection", "close"]);
  const serve = (request: ServedRequest, response: ServedResponse): void => {
    if (lastRequests.dropIfAfterLast(request)) return;
    const problem = checkHead(request);
    if (problem !== null) return refuse(request, response, problem);
    if (request.isTooEarly) return refuse(request, response, tooEarly);
    if (request.url === "*")
      return exchangeOf(request, response).reply(204, ["allow", methods.join(", ")], "", "latin1");
    const exchange = exchangeOf(request, response);
    // With this few requests there is no burst to spread over turns.
    if (connections.requests <= beginsPerTurn) options.handle(exchange);
    else throttledBegins(() => options.handle(exchange));
  };
  const httpOptions = {
    IncomingMessage: ServedRequest,
    ServerResponse: ServedResponse,
    // Node itself would answer a request without Host with a bare 400.
    requireHostHeader: false,
    maxHeaderSize: headerBytesMax,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: everyMs,
    keepAliveTimeout: keepAliveMs,
    noDelay: true,
  };
  const tls = options.tls ?? null;
  const server: Server<typeof ServedRequest, typeof ServedResponse> =
    tls === null
      ? createServer(httpOptions, serve)
      : createServerWithTls(tls, { ...httpOptions, handshakeTimeout: headersMs }, serve);
  const drain = new ServerDrain(server, {
    connections,
    lingering,
    cut(socket) {
      if (socket.destroyed) return;
      // The next call, 100 ms later, cuts what got an error.
      const isFirst = !cutByStop.has(socket);
      cutByStop.add(socket);
      const response = answerOn(socket);
      const exchange =
        response instanceof ServedResponse ? response.exchange : upgrades.get(socket);
      if (!isFirst || exchange?.endByStop() !== true) socket.destroy();
    },
  });
  server.on("checkContinue", (request, response) => {
    if (lastRequests.dropIfAfterLast(request)) return;
    if (request.headers.expect?.trim().toLowerCase() !== "100-continue")
      return refuse(request, response, unknownExpectation);
    continueWhenRead(request, response);
    serve(request, response);
  });
  server.on("checkExpectation", (request, response) => {
    if (lastRequests.dropIfAfterLast(request)) return;
    refuse(request, response, unknownExpectation);
  });
  // From here on Node no longer reads the socket.
  server.on("upgrade", (request, socket, head) => {
    if (lastRequests.dropIfAfterLast(request)) return void socket.resume();
    // An upgraded request runs as long as its socket is open.
    connections.began(socket as Socket);
    const exchange = createUpgradeExchange(request, socket as Socket, head, context);
    upgrades.set(socket as Socket, exchange);
    socket.once("close", () => exchange.memory.onResponseEnd());
    options.handle(exchange);
  });
  const onClosed = function (this: Socket): void {
    connections.onGone(this);
  };
  const bareSocketOf = tls === null ? null : countHandshakes(server, connections, onClosed);
  server.on("clientError", (error, client) => {
    const socket = client as Socket;
    if (bareSocketOf !== null && !tlsConnections.has(socket)) {
      // Without a handshake, only a client that speaks plain HTTP understands an answer. Node
      // leaves closing to this handler.
      const isPlain = (error as NodeJS.ErrnoException).code === "ERR_SSL_HTTP_REQUEST";
      const bare = isPlain ? bareSocketOf(socket) : undefined;
      if (bare === undefined) socket.destroy();
      else refuseUnreadable(error, bare, lingering);
      return;
    }
    const answered = answeredBehind(socket);
    if (answered === null && !lastRequests.isComplete(socket))
      return refuseUnreadable(error, socket, lingering);
    if (answered !== null) lastRequests.add(answered);
    // The client has left, which Node doesn't notice while it can't read.
    if (socket.readableEnded) socket.end();
  });
  server.on("connection", (socket) => {
    socket.once("close", onClosed);
    connections.onOpen(socket);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    // As an option, the backlog would be ignored for an inherited socket.
    server.listen(options.listen, waitingConnectionsMax, () => {
      server.off("error", reject);
      // A connection that can't be accepted, such as for lack of a file descriptor, fails for its
      // client; `capacity/open-files.ts` reports the lack.
      server.on("error", () => {});
      resolve();
    });
  });
  const address = server.address();
  return {
    url: urlOf(address, tls === null ? "http" : "https"),
    host: typeof address === "object" && address !== null ? address.address : String(address),
    close: (times) => drain.end(times).then(() => new Promise(throttled)),
  };
}

/**
 * Node passes every upgrade, with the bare socket, to a server that listens to them, even those
 * that it may ignore: the Java client asks each server for h2c first. Node decides by this
 * property.
 */
class ServedRequest extends IncomingRequest {
  declare wantsUpgrade: boolean | null;
  declare isTooEarly: boolean;

  get upgrade(): boolean | null {
    if (this.wantsUpgrade !== true) return this.wantsUpgrade;
    // A request with an invalid head is refused in order, with a response like any other.
    if (checkHead(this) !== null) return false;
    if (!isHandshake(this.method, this.url, (name) => this.headers[name] as string | undefined))
      return false;
    // Pipelined behind requests whose responses still own the socket: it is refused in order.
    this.isTooEarly = isAnswering(this.socket);
    return !this.isTooEarly;
  }

  set upgrade(wants: boolean | null) {
    this.wantsUpgrade = wants;
  }
}

/** With its exchange. */
class ServedResponse<
  Request extends IncomingMessage = IncomingMessage,
> extends ServerResponse<Request> {
  exchange: NodeExchange | null = null;
}

function createServerWithTls(
  { files, needsCertificate, pathOf }: ListenerTls,
  options: ServerOptions<typeof ServedRequest, typeof ServedResponse> & TlsOptions,
  serve: (request: ServedRequest, response: ServedResponse) => void,
): Server<typeof ServedRequest, typeof ServedResponse> {
  const server = createTlsServer<typeof ServedRequest, typeof ServedResponse>(
    { ...options, ...files.context, requestCert: needsCertificate, rejectUnauthorized: true },
    serve,
  );
  files.onRenewed((context) => server.setSecureContext(context));
  server.on("secureConnection", (socket) => {
    const userPath = needsCertificate ? pathOf(socket.getPeerCertificate()) : null;
    tlsConnections.set(socket, { userPath });
  });
  return server;
}

const tlsConnections = new WeakMap<Socket, ClientTls>();

/**
 * Counts a TLS connection from its first byte: as the bare socket until the handshake ends, then as
 * the TLS socket that its requests have. Returns what finds the bare socket before that.
 */
function countHandshakes(
  server: Server<typeof ServedRequest, typeof ServedResponse>,
  connections: ConnectionRoom<Socket>,
  onClosed: (this: Socket) => void,
): (tls: Socket) => Socket | undefined {
  const bare = new Map<string, Socket>();
  const peerOf = ({ remoteAddress, remotePort, localPort }: Socket): string =>
    `${remoteAddress} ${remotePort} ${localPort}`;
  server.on("connection", (socket) => {
    const peer = peerOf(socket);
    bare.set(peer, socket);
    socket.once("close", () => {
      if (bare.get(peer) === socket) bare.delete(peer);
    });
  });
  server.on("secureConnection", (socket: TLSSocket) => {
    const peer = peerOf(socket);
    const before = bare.get(peer);
    bare.delete(peer);
    if (before !== undefined) connections.onGone(before);
    socket.once("close", onClosed);
    connections.onOpen(socket);
  });
  return (tls) => bare.get(peerOf(tls));
}

function urlOf(address: ReturnType<Server["address"]>, scheme: "http" | "https"): string {
  if (address === null || typeof address === "string") return String(address);
  const host = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return `${scheme}://${host}:${address.port}`;
}

class SocketClosings {
  readonly #waiting = new WeakMap<Socket, Set<() => void>>();

  /**
   * Runs `run` once when the socket closes, with one listener per socket: a client may pipeline
   * hundreds of requests.
   */
  on(socket: Socket, run: () => void): void {
    let waiting = this.#waiting.get(socket);
    if (waiting === undefined) {
      waiting = new Set();
      this.#waiting.set(socket, waiting);
      socket.once("close", () => {
        for (const run of this.#waiting.get(socket) ?? []) run();
        this.#waiting.delete(socket);
      });
    }
    waiting.add(run);
  }

  off(socket: Socket, run: () => void): void {
    this.#waiting.get(socket)?.delete(run);
  }
}

// The checks of RFC 9112 on the head of a request: its version, its target, one Host, and a body
// whose end all recipients agree on.

type Head = Pick<IncomingMessage, "method" | "url" | "httpVersion" | "headers" | "rawHeaders">;

/** A name or an address, optionally with a port (RFC 9110 section 7.2). */
const validHost = /^(?:[\w.~!$&'()*+;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i;

/** A target with an authority, as clients send it to proxies (RFC 9112 section 3.2.2). */
const absoluteTarget = /^https?:\/\/([^/?#]*)(.*)$/is;

/**
 * Why a request is refused by its head; null if it isn't. An absolute target is replaced by its
 * path, and its authority replaces the Host.
 */
function checkHead(request: Head): Failure | null {
  const { httpVersion, headers, rawHeaders, url = "" } = request;
  const isOld = httpVersion === "1.0";
  if (!isOld && httpVersion !== "1.1")
    return plainFailure(505, "invalid_request_error", "only HTTP/1.1 and HTTP/1.0 are understood");
  if (request.method === "CONNECT")
    return plainFailure(
      501,
      "invalid_request_error",
      "CONNECT is not offered: this is a gateway to models, not a proxy for any address",
    );
  const { host } = headers;
  if (host === undefined) {
    if (!isOld) return invalid("the Host header is required", "Host");
  } else if (isRepeated(rawHeaders, "host"))
    return invalid("the Host header is given more than once", "Host");
  else if (!validHost.test(host)) return invalid("the Host header must be a host", "Host");
  const coding = headers["transfer-encoding"];
  if (coding !== undefined) {
    if (isOld) return invalid("HTTP/1.0 has no Transfer-Encoding", "Transfer-Encoding");
    if (coding.trim().toLowerCase() !== "chunked")
      return plainFailure(
        501,
        "invalid_request_error",
        `the transfer coding ${JSON.stringify(coding.slice(0, 64))} is not supported`,
      );
  }
  return url.charCodeAt(0) === 0x2f ? null : checkTarget(request, url);
}

function checkTarget(request: Head, url: string): Failure | null {
  const [, authority, rest = ""] = absoluteTarget.exec(url) ?? [];
  if (authority !== undefined) {
    if (authority === "" || !validHost.test(authority))
      return invalid("the target of the request must name a host, without credentials");
    request.headers.host = authority;
    if (rest !== "" || request.method !== "OPTIONS") {
      request.url = rest.startsWith("/") ? rest : `/${rest}`;
      return null;
    }
    request.url = "*";
  }
  return request.url !== "*" || request.method === "OPTIONS"
    ? null
    : invalid("the target * is for OPTIONS alone");
}

function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const raw = rawHeaders[i]!;
    if (raw.length === name.length && raw.toLowerCase() === name) count++;
  }
  return count > 1;
}
