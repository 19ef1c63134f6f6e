/**
 * A provider over HTTP, by undici: pooled keep-alive connections, deadlines, cancellation.
 * Responses are requested without compression, and decoded if they are compressed all the same.
 */
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { type buildConnector, Client, type Dispatcher, Pool } from "undici";
import { endsPerTurn } from "../../shared/bounds.js";
import type { ProviderConfig } from "../../shared/config/config.js";
import { createThrottledEnds } from "../../shared/throttled-queue.js";
import { acceptIdentity, headerOf } from "../http/copy-headers.js";
import { createDeadlines, type Deadlines } from "./call-deadlines.js";
import { credentialHeaders } from "./credential-headers.js";
import { codingOf, DecodedAnswer, type EncodedSource } from "./decoded-answer.js";
import { asUpstreamFailure, noSuchStatus } from "./errors/upstream-failure.js";
import { throttleSocketEnd } from "./throttle-socket-end.js";
import type { Watched } from "./timeout-watch.js";
import type { Upstream, UpstreamCall, UpstreamRequest, UpstreamSink } from "./upstream.js";

/** `blame`: what a failed connection was about, if not what its error says. */
export function createHttpUpstream(
  provider: ProviderConfig,
  blame: (error: Error) => Error = (error) => error,
): Upstream {
  const base = new URL(provider.baseUrl);
  const pathPrefix = base.pathname.replace(/\/$/, "");
  const throttledEnds = createThrottledEnds((run) => void setImmediate(run), endsPerTurn);
  const pool = new Pool(base.origin, {
    factory: (origin, options) => new Connection(origin, { ...options, blame }, throttledEnds),
    connections: provider.connectionsMax,
    connectTimeout: provider.connectTimeoutMs,
    // `createDeadlines` keeps these two.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 30_000,
  });
  const deadlines = createDeadlines(provider);
  const ownHeaders = [...acceptIdentity, ...credentialHeaders(provider)];
  const isAnthropic = provider.type === "anthropic";
  return {
    send(request: UpstreamRequest, sink: UpstreamSink): UpstreamCall {
      const call = new HttpCall(sink, deadlines);
      const { body } = request;
      const headers = isAnthropic
        ? withVersion(request.headers, ownHeaders)
        : [...request.headers, ...ownHeaders];
      if (body === null || Buffer.isBuffer(body))
        pool.dispatch(
          { method: request.method, path: pathPrefix + request.path, headers, body },
          call,
        );
      else {
        if (body.bytes !== null) headers.push("content-length", String(body.bytes));
        pool.dispatch(
          {
            method: request.method,
            path: pathPrefix + request.path,
            headers,
            body: Readable.from(body.pieces, { objectMode: false }),
          },
          call,
        );
      }
      return call;
    },
    redact: (text) =>
      provider.apiKey === null ? text : text.replaceAll(provider.apiKey, "[redacted]"),
    // Calls that are still open at the end of the process are not waited for.
    close() {
      deadlines.stop();
      return pool.destroy();
    },
  };
}

/** Anthropic requires a version; a client that speaks its dialect names one itself. */
const anthropicVersion = ["anthropic-version", "2023-06-01"] as const;

function withVersion(headers: readonly string[], ownHeaders: readonly string[]): string[] {
  return headerOf(headers, "anthropic-version") === ""
    ? [...headers, ...anthropicVersion, ...ownHeaders]
    : [...headers, ...ownHeaders];
}

/**
 * A connection of the pool that hands itself to the call it works for, so that aborting the call
 * closes the socket. undici's own abort closes it too, but keeps the request and connects for it
 * anew, only to find it aborted (nodejs/undici#5845): a handshake and an unused connection for each
 * client that leaves.
 */
class Connection extends Client {
  socket: Socket | null = null;

  constructor(origin: URL, options: object, throttledEnds: (run: () => void) => void) {
    const { connect, blame, ...others } = options as {
      readonly connect: buildConnector.connector;
      readonly blame: (error: Error) => Error;
    };
    super(origin, {
      ...others,
      connect: (to: buildConnector.Options, done: buildConnector.Callback) =>
        connect(to, (error, socket) => {
          this.socket = socket;
          if (error !== null) return done(blame(error), null);
          throttleSocketEnd(socket!, throttledEnds);
          done(null, socket!);
        }),
    });
  }

  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    if (handler instanceof HttpCall) handler.connection = this;
    return super.dispatch(options, handler);
  }
}

class AbortedError extends Error {
  override name = "AbortedError";
}

/** Made once: it is never read, and its stack trace would cost more than the rest of an abort. */
const aborted = new AbortedError();

/**
 * The handler in the form that undici 7 uses internally (onConnect, onHeaders, …). Its newer form
 * is a wrapper around this one that makes an object of the headers and a controller for each
 * request: a tenth of the proxy's CPU, for headers that are needed flat. undici 8 has only the
 * newer form.
 */
class HttpCall implements Dispatcher.DispatchHandler, UpstreamCall, EncodedSource, Watched {
  idleTicks = 0;
  timeoutTicks = Infinity;
  watchIndex = -1;
  connection: Connection | null = null;
  #sink: UpstreamSink;
  /** The sink too, if the answer is compressed. */
  #decoded: DecodedAnswer | null = null;
  /** The decoder takes no more for now. */
  #full = false;
  readonly #deadlines: Deadlines;
  /** It has a connection, and hasn't ended. */
  #running = false;
  #resume: (() => void) | null = null;
  #begun = false;
  #paused = false;
  #aborted = false;

  constructor(sink: UpstreamSink, deadlines: Deadlines) {
    this.#sink = sink;
    this.#deadlines = deadlines;
  }

  /**
   * It has a connection: until now it waited in the pool's queue, which no deadline of the
   * provider's counts.
   */
  onConnect(abort: (error?: Error) => void): void {
    if (this.#aborted) return abort(aborted);
    this.#running = true;
    this.timeoutTicks = this.#deadlines.firstByteTimeoutTicks;
    this.#deadlines.watch(this);
  }

  /** A long upload: a provider that still reads isn't idle. */
  onBodySent(): void {
    this.idleTicks = 0;
  }

  onHeaders(status: number, rawHeaders: Buffer[], resume: () => void): boolean {
    // undici asserts that there is none such, where nothing could catch it. What is thrown here, it
    // hands to `onError`.
    if (status < 100) throw new Error(noSuchStatus(status).reason);
    this.#resume = resume;
    this.idleTicks = 0;
    // An informational response: the real one follows.
    if (status >= 200) {
      this.#begun = true;
      this.timeoutTicks = this.#deadlines.idleTimeoutTicks;
      if (!this.#aborted) this.#begin(status, rawHeaders);
    }
    return !this.#paused;
  }

  #begin(status: number, rawHeaders: readonly Buffer[]): void {
    const coding = codingOf(rawHeaders);
    if (coding !== "") this.#sink = this.#decoded = new DecodedAnswer(this.#sink, coding, this);
    this.#sink.onHead(status, rawHeaders);
  }

  onData(chunk: Buffer): boolean {
    this.idleTicks = 0;
    if (!this.#aborted) this.#sink.onData(chunk);
    return !this.#paused && !this.#full;
  }

  onComplete(): void {
    this.#running = false;
    this.#deadlines.unwatch(this);
    if (!this.#aborted) this.#sink.onEnd();
  }

  onError(error: Error): void {
    this.#running = false;
    this.#deadlines.unwatch(this);
    if (!this.#aborted) this.#sink.onFailure(asUpstreamFailure(error));
  }

  onTimedOut(): void {
    this.abort();
    const { firstByteTimeoutMs, idleTimeoutMs } = this.#deadlines;
    this.#sink.onFailure({
      kind: "timed_out",
      reason: this.#begun
        ? `nothing for ${idleTimeoutMs} ms`
        : `no response for ${firstByteTimeoutMs} ms`,
    });
  }

  /** The client doesn't read: the provider can't time out. */
  pause(): void {
    this.#paused = true;
    this.timeoutTicks = Infinity;
    this.#decoded?.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#decoded?.resume();
    this.#continue();
  }

  setFull(full: boolean): void {
    this.#full = full;
    if (full) this.timeoutTicks = Infinity;
    else this.#continue();
  }

  #continue(): void {
    if (this.#paused || this.#full) return;
    this.idleTicks = 0;
    this.timeoutTicks = this.#deadlines.idleTimeoutTicks;
    if (this.#running) this.#resume?.();
  }

  abort(): void {
    this.#aborted = true;
    this.#decoded?.stop();
    this.#deadlines.unwatch(this);
    if (this.#running) this.connection?.socket?.destroy(aborted);
  }
}
