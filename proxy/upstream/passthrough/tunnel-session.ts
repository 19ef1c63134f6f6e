/**
 * One WebSocket session from its opening to its end: its usage is read as it passes, and it is
 * ended in order when the proxy stops or nobody speaks any more. What it is charged is returned,
 * not acted on.
 */
import { forwardResponseHeaders, headerOf, passResponseHeaders } from "../../http/copy-headers.js";
import type { ClientSocket, Exchange } from "../../http/exchange.js";
import { replyFailure } from "../../http/respond.js";
import { switchedHeaders } from "../../http/web-socket-handshake.js";
import { joinedNotes } from "../../usage/count-usage.js";
import { SessionUsage } from "../../usage/session-usage.js";
import { unansweredFailure } from "../errors/provider-failure.js";
import { mapUpstreamError } from "../errors/upstream-error.js";
import type { UpstreamFailure } from "../errors/upstream-failure.js";
import type { Forwarded } from "../forwarded.js";
import { closeFrame, FrameReader } from "./frame-reader.js";
import type { OpenSession, OpenSessions } from "./open-sessions.js";
import type {
  PassthroughUpstream,
  TunnelCall,
  TunnelEnd,
  TunnelSink,
} from "./passthrough-upstream.js";

export interface TunnelRequest {
  readonly upstream: PassthroughUpstream;
  readonly provider: string;
  readonly path: string;
  readonly requestHeaders: readonly string[];
  /** The headers of our limits; and those that stand in any case. */
  readonly limits: readonly string[];
  readonly headers: readonly string[];
  /** The provider's limits and refusals pass as they are; else they are put into our shape. */
  readonly asIs: boolean;
  readonly sessions: OpenSessions;
  readonly monoMs: () => number;
}

/** RFC 6455 section 7.4.1. */
const goingAway = 1001;
const internalError = 1011;

/** Never rejects. */
export function tunnelSession(
  exchange: Exchange,
  client: ClientSocket,
  what: TunnelRequest,
): Promise<Forwarded> {
  return new Promise((resolve) => new TunnelSession(exchange, what, resolve).start(client));
}

class TunnelSession implements TunnelSink, OpenSession {
  readonly #exchange: Exchange;
  readonly #what: TunnelRequest;
  readonly #resolve: (forwarded: Forwarded) => void;
  readonly #usage = new SessionUsage();
  readonly #fromClient = new FrameReader(null);
  readonly #fromProvider = new FrameReader((message, leftOut) =>
    this.#usage.onMessage(message, leftOut),
  );
  #call: TunnelCall | null = null;
  #status = 0;
  #firstByteMonoMs: number | null = null;
  #ended = false;
  #draining = false;
  #left = false;
  /** The provider was silent when it owed an answer. */
  #gaveUp = false;

  constructor(exchange: Exchange, what: TunnelRequest, resolve: (forwarded: Forwarded) => void) {
    this.#exchange = exchange;
    this.#what = what;
    this.#resolve = resolve;
  }

  start(client: ClientSocket): void {
    this.#exchange.onGone(() => this.#onGone());
    this.#call = this.#what.upstream.tunnel(
      client,
      { path: this.#what.path, headers: this.#what.requestHeaders },
      this,
    );
    if (this.#ended) this.#call.abort();
  }

  onOpen(rawHeaders: readonly string[]): readonly string[] {
    this.#answered(101);
    this.#what.sessions.add(this);
    return [
      ...switchedHeaders(this.#passed(rawHeaders), this.#exchange.rawHeaders),
      ...this.#what.headers,
    ];
  }

  #answered(status: number): void {
    this.#status = status;
    this.#firstByteMonoMs = this.#what.monoMs();
  }

  /** With the limits: ours, or the provider's where they pass. */
  #passed(rawHeaders: readonly string[]): string[] {
    return this.#what.asIs
      ? passResponseHeaders(rawHeaders, this.#what.limits)
      : [...forwardResponseHeaders(rawHeaders), ...this.#what.limits];
  }

  onAnswer(status: number, rawHeaders: readonly string[], body: Buffer): void {
    this.#answered(status);
    const { upstream, provider, asIs, limits, headers } = this.#what;
    const text = upstream.redact(body.toString("latin1"));
    if (asIs)
      return this.#end({
        status,
        outcome: "upstream_error",
        note: null,
        finish: () =>
          this.#exchange.reply(status, [...this.#passed(rawHeaders), ...headers], text, "latin1"),
      });
    const said = mapUpstreamError(provider, status, Buffer.from(text, "latin1"));
    const retryAfter = headerOf(rawHeaders, "retry-after");
    const ours = retryAfter === "" ? limits : ["retry-after", retryAfter, ...limits];
    // Its own id stands in every failure.
    this.#end({
      status: said.status,
      outcome: "upstream_error",
      note: null,
      finish: () => replyFailure(this.#exchange, "model", said, [...ours, ...headers.slice(2)]),
    });
  }

  onFailure(reason: UpstreamFailure): void {
    const { provider, limits, headers } = this.#what;
    const failure = unansweredFailure(provider, this.#status !== 0, reason);
    this.#end({
      status: failure.status,
      outcome: "upstream_error",
      note: reason.reason,
      finish: () =>
        replyFailure(this.#exchange, "model", failure, [...limits, ...headers.slice(2)]),
    });
  }

  /** Only before it is open: after that its sockets tell. */
  #onGone(): void {
    if (this.#ended) return;
    this.#call?.abort();
    this.#end({ status: 499, outcome: "client_gone", note: null, finish: () => {} });
  }

  onFromClient(chunk: Buffer): void {
    this.#fromClient.push(chunk);
    this.#leaveIfDrained();
  }

  onFromProvider(chunk: Buffer): void {
    this.#fromProvider.push(chunk);
    this.#call!.expect(this.#usage.responding);
    this.#leaveIfDrained();
  }

  drain(): void {
    this.#draining = true;
    this.#leaveIfDrained();
  }

  /** Between two responses; one that runs may end, as long as the proxy waits. */
  #leaveIfDrained(): void {
    if (this.#draining && !this.#usage.responding) this.#leave(goingAway, "the proxy stops", null);
  }

  onTimedOut(reason: string): void {
    this.#gaveUp = this.#usage.responding;
    if (!this.#leave(this.#gaveUp ? internalError : goingAway, reason, reason)) this.#call!.abort();
  }

  /**
   * Says goodbye to both sides. False: one of them is in the middle of a frame, or says goodbye
   * itself.
   */
  #leave(code: number, why: string, reason: string | null): boolean {
    const [client, provider] = [this.#fromClient, this.#fromProvider];
    if (
      this.#left ||
      this.#call === null ||
      !client.betweenFrames ||
      !provider.betweenFrames ||
      client.closing ||
      provider.closing
    )
      return false;
    this.#left = true;
    this.#call.leave(
      closeFrame(code, why, "client"),
      closeFrame(goingAway, "", "provider"),
      reason,
    );
    return true;
  }

  onEnd({ by, reason }: TunnelEnd): void {
    this.#what.sessions.remove(this);
    const inOrder = by === "proxy" || this.#fromClient.closing || this.#fromProvider.closing;
    const outcome = this.#gaveUp
      ? "upstream_cut"
      : inOrder
        ? "complete"
        : by === "client"
          ? "client_gone"
          : "upstream_cut";
    this.#end({ status: this.#status, outcome, note: reason, finish: () => {} });
  }

  #end({
    status,
    outcome,
    note,
    finish,
  }: Pick<Forwarded, "status" | "outcome" | "note" | "finish">): void {
    this.#ended = true;
    const charge = this.#usage.charge(this.#fromProvider.unread);
    this.#resolve({
      status,
      usage: charge.usage,
      estimated: charge.estimated,
      executed: this.#status !== 0 || outcome === "client_gone",
      outcome,
      firstByteMonoMs: this.#firstByteMonoMs,
      note: joinedNotes(note, charge.note),
      failed: null,
      finish,
    });
  }
}
