/**
 * A provider behind http-proxy: what passes as it is, and the tunnels of WebSockets.
 *
 * http-proxy is handed a stand-in for the client's request, which holds the filtered headers and
 * the body, and never the client's response: what comes back goes to a sink. So a client that
 * leaves ends the request to the provider, a provider that dies is told to the client, and
 * deadlines apply, none of which http-proxy does by itself. Connections are kept alive by an agent
 * per provider.
 */
import {
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import type HttpProxy from "http-proxy";
import type { ProviderConfig } from "../../../shared/config/config.js";
import { acceptIdentity } from "../../http/copy-headers.js";
import { createDeadlines, type Deadlines } from "../call-deadlines.js";
import { credentialHeadersAt } from "../credential-headers.js";
import type { UpstreamFailure } from "../errors/upstream-failure.js";
import { asUpstreamFailure } from "../errors/upstream-failure.js";
import type { Watched } from "../timeout-watch.js";
import type { RequestBody, UpstreamCall, UpstreamSink } from "../upstream.js";
import type { PassthroughRequest, PassthroughUpstream } from "./passthrough-upstream.js";
import { Tunnel } from "./tunnel.js";

/**
 * It takes `util._extend` along when it is loaded, and Node from 22 on warns of that at the first
 * request.
 */
function loadHttpProxy(): typeof HttpProxy {
  const require = createRequire(import.meta.url);
  const util = require("node:util") as { _extend: unknown };
  const deprecated = util._extend;
  util._extend = Object.assign;
  try {
    return require("http-proxy") as typeof HttpProxy;
  } finally {
    util._extend = deprecated;
  }
}

/**
 * As undici's pool: most servers close an idle connection later, and those that close earlier say
 * so.
 */
const idleConnectionMs = 30_000;
const idleConnectionsMax = 256;

export function createHttpProxyUpstream(provider: ProviderConfig): PassthroughUpstream {
  const base = new URL(provider.baseUrl);
  const hostname = base.hostname.replace(/^\[(.*)\]$/, "$1");
  const agent = new (base.protocol === "https:" ? HttpsAgent : HttpAgent)({
    keepAlive: true,
    maxSockets: provider.connectionsMax,
    maxFreeSockets: idleConnectionsMax,
    timeout: idleConnectionMs,
  });
  const deadlines = createDeadlines(provider);
  const opening = new WeakMap<object, (outgoing: ClientRequest) => void>();
  // The path goes out as it is handed in; the target is the configured one alone.
  const newServer = (): HttpProxy => {
    const server = loadHttpProxy().createProxyServer({
      target: {
        protocol: base.protocol,
        host: hostname,
        hostname,
        port: base.port,
      } as HttpProxy.ServerOptions["target"],
      toProxy: true,
      prependPath: false,
      selfHandleResponse: true,
    });
    server.on("proxyReq", (outgoing, request) => (request as StandIn).call.onConnection(outgoing));
    server.on("proxyRes", (answer, request) => (request as StandIn).call.onAnswer(answer));
    server.on("proxyReqWs", (outgoing, request) => opening.get(request)?.(outgoing));
    return server;
  };
  // Made when something passes for the first time: most proxies forward, and needn't hold the
  // package in memory.
  let made: HttpProxy | null = null;
  const server = (): HttpProxy => (made ??= newServer());
  const headersOf = (path: string, flat: readonly string[]): Record<string, string> =>
    headerObject([
      "host",
      base.host,
      ...acceptIdentity,
      ...flat,
      ...credentialHeadersAt(provider, path),
    ]);
  return {
    send(request: PassthroughRequest, sink: UpstreamSink): UpstreamCall {
      const call = new PassCall(sink, deadlines, provider);
      const standIn = call.standIn(
        request,
        headersOf(request.path, [...request.headers, ...framing(request.body)]),
      );
      // The stand-in has no method: http-proxy takes the body's length from a DELETE, and would
      // send what was a body as another request.
      server().web(standIn, nobody, { agent, method: request.method }, (error) =>
        call.onError(error),
      );
      return call;
    },
    tunnel(client, { path, headers }, sink) {
      const tunnel = new Tunnel(client, sink, deadlines, provider);
      const standIn = {
        method: "GET",
        url: path,
        headers: headersOf(path, [...headers, "connection", "Upgrade", "upgrade", "websocket"]),
      } as unknown as IncomingMessage;
      let outgoing: ClientRequest | null = null;
      opening.set(standIn, (made) => {
        outgoing = made;
        tunnel.beforeOpening(made);
      });
      server().ws(standIn, client.socket, Buffer.alloc(0), {}, () => {});
      tunnel.afterOpening(outgoing!);
      return tunnel;
    },
    redact: (text) =>
      provider.apiKey === null ? text : text.replaceAll(provider.apiKey, "[redacted]"),
    close() {
      deadlines.stop();
      agent.destroy();
    },
  };
}

const nothing = Buffer.alloc(0);
/** The response in which http-proxy has no part. */
const nobody = {} as ServerResponse;

/**
 * Repeated headers are joined, as HTTP allows: none of those that may not be joined goes to a
 * provider.
 */
function headerObject(flat: readonly string[]): Record<string, string> {
  const byLowerName = new Map<string, [name: string, value: string]>();
  for (let i = 0; i < flat.length; i += 2) {
    const known = byLowerName.get(flat[i]!.toLowerCase());
    if (known === undefined) byLowerName.set(flat[i]!.toLowerCase(), [flat[i]!, flat[i + 1]!]);
    else known[1] += `, ${flat[i + 1]!}`;
  }
  return Object.fromEntries(byLowerName.values());
}

/**
 * Where a body ends is told by us, from what Node's parser has understood; never by what the client
 * wrote.
 */
function framing(body: RequestBody): readonly string[] {
  if (body === null) return [];
  const bytes = Buffer.isBuffer(body) ? body.length : body.bytes;
  return bytes === null ? ["transfer-encoding", "chunked"] : ["content-length", String(bytes)];
}

/**
 * Bears its call itself: a WeakMap of all that is under way would be gone through by each
 * collection of garbage.
 */
interface StandIn extends IncomingMessage {
  readonly call: PassCall;
}

class PassCall implements UpstreamCall, Watched {
  idleTicks = 0;
  timeoutTicks = Infinity;
  watchIndex = -1;
  readonly #sink: UpstreamSink;
  readonly #deadlines: Deadlines;
  readonly #provider: ProviderConfig;
  #standIn: Readable | null = null;
  #outgoing: ClientRequest | null = null;
  #answer: IncomingMessage | null = null;
  #connecting = false;
  /** The next piece of the body is the client's to send. */
  #clientOwes = false;
  #paused = false;
  #over = false;

  constructor(sink: UpstreamSink, deadlines: Deadlines, provider: ProviderConfig) {
    this.#sink = sink;
    this.#deadlines = deadlines;
    this.#provider = provider;
  }

  standIn({ path, body }: PassthroughRequest, headers: Record<string, string>): StandIn {
    const standIn = Readable.from(
      body === null ? nothing : Buffer.isBuffer(body) ? body : this.#watched(body.pieces),
      { objectMode: false },
    );
    this.#standIn = standIn;
    return Object.assign(standIn, {
      method: "",
      url: path,
      headers,
      httpVersion: "1.1",
      socket: { destroyed: false },
      call: this,
    }) as unknown as StandIn;
  }

  async *#watched(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    this.#clientOwes = true;
    for await (const piece of pieces) {
      this.#clientOwes = false;
      this.#expect();
      yield piece;
      this.#clientOwes = true;
      this.#expect();
    }
    this.#clientOwes = false;
    this.#expect();
  }

  /**
   * Whose silence counts now, and how much of it, from now on. A client's own is bounded by the
   * listener.
   */
  #expect(): void {
    const { firstByteTimeoutTicks, idleTimeoutTicks } = this.#deadlines;
    this.idleTicks = 0;
    if (this.#paused) this.timeoutTicks = Infinity;
    else if (this.#answer !== null) this.timeoutTicks = idleTimeoutTicks;
    else if (this.#connecting)
      this.timeoutTicks = this.#deadlines.timeoutTicksFor(this.#provider.connectTimeoutMs);
    else
      this.timeoutTicks =
        this.#clientOwes || this.#outgoing === null ? Infinity : firstByteTimeoutTicks;
  }

  onConnection(outgoing: ClientRequest): void {
    if (this.#over) return;
    this.#outgoing = outgoing;
    this.#connecting = outgoing.socket?.connecting ?? false;
    if (this.#connecting) {
      outgoing.socket!.once("connect", () => {
        this.#connecting = false;
        this.#expect();
      });
    }
    // The head needn't wait for a body that isn't there yet.
    setImmediate(() => void (this.#over || outgoing.headersSent || outgoing.flushHeaders()));
    // Nothing else ends it without a word.
    outgoing.once(
      "close",
      () =>
        void (
          this.#answer === null &&
          this.#fail({ kind: "broken", reason: "it switched protocols unasked" })
        ),
    );
    this.#deadlines.watch(this);
    this.#expect();
  }

  onAnswer(answer: IncomingMessage): void {
    answer.on("error", (error) => this.onError(error));
    if (this.#over) return;
    this.#answer = answer;
    this.#expect();
    this.#sink.onHead(answer.statusCode!, answer.rawHeaders);
    answer.on("data", (chunk: Buffer) => {
      this.idleTicks = 0;
      if (!this.#over) this.#sink.onData(chunk);
    });
    answer.on("end", () => {
      if (!this.#finish()) return;
      // What the client still sends has no reader any more.
      if (!this.#outgoing!.writableFinished) this.#release();
      this.#sink.onEnd();
    });
    answer.on("close", () => this.#fail({ kind: "broken", reason: "it closed the connection" }));
  }

  onError(error: Error): void {
    if (this.#over) return;
    this.#release();
    this.#fail(asUpstreamFailure(error));
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#finish()) this.#sink.onFailure(failure);
  }

  onTimedOut(): void {
    const { firstByteTimeoutMs, idleTimeoutMs } = this.#deadlines;
    this.#release();
    if (this.#connecting)
      this.#fail({
        kind: "unreachable",
        reason: `no connection for ${this.#provider.connectTimeoutMs} ms`,
      });
    else
      this.#fail({
        kind: "timed_out",
        reason:
          this.#answer !== null
            ? `nothing for ${idleTimeoutMs} ms`
            : `no response for ${firstByteTimeoutMs} ms`,
      });
  }

  /** False when it was over before. */
  #finish(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#deadlines.unwatch(this);
    return true;
  }

  /** http-proxy ends its request when the one that it was handed is aborted. */
  #release(): void {
    this.#standIn?.emit("aborted");
    this.#standIn?.destroy();
  }

  pause(): void {
    this.#paused = true;
    this.#answer?.pause();
    this.#expect();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#answer?.resume();
    this.#expect();
  }

  abort(): void {
    if (this.#finish()) this.#release();
  }
}
