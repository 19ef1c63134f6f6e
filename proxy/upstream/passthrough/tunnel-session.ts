/**
 * One WebSocket session from its opening to its end. Reads the usage as it passes, and closes the
 * session in order when the proxy stops or when both sides are idle for too long. Returns the
 * charge to the caller.
 */
import { forwardResponseHeaders, headerOf, passResponseHeaders } from "../../http/copy-headers.js";
import type { ClientSocket, Exchange } from "../../http/exchange.js";
import { replyFailure, replyInternalError } from "../../http/respond.js";
import { switchedHeaders } from "../../http/web-socket-handshake.js";
import { joinedNotes } from "../../usage/count-usage.js";
import { SessionUsage, type SpentTokens } from "../../usage/session-usage.js";
import { unansweredFailure } from "../errors/provider-failure.js";
import { mapUpstreamError } from "../errors/upstream-error.js";
import type { UpstreamFailure } from "../errors/upstream-failure.js";
import { type ForwardResult, goneEnding, isGone } from "../forwarded.js";
import { closeFrame, goingAway, internalError, WebSocketFrameReader } from "./frame-reader.js";
import type { OpenSession, OpenSessions } from "./open-sessions.js";
import type {
  PassthroughUpstream,
  TunnelCall,
  TunnelEnd,
  TunnelSink,
} from "./passthrough-upstream.js";
import { chargedAnyway, TunnelBoundary } from "./tunnel-boundary.js";

interface TunnelRequest {
  readonly upstream: PassthroughUpstream;
  readonly provider: string;
  readonly path: string;
  readonly requestHeaders: readonly string[];
  /** The headers of Sluice's limits. */
  readonly limits: readonly string[];
  /** Headers of every response, besides the request id. */
  readonly headers: readonly string[];
  /**
   * Whether the provider's limits and refusals pass unchanged; otherwise they get Sluice's form.
   */
  readonly passesAsIs: boolean;
  readonly sessions: OpenSessions;
  /** As in `SentRequest`. */
  readonly modelOutputMax: number | null;
  /** Called with the usage of completed responses; the result has the rest. */
  readonly onProgress: (spent: SpentTokens) => void;
  readonly monoMs: () => number;
}

/** Never rejects. */
export function tunnelSession(
  exchange: Exchange,
  client: ClientSocket,
  options: TunnelRequest,
): Promise<ForwardResult> {
  return new Promise((resolve) => new TunnelSession(exchange, options, resolve).start(client));
}

class TunnelSession implements TunnelSink, OpenSession {
  readonly #exchange: Exchange;
  readonly #options: TunnelRequest;
  readonly #resolve: (forwarded: ForwardResult) => void;
  readonly #usage = new SessionUsage();
  readonly #fromClient = new WebSocketFrameReader((message) => this.#usage.onSent(message));
  readonly #fromProvider = new WebSocketFrameReader((message, leftOutBytes) =>
    this.#usage.onMessage(message, leftOutBytes),
  );
  #client: ClientSocket | null = null;
  #call: TunnelCall | null = null;
  #status = 0;
  #firstByteMonoMs: number | null = null;
  #hasEnded = false;
  #isDraining = false;
  #isClosing = false;
  /** Whether a stop has cut a running response. */
  #isStopped = false;
  /** Whether the provider timed out when it owed an answer. */
  #hasTimedOut = false;
  #bug: unknown = null;

  constructor(
    exchange: Exchange,
    options: TunnelRequest,
    resolve: (forwarded: ForwardResult) => void,
  ) {
    [this.#exchange, this.#options, this.#resolve] = [exchange, options, resolve];
  }

  start(client: ClientSocket): void {
    const { upstream, path, requestHeaders: headers } = this.#options;
    this.#client = client;
    const boundary = new TunnelBoundary(this);
    this.#exchange.onGone(() => boundary.run(() => this.#onGone()));
    boundary.run(() => {
      this.#call = upstream.tunnel(client, { path, headers }, boundary);
      if (this.#hasEnded) this.#call.abort();
    });
  }

  onBug(error: unknown): void {
    if (this.#hasEnded) throw error;
    this.#bug = error;
    this.#end({
      status: this.#status === 101 ? 101 : 500,
      outcome: "internal_error",
      note: null,
      finish: () => replyInternalError(this.#exchange, "model", this.#options.headers),
    });
    this.#call?.abort();
  }

  onOpen(rawHeaders: readonly string[]): readonly string[] {
    this.#onStatus(101);
    this.#options.sessions.add(this);
    this.#client!.onStop = () => this.#stop();
    return [
      ...switchedHeaders(this.#passedHeaders(rawHeaders), this.#exchange.rawHeaders),
      ...this.#ownHeaders(),
    ];
  }

  #onStatus(status: number): void {
    this.#status = status;
    this.#firstByteMonoMs = this.#options.monoMs();
  }

  /** For responses that `replyFailure` doesn't write: it adds the request id. */
  #ownHeaders(): string[] {
    return ["x-request-id", this.#exchange.id, ...this.#options.headers];
  }

  /** The provider's headers with the limits: Sluice's, or the provider's if they pass unchanged. */
  #passedHeaders(rawHeaders: readonly string[]): string[] {
    return this.#options.passesAsIs
      ? passResponseHeaders(rawHeaders, this.#options.limits)
      : [...forwardResponseHeaders(rawHeaders), ...this.#options.limits];
  }

  onAnswer(status: number, rawHeaders: readonly string[], body: Buffer): void {
    this.#onStatus(status);
    const { upstream, provider, passesAsIs, limits, headers } = this.#options;
    const text = upstream.redact(body.toString("latin1"));
    if (passesAsIs)
      return this.#end({
        status,
        outcome: "upstream_error",
        note: null,
        finish: () =>
          this.#exchange.reply(
            status,
            [...this.#passedHeaders(rawHeaders), ...this.#ownHeaders()],
            text,
            "latin1",
          ),
      });
    const failure = mapUpstreamError(provider, status, Buffer.from(text, "latin1"));
    const retryAfter = headerOf(rawHeaders, "retry-after");
    const wait = retryAfter === "" ? [] : ["retry-after", retryAfter];
    this.#end({
      status: failure.status,
      outcome: "upstream_error",
      note: null,
      finish: () =>
        replyFailure(this.#exchange, "model", failure, [...wait, ...limits, ...headers]),
    });
  }

  onFailure(reason: UpstreamFailure): void {
    const { provider, limits, headers } = this.#options;
    const failure = unansweredFailure(provider, this.#status !== 0, reason);
    this.#end({
      status: failure.status,
      outcome: "upstream_error",
      note: reason.reason,
      finish: () => replyFailure(this.#exchange, "model", failure, [...limits, ...headers]),
    });
  }

  /** Used only before the session is open: after that the tunnel's sockets end it. */
  #onGone(): void {
    if (this.#hasEnded) return;
    this.#call?.abort();
    this.#end({ ...goneEnding(this.#exchange), note: null, finish: () => {} });
  }

  onFromClient(chunk: Buffer): void {
    if (this.#hasEnded) return;
    this.#usage.bytesSent += chunk.length;
    this.#fromClient.push(chunk);
    this.#closeIfDrained();
  }

  onFromProvider(chunk: Buffer): void {
    if (this.#hasEnded) return;
    this.#fromProvider.push(chunk);
    this.#call!.expect(this.#usage.responding);
    for (;;) {
      const spent = this.#usage.takeDone(this.#options.monoMs());
      if (spent === null) break;
      this.#options.onProgress(spent);
    }
    this.#closeIfDrained();
  }

  drain(): void {
    this.#isDraining = true;
    this.#closeIfDrained();
  }

  /** Closes between two responses. A running response may end while the proxy waits. */
  #closeIfDrained(): void {
    if (this.#isDraining && !this.#usage.responding)
      this.#close(goingAway, "the proxy stops", null);
  }

  #stop(): void {
    this.#isStopped = !this.#isClosing;
    if (!this.#close(goingAway, "the proxy stops", null)) this.#call!.abort();
  }

  onTimedOut(reason: string): void {
    this.#hasTimedOut = this.#usage.responding;
    const code = this.#hasTimedOut ? internalError : goingAway;
    if (!this.#close(code, reason, reason)) this.#call!.abort();
  }

  /**
   * Sends a close frame to both sides. `text` is for the client, `reason` for the log. False if a
   * side is in the middle of a frame, or is closing already.
   */
  #close(code: number, text: string, reason: string | null): boolean {
    const [client, provider] = [this.#fromClient, this.#fromProvider];
    if (
      this.#isClosing ||
      this.#call === null ||
      !client.betweenFrames ||
      !provider.betweenFrames ||
      client.isClosing ||
      provider.isClosing
    )
      return false;
    this.#isClosing = true;
    this.#call.close(
      closeFrame(code, text, "client"),
      closeFrame(goingAway, "", "provider"),
      reason,
    );
    return true;
  }

  onEnd({ by, reason }: TunnelEnd): void {
    this.#options.sessions.remove(this);
    if (this.#hasEnded) return;
    const isInOrder = by === "proxy" || this.#fromClient.isClosing || this.#fromProvider.isClosing;
    const outcome = this.#hasTimedOut
      ? "upstream_cut"
      : isInOrder && !this.#isStopped
        ? "complete"
        : by === "client" || this.#isStopped
          ? goneEnding(this.#exchange).outcome
          : "upstream_cut";
    this.#end({ status: this.#status, outcome, note: reason, finish: () => {} });
  }

  #end({
    status,
    outcome,
    note,
    finish,
  }: Pick<ForwardResult, "status" | "outcome" | "note" | "finish">): void {
    this.#hasEnded = true;
    const charge = chargedAnyway(
      this.#usage,
      this.#fromProvider.unreadMessages,
      this.#options.modelOutputMax,
    );
    this.#resolve({
      status,
      usage: charge.usage,
      estimated: charge.estimated,
      atMost: charge.atMost,
      executed: this.#status !== 0 || isGone(outcome),
      outcome,
      firstByteMonoMs: this.#firstByteMonoMs,
      note: joinedNotes(note, charge.note),
      failed: null,
      bug: this.#bug,
      finish,
    });
  }
}
