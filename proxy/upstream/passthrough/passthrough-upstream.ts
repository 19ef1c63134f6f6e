/**
 * The port to a provider for unchanged requests: any method and path of its origin, and WebSockets.
 * `http-proxy-upstream.ts` implements it.
 */
import type { ClientSocket } from "../../http/exchange.js";
import type { UpstreamFailure } from "../errors/upstream-failure.js";
import type { RequestBody, UpstreamCall, UpstreamSink } from "../upstream.js";

export interface PassthroughRequest {
  readonly method: string;
  /** The path at the provider's origin, with its query. */
  readonly path: string;
  /** Flat names and values, without credentials, host and lengths. */
  readonly headers: readonly string[];
  readonly body: RequestBody;
}

/** How a tunnel ended, and which side ended first. */
export interface TunnelEnd {
  readonly by: "client" | "provider" | "proxy";
  /** The network's error, or the deadline that passed; null for an orderly end. */
  readonly reason: string | null;
}

/**
 * Receives the events of a tunnel: that it opened, an answer instead, or a failure. After it
 * opened: bytes, then an end.
 */
export interface TunnelSink {
  /**
   * The provider has switched protocols. Receives its headers, and returns those for the client.
   */
  onOpen(rawHeaders: readonly string[]): readonly string[];
  /** The provider has answered without switching. The body is cut at a megabyte. */
  onAnswer(status: number, rawHeaders: readonly string[], body: Buffer): void;
  onFailure(failure: UpstreamFailure): void;
  /** Bytes that have just passed. */
  onFromClient(chunk: Buffer): void;
  onFromProvider(chunk: Buffer): void;
  /** A deadline of the open tunnel has passed; the sink ends the tunnel. */
  onTimedOut(reason: string): void;
  /** Both sides are closed. */
  onEnd(end: TunnelEnd): void;
}

export interface TunnelCall {
  /**
   * Whether the provider owes an answer, which must arrive before its idle deadline. If it doesn't,
   * both sides may be idle for longer.
   */
  expect(answer: boolean): void;
  /** Ends an open tunnel. Each side gets these last bytes, and no other bytes pass after them. */
  close(toClient: Buffer, toProvider: Buffer, reason: string | null): void;
  /**
   * Destroys both sides immediately. The sink of a tunnel that isn't open yet gets no further call.
   */
  abort(): void;
}

export interface PassthroughUpstream {
  send(request: PassthroughRequest, sink: UpstreamSink): UpstreamCall;
  /**
   * Opens a tunnel. If the provider switches protocols, its answer goes directly to the client; any
   * other answer goes to the sink.
   */
  tunnel(
    client: ClientSocket,
    request: Omit<PassthroughRequest, "method" | "body">,
    sink: TunnelSink,
  ): TunnelCall;
  /** As `Upstream.redact`. */
  redact(text: string): string;
  /** Destroys the provider's connections. */
  close(): Promise<void>;
}
