/** A provider over HTTP, by undici: pooled keep-alive connections, deadlines, cancellation. */
import { type Dispatcher, Pool } from "undici";
import type { ProviderConfig } from "../shared/config/config.js";
import type { Upstream, UpstreamCall, UpstreamFailure, UpstreamRequest, UpstreamSink } from "./upstream.js";

/** An upstream for an OpenAI-compatible base URL. */
export function createHttpUpstream(provider: ProviderConfig): Upstream {
  const base = new URL(provider.baseUrl);
  const pathPrefix = base.pathname.replace(/\/$/, "");
  const pool = new Pool(base.origin, {
    connections: provider.connectionsMax,
    connectTimeout: provider.connectTimeoutMs,
    headersTimeout: provider.firstByteTimeoutMs,
    bodyTimeout: provider.idleTimeoutMs,
    keepAliveTimeout: 30_000,
  });
  const credentials = provider.apiKey === null ? [] : ["authorization", `Bearer ${provider.apiKey}`];
  return {
    send(request: UpstreamRequest, sink: UpstreamSink): UpstreamCall {
      const call = new HttpCall(sink);
      pool.dispatch({ method: request.method, path: pathPrefix + request.path, headers: [...request.headers, ...credentials], body: request.body }, call);
      return call;
    },
    redact: (text) => (provider.apiKey === null ? text : text.replaceAll(provider.apiKey, "[redacted]")),
    // Whatever is still open at the end of the process is not waited for.
    close: () => pool.destroy(),
  };
}

class AbortedError extends Error {
  override name = "AbortedError";
}

/**
 * The handler in the form that undici 7 itself speaks inside (onConnect, onHeaders, …). Its newer form is
 * a wrapper around this one that makes an object of the headers and a controller for each request: a
 * tenth of the proxy's CPU, for headers that are wanted flat. undici 8 has only the newer form.
 */
class HttpCall implements Dispatcher.DispatchHandler, UpstreamCall {
  readonly #sink: UpstreamSink;
  #abort: ((error?: Error) => void) | null = null;
  #resume: (() => void) | null = null;
  #paused = false;
  #aborted = false;

  constructor(sink: UpstreamSink) {
    this.#sink = sink;
  }

  onConnect(abort: (error?: Error) => void): void {
    this.#abort = abort;
    if (this.#aborted) abort(new AbortedError());
  }

  onHeaders(status: number, rawHeaders: Buffer[], resume: () => void): boolean {
    this.#resume = resume;
    // An informational response: the real one follows.
    if (status >= 200 && !this.#aborted) this.#sink.onHead(status, rawHeaders);
    return !this.#paused;
  }

  onData(chunk: Buffer): boolean {
    if (!this.#aborted) this.#sink.onData(chunk);
    return !this.#paused;
  }

  onComplete(): void {
    if (!this.#aborted) this.#sink.onEnd();
  }

  onError(error: Error): void {
    if (!this.#aborted) this.#sink.onFailure(asFailure(error));
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#resume?.();
  }

  abort(): void {
    this.#aborted = true;
    this.#abort?.(new AbortedError());
  }
}

const unreachable = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT", "ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);
const silent = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT", "ETIMEDOUT"]);

/** errno and undici codes to our three kinds. */
function asFailure(error: Error & { code?: string }): UpstreamFailure {
  const code = error.code ?? "";
  const reason = code === "" ? error.message : code;
  if (silent.has(code)) return { kind: "silent", reason };
  // A TLS failure or a reset before the response is no connection either; after the head the caller treats every kind as a cut.
  if (unreachable.has(code) || /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(code)) return { kind: "unreachable", reason };
  return { kind: "broken", reason };
}
