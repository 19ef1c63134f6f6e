/**
 * The port to a provider: one request out, one response in, piece by piece.
 * `client/http-upstream.ts` implements it by undici, `simulated-upstream.ts` by the simulator.
 */
import type { UpstreamFailure } from "./errors/upstream-failure.js";
import type { LargeBody } from "./large-body.js";

/** Complete, or piece by piece, with its length if that is known; null if there is none. */
export type RequestBody =
  | Buffer
  | LargeBody
  | { readonly pieces: AsyncIterable<Buffer>; readonly bytes: number | null }
  | null;

export interface UpstreamRequest {
  readonly method: "POST" | "GET" | "DELETE";
  /** At Gemini's own API, which is beside the OpenAI-compatible one that is configured. */
  readonly isNative?: boolean;
  /** Below the provider's base URL, with its leading slash. */
  readonly path: string;
  /** Flat names and values, without credentials. */
  readonly headers: readonly string[];
  readonly body: RequestBody;
  /**
   * Whether it may be carried out twice: a provider that broke off may have done so. What is stored
   * or submitted may not.
   */
  readonly isRepeatable: boolean;
  /** Where they aren't the provider's. */
  readonly timeouts?: RequestTimeouts | null;
}

/** The deadlines of one attempt, as `ModelOverrides` says. */
export interface RequestTimeouts {
  readonly firstByteTimeoutMs: number | null;
  readonly totalTimeoutMs: number | null;
}

/**
 * Gets the response, in this order: one head, pieces, then an end or a failure. Nothing after an
 * abort.
 */
export interface UpstreamSink {
  onHead(status: number, rawHeaders: readonly (Buffer | string)[]): void;
  onData(chunk: Buffer): void;
  onEnd(): void;
  onFailure(failure: UpstreamFailure): void;
  /**
   * An exception of our own while the response passed: it ends the call, and this request alone. A
   * sink handles those that it throws itself.
   */
  onBug(error: unknown): void;
}

export interface UpstreamCall {
  /**
   * Whether all of the request has left for the provider, which may be at work from then on,
   * whatever becomes of the connection.
   */
  readonly isSent: boolean;
  /**
   * Whether it was lost on a kept-alive connection, all of it, and sent again: the provider may
   * have worked at it twice.
   */
  readonly isResent?: boolean;
  pause(): void;
  resume(): void;
  /** Ends the call and frees its connection; the sink gets no further call. */
  abort(): void;
}

export interface Upstream {
  send(request: UpstreamRequest, sink: UpstreamSink): UpstreamCall;
  /** Takes our credential out of a text of the provider's: some echo it in their errors. */
  redact(text: string): string;
  /** Whether a call that the provider refused or limited may be made with another key now. */
  hasReadyKey?(): boolean;
  close(): Promise<void>;
}
