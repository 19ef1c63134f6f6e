/**
 * The connections to one provider, made by undici: a pool that keeps them alive, and single
 * connections beside it. Only this file imports the package.
 */
import { createRequire } from "node:module";
import type { Socket } from "node:net";
import type * as undici from "undici";
import type { buildConnector, Dispatcher } from "undici";
import { endsPerTurn } from "../../../shared/bounds.js";
import type { ProviderConfig } from "../../../shared/config/config.js";
import { createThrottledEnds } from "../../../shared/throttled-queue.js";
import type { Egress } from "../../egress/egress.js";
import { openTunnel } from "../../egress/open-tunnel.js";

/**
 * Loads the parts of undici: the package's own index also loads its `fetch`, caches and WebSockets,
 * which costs four times the CPU at each start of a proxy, and 8 MB.
 */
const require = createRequire(import.meta.url);
const connectorOf = require("undici/lib/core/connect.js") as typeof undici.buildConnector;
const Client = require("undici/lib/dispatcher/client.js") as typeof undici.Client;
const Pool = require("undici/lib/dispatcher/pool.js") as typeof undici.Pool;

export type CallOptions = Pick<Dispatcher.DispatchOptions, "method" | "path" | "body"> & {
  readonly headers: string[];
};

/** The connection that a call uses. */
export interface CallConnection {
  readonly socket: Socket | null;
  /** An earlier call has used this socket. */
  isUsed: boolean;
  /** Nothing has arrived since the call began. */
  isSilent: boolean;
}

/**
 * The handler in the form that undici 7 uses internally. Its newer form wraps this one, and makes
 * an object of the headers and a controller for each request: a tenth of the proxy's CPU, although
 * Sluice needs flat headers. undici 8 has only the newer form.
 */
export interface CallHandler {
  connection: CallConnection | null;
  onConnect(abort: (error?: Error) => void): void;
  onBodySent(): void;
  onRequestSent(): void;
  onHeaders(status: number, rawHeaders: Buffer[], resume: () => void): boolean;
  onData(chunk: Buffer): boolean;
  onComplete(): void;
  onError(error: Error): void;
}

interface ConnectionPool {
  dispatch(options: CallOptions, call: CallHandler): void;
  /** Makes a connection for this call, and closes it after the call. */
  dispatchAlone(options: CallOptions, call: CallHandler): void;
  /** Destroys all connections. */
  close(): Promise<void>;
}

/** `replaceError`: replaces the error of a failed connection if the cause is another one. */
export function createConnectionPool(
  { baseUrl, connectionsMax, connectTimeoutMs, keepAliveMs }: ProviderConfig,
  egress: Egress,
  replaceError: (error: Error) => Error,
): ConnectionPool {
  const { origin } = new URL(baseUrl);
  const throttledEnds = createThrottledEnds((run) => void setImmediate(run), endsPerTurn);
  const options = {
    connect: connector(egress, connectTimeoutMs, replaceError),
    // `createDeadlines` enforces these two.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: keepAliveMs,
  };
  const pool = new Pool(origin, {
    ...options,
    factory: (to, given) => new Connection(to, given, throttledEnds),
    connections: connectionsMax,
  });
  const alone = new Set<Connection>();
  return {
    dispatch(request, call) {
      pool.dispatch(request, call);
    },
    dispatchAlone(request, call) {
      const connection = new Connection(origin, options, throttledEnds);
      alone.add(connection);
      connection.dispatch({ ...request, reset: true }, call);
      void connection.close().finally(() => alone.delete(connection));
    },
    async close() {
      await Promise.all([pool, ...alone].map((each) => each.destroy()));
    },
  };
}

function connector(
  { proxy, secureContext }: Egress,
  timeoutMs: number,
  replaceError: (error: Error) => Error,
): buildConnector.connector {
  const direct = connectorOf({
    timeout: timeoutMs,
    ...(secureContext === null ? {} : { secureContext }),
  });
  return (to, done) => {
    const connected: buildConnector.Callback = (error, socket) =>
      error === null ? done(null, socket!) : done(replaceError(error), null);
    if (proxy === null) return direct(to, connected);
    const isTls = to.protocol === "https:";
    const port = Number(to.port) || (isTls ? 443 : 80);
    openTunnel(
      { proxy, secureContext },
      { host: to.hostname, port, timeoutMs },
      (error, socket) => {
        if (error !== null) return connected(error, null);
        if (isTls) direct({ ...to, httpSocket: socket! }, connected);
        else connected(null, socket!);
      },
    );
  };
}

/**
 * A connection that hands itself to its call, so that aborting the call closes the socket. undici's
 * own abort closes it too, but keeps the request and connects again, only to find the request
 * aborted (nodejs/undici#5845): a handshake and an unused connection for each client that leaves.
 */
class Connection extends Client implements CallConnection {
  socket: Socket | null = null;
  isUsed = false;
  isSilent = true;

  constructor(origin: string | URL, options: object, throttledEnds: (run: () => void) => void) {
    const { connect, ...others } = options as { readonly connect: buildConnector.connector };
    super(origin, {
      ...others,
      connect: (to: buildConnector.Options, done: buildConnector.Callback) =>
        connect(to, (error, socket) => {
          this.socket = socket;
          this.isUsed = false;
          if (error !== null) return done(error, null);
          throttleSocketEnd(socket!, throttledEnds, () => {
            this.isSilent = false;
          });
          joinHeadAndBody(socket!);
          done(null, socket!);
        }),
    });
  }

  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    (handler as CallHandler).connection = this;
    return super.dispatch(options, handler);
  }
}

/** Node copies texts up to this length without an allocation: joining is cheaper than a write. */
const joinedBytesMax = 16 * 1024;

/** `how`: the encoding or the callback. */
type Write = (chunk: unknown, how?: unknown, done?: unknown) => boolean;

/**
 * Makes the socket send a head and its short body in one write, if both are written in one cork.
 */
export function joinHeadAndBody(socket: Socket): void {
  const write = socket.write.bind(socket) as Write;
  const uncork = socket.uncork.bind(socket);
  /** A written head that hasn't been passed on yet, because its cork is still open. */
  let head: string | null = null;
  const handOn = (): void => {
    const held = head;
    head = null;
    if (held !== null) write(held, "latin1");
  };
  socket.write = (chunk: unknown, how?: unknown, done?: unknown): boolean => {
    if (head !== null && how === undefined && done === undefined && isShort(chunk)) {
      const joined = head + chunk.toString("latin1");
      head = null;
      return write(joined, "latin1");
    }
    handOn();
    const mayBeHead = typeof chunk === "string" && how === "latin1" && done === undefined;
    if (!mayBeHead || socket.writableCorked === 0) return write(chunk, how, done);
    head = chunk;
    return true;
  };
  socket.uncork = (): void => {
    handOn();
    uncork();
  };
}

function isShort(chunk: unknown): chunk is Buffer {
  return Buffer.isBuffer(chunk) && chunk.length <= joinedBytesMax;
}

/**
 * Delays the socket's end until `throttledEnds` runs the callback. `onBytes` is called when bytes
 * have arrived.
 */
function throttleSocketEnd(
  socket: Socket,
  throttledEnds: (run: () => void) => void,
  onBytes: () => void,
): void {
  const push = socket.push.bind(socket);
  socket.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (chunk !== null) {
      onBytes();
      return push(chunk, encoding);
    }
    throttledEnds(() => {
      if (socket.destroyed) return;
      push(null);
      socket.read(0);
    });
    return false;
  };
}
