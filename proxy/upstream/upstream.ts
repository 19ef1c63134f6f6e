/**
 * The port to a provider: one request out, one response in, piece by piece.
 * `client/http-upstream.ts` implements it over HTTP, `simulated-upstream.ts` with the simulator.
 */
import type { UpstreamFailure } from "./errors/upstream-failure.js";
import type { SentBody } from "./sent-body.js";

/** A complete body, or a body in pieces with its length if that is known; null for no body. */
export type RequestBody =
  | Buffer
  | SentBody
  | { readonly pieces: AsyncIterable<Buffer>; readonly bytes: number | null }
  | null;

export interface UpstreamRequest {
  readonly method: "POST" | "GET" | "DELETE";
  /** Whether to call Gemini's own API, which is beside the configured OpenAI-compatible one. */
  readonly isNative?: boolean;
  /** The path below the provider's base URL, with its leading slash. */
  readonly path: string;
  /** Flat names and values, without credentials. */
  readonly headers: readonly string[];
  readonly body: RequestBody;
  /**
   * Whether the request may be executed twice, as after a lost connection. A submission, or a
   * request that stores an object, must not be.
   */
  readonly isRepeatable: boolean;
  /** Timeouts that replace the provider's. */
  readonly timeouts?: RequestTimeouts | null;
}

/** The deadlines of one attempt, as `ModelOverrides` says. */
export interface RequestTimeouts {
  readonly firstByteTimeoutMs: number | null;
  readonly totalTimeoutMs: number | null;
}

/**
 * Receives the response in this order: one head, chunks, then an end or a failure. After an abort
 * it receives nothing.
 */
export interface UpstreamSink {
  onHead(status: number, rawHeaders: readonly (Buffer | string)[]): void;
  onData(chunk: Buffer): void;
  onEnd(): void;
  onFailure(failure: UpstreamFailure): void;
  /**
   * An exception in Sluice's own code while the response passed. It ends only this call and its
   * request. A sink handles its own exceptions.
   */
  onBug(error: unknown): void;
}

export interface UpstreamCall {
  /**
   * Whether the whole request was sent; the provider may work on it even if the connection breaks.
   */
  readonly isSent: boolean;
  /**
   * Whether the request was lost on a kept-alive connection and sent again: the provider may have
   * worked twice.
   */
  readonly isResent?: boolean;
  /** The name of the provider's key that was used; empty or absent without one. */
  readonly keyName?: string;
  pause(): void;
  resume(): void;
  /** Ends the call and frees its connection; the sink gets no further call. */
  abort(): void;
}

export interface Upstream {
  send(request: UpstreamRequest, sink: UpstreamSink): UpstreamCall;
  /** Removes Sluice's credential from a provider's text: some echo it in errors. */
  redact(text: string): string;
  /** Whether another key is available after a refusal or a 429. */
  hasReadyKey?(): boolean;
  close(): Promise<void>;
}
