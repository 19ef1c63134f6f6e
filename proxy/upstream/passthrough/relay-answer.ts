/**
 * Passes an admitted request to its provider as it is, and the answer to the client: status,
 * headers and bytes, errors too. The usage is read as it goes by. What the request is charged is
 * returned, not acted on; an answer's last bytes wait for that.
 */
import { heldResponseBytesMax } from "../../../shared/bounds.js";
import type { Operation } from "../../../shared/operation.js";
import { headerOf, passResponseHeaders } from "../../http/copy-headers.js";
import type { Exchange } from "../../http/exchange.js";
import { replyFailure } from "../../http/respond.js";
import { type MeteredUsage, unmetered } from "../../usage/count-usage.js";
import { ResponseMeter } from "../../usage/response-meter.js";
import { unansweredFailure } from "../errors/provider-failure.js";
import { errorInsideSuccess } from "../errors/success-body.js";
import type { UpstreamFailure } from "../errors/upstream-failure.js";
import type { Forwarded } from "../forwarded.js";
import type { UpstreamCall, UpstreamSink } from "../upstream.js";
import type { PassthroughRequest, PassthroughUpstream } from "./passthrough-upstream.js";

export interface RelayRequest {
  readonly upstream: PassthroughUpstream;
  readonly provider: string;
  readonly request: PassthroughRequest;
  /**
   * The headers of our limits, which stand where the provider tells none; and those that stand in
   * any case.
   */
  readonly limits: readonly string[];
  readonly headers: readonly string[];
  /**
   * What is asked, where that is known: then a usage that isn't told is estimated. Null: only what
   * is told is charged.
   */
  readonly operation: Operation | null;
  /** How much of the request's body has passed. */
  readonly promptBytes: () => number;
  readonly monoMs: () => number;
}

type End = Pick<Forwarded, "status" | "outcome" | "finish">;

/** Never rejects. */
export function relayAnswer(exchange: Exchange, what: RelayRequest): Promise<Forwarded> {
  return new Promise((resolve) => new Relaying(exchange, what, resolve).start());
}

class Relaying implements UpstreamSink {
  readonly #exchange: Exchange;
  readonly #what: RelayRequest;
  readonly #resolve: (forwarded: Forwarded) => void;
  #call: UpstreamCall | null = null;
  #ended = false;
  #status = 0;
  /** The provider's, then ours. */
  #headers: string[] = [];
  /** The provider's Content-Length; empty without one. */
  #length = "";
  #firstByteMonoMs: number | null = null;
  readonly #seen: ResponseMeter;
  /** The piece that completes the announced length. */
  #last: Buffer | null = null;

  constructor(exchange: Exchange, what: RelayRequest, resolve: (forwarded: Forwarded) => void) {
    this.#exchange = exchange;
    this.#what = what;
    this.#resolve = resolve;
    this.#seen = new ResponseMeter(what, null);
  }

  start(): void {
    this.#exchange.onGone(() => this.#onGone());
    this.#call = this.#what.upstream.send(this.#what.request, this);
    if (this.#ended) this.#call.abort();
  }

  onHead(status: number, rawHeaders: readonly (Buffer | string)[]): void {
    const what = this.#what;
    this.#status = status;
    this.#firstByteMonoMs = what.monoMs();
    this.#headers = passResponseHeaders(rawHeaders, what.limits);
    this.#headers.push("x-request-id", this.#exchange.id, ...what.headers);
    this.#length = headerOf(rawHeaders, "content-length");
    const contentType = headerOf(rawHeaders, "content-type").toLowerCase();
    const coding = headerOf(rawHeaders, "content-encoding");
    const isReadable = /^(?:identity)?$/i.test(coding);
    const isJson = contentType.includes("json");
    const isStream = contentType.startsWith("text/event-stream");
    // Only a POST makes a model work; what others bring may tell again of usage that was charged
    // before.
    const mayTellUsage = status < 300 && what.request.method === "POST";
    if (mayTellUsage && isReadable && isStream) {
      this.#seen.beginStream(false);
      return this.#begin();
    }
    // What may have to be changed, or is small enough to wait for its settle, is held.
    const isHeld =
      isReadable &&
      (isJson || status >= 400) &&
      Number(this.#length) <= heldResponseBytesMax &&
      what.request.method !== "HEAD";
    if (!mayTellUsage) this.#seen.beginWhole("free", isHeld);
    else if (isReadable) this.#seen.beginWhole(isJson ? "json" : "bytes", isHeld);
    else
      this.#seen.beginWhole(
        isJson || isStream ? "text" : "bytes",
        false,
        `usage unknown: the answer's content-encoding is ${JSON.stringify(coding.slice(0, 64))}`,
      );
    if (!isHeld) this.#begin();
  }

  /** The provider's length stands: what passes is what it has sent. */
  #begin(): void {
    if (this.#length !== "") this.#headers.push("content-length", this.#length);
    this.#exchange.begin(this.#status, this.#headers);
  }

  onData(chunk: Buffer): void {
    const seen = this.#seen;
    if (seen.isStream) seen.push(chunk);
    else seen.keep(chunk);
    if (!this.#exchange.begun) this.#hold();
    else if (this.#length !== "" && seen.bytes === Number(this.#length)) this.#last = chunk;
    else this.#write(chunk);
  }

  #hold(): void {
    if (this.#seen.bytes <= heldResponseBytesMax) return;
    this.#begin();
    for (const kept of this.#seen.release()) this.#write(kept);
  }

  #write(chunk: Buffer): void {
    if (this.#exchange.write(chunk)) return;
    this.#call?.pause();
    this.#exchange.onDrain(() => this.#call?.resume());
  }

  onEnd(): void {
    if (this.#ended) return;
    const seen = this.#seen;
    if (seen.isStream) {
      seen.endStream();
      return this.#done(seen.charged(), {
        status: this.#status,
        outcome: seen.errorSeen ? "upstream_error" : "complete",
        finish: () => this.#finishBegun(),
      });
    }
    const text = seen.text();
    const finish = (): void => {
      if (this.#exchange.begun) return this.#finishBegun();
      if (seen.bytes > 0)
        return this.#exchange.reply(
          this.#status,
          this.#headers,
          this.#status >= 400 ? this.#what.upstream.redact(text) : text,
          "latin1",
        );
      this.#begin();
      this.#exchange.end();
    };
    const answer = seen.read(text);
    if (this.#status >= 400 || errorInsideSuccess(answer))
      return this.#done(unmetered, { status: this.#status, outcome: "upstream_error", finish });
    this.#done(seen.charged(answer), { status: this.#status, outcome: "complete", finish });
  }

  #finishBegun(): void {
    if (this.#last !== null) this.#exchange.write(this.#last);
    this.#exchange.end();
  }

  onFailure(reason: UpstreamFailure): void {
    if (this.#ended) return;
    // A body that broke off with its client is no failure of the provider's.
    if (this.#exchange.gone) return this.#onGone();
    const { provider, limits, headers } = this.#what;
    if (this.#exchange.begun)
      return this.#done(this.#seen.chargedCut(reason.reason), {
        status: this.#status,
        outcome: "upstream_cut",
        finish: () => this.#exchange.cut(),
      });
    const failure = unansweredFailure(provider, this.#status !== 0, reason);
    this.#done(
      { usage: null, estimated: false, note: reason.reason },
      {
        status: failure.status,
        outcome: this.#status === 0 ? "upstream_error" : "upstream_cut",
        finish: () => replyFailure(this.#exchange, "model", failure, [...limits, ...headers]),
      },
    );
  }

  #onGone(): void {
    if (this.#ended) return;
    this.#call?.abort();
    this.#done(this.#seen.chargedCut(null), {
      status: 499,
      outcome: "client_gone",
      finish: () => {},
    });
  }

  #done({ usage, estimated, note }: MeteredUsage, { status, outcome, finish }: End): void {
    this.#ended = true;
    const executed = this.#status !== 0 || outcome === "client_gone";
    this.#resolve({
      status,
      usage,
      estimated,
      executed,
      outcome,
      firstByteMonoMs: this.#firstByteMonoMs,
      note,
      failed: null,
      finish,
    });
  }
}
