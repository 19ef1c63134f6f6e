/**
 * Passes an admitted request to its provider unchanged, and the answer to the client: status,
 * headers and bytes, including errors. Meters the usage as it passes, and returns the charge to the
 * caller. The last bytes of an answer wait for the settle.
 */

import { heldResponseBytesMax, readableResponseBytesMax } from "../../../shared/bounds.js";
import { append } from "../../../shared/long-lists.js";
import { mayRunInBackground, type Operation } from "../../../shared/operation.js";
import type { GrantedOutput, StreamCap } from "../../hard-caps/output-allowance.js";
import { headerOf, passResponseHeaders } from "../../http/copy-headers.js";
import type { Exchange } from "../../http/exchange.js";
import { replyFailure } from "../../http/respond.js";
import { unfinishedId } from "../../objects/background-responses.js";
import { ResponseMeter } from "../../usage/response-meter.js";
import { type AnswerHandler, AnswerRelay, type Ending } from "../answer-relay.js";
import { readErrorFields } from "../errors/error-fields.js";
import { redirectFailure, unansweredFailure } from "../errors/provider-failure.js";
import { errorInsideSuccess, isEmptyAnswer } from "../errors/success-body.js";
import type { UpstreamFailure } from "../errors/upstream-failure.js";
import type { ForwardResult, ProviderError } from "../forwarded.js";
import type { ProviderAnswer } from "../limit-reports.js";
import { type ProviderLinks, relinkedHeaders, relinkedJson } from "../provider-links.js";
import type { PassthroughRequest, PassthroughUpstream } from "./passthrough-upstream.js";

export interface RelayRequest {
  readonly upstream: PassthroughUpstream;
  readonly provider: string;
  readonly request: PassthroughRequest;
  readonly links: ProviderLinks;
  /** The headers of Sluice's limits, for answers to which the provider adds none of its own. */
  readonly limits: readonly string[];
  /** Headers of every response, besides the request id. */
  readonly headers: readonly string[];
  /**
   * The operation, if it is known; then usage that isn't reported is estimated. Null: only reported
   * usage is charged.
   */
  readonly operation: Operation | null;
  /** How many bytes of the request's body have passed. */
  readonly promptBytes: () => number;
  /** As in `SentRequest`; called only if the usage is unknown. */
  readonly modelOutputMax?: () => number | null;
  readonly reasonsByDefault?: () => boolean;
  readonly showsReasoning?: () => boolean;
  /** As in `MeteredRequest`. */
  readonly readsModel?: boolean;
  /** The hard caps on a stream; null or absent if none counts the request. */
  readonly cap?: StreamCap | null;
  /**
   * The output that hard caps grant an answer that can't be cut; null or absent if none counts it.
   */
  readonly granted?: GrantedOutput | null;
  /**
   * For a request about an earlier response: called with the answer in Latin-1, if all of it was
   * held.
   */
  readonly onAnswer?: ((text: string) => void) | undefined;
  /** Called when the answer starts to be sent. */
  readonly onBegun?: () => void;
  /** Called with each answer and its headers; see `LimitReports`. */
  readonly observeLimits?: ((answer: ProviderAnswer) => void) | undefined;
  readonly monoMs: () => number;
}

/** Never rejects. */
export function relayAnswer(exchange: Exchange, options: RelayRequest): Promise<ForwardResult> {
  return new Promise((resolve) => new Relaying(exchange, options, resolve).start());
}

class Relaying implements AnswerHandler {
  readonly #exchange: Exchange;
  readonly #options: RelayRequest;
  readonly #meter: ResponseMeter;
  readonly #relay: AnswerRelay;
  /** The response headers: the provider's, then Sluice's. */
  #headers: string[] = [];
  /** The headers of an error, as the provider sent them. */
  #errorHeaders: readonly (Buffer | string)[] = [];
  /** The provider's Content-Length; null without one. */
  #announcedBytes: number | null = null;
  /** How many bytes may be held: more for an answer whose addresses may have to be rewritten. */
  #heldBytesMax = heldResponseBytesMax;
  #mayHaveLinks = false;
  /** The piece that completes the announced length. */
  #last: Buffer | null = null;

  constructor(
    exchange: Exchange,
    options: RelayRequest,
    resolve: (forwarded: ForwardResult) => void,
  ) {
    const meter = new ResponseMeter(options, null, exchange.memory);
    this.#exchange = exchange;
    this.#options = options;
    this.#meter = meter;
    this.#relay = new AnswerRelay({ exchange, options, meter, handler: this }, resolve);
  }

  start(): void {
    this.#relay.start(this.#options.upstream, this.#options.request);
  }

  ownHeaders(): readonly string[] {
    return [...this.#options.limits, ...this.#options.headers];
  }

  onBegin(rawHeaders: readonly (Buffer | string)[]): void {
    const options = this.#options;
    const { status } = this.#relay;
    if (status < 300) this.#relay.noteLimits(rawHeaders, "");
    else this.#errorHeaders = rawHeaders;
    this.#headers = passResponseHeaders(rawHeaders, options.limits);
    this.#headers.push("x-request-id", this.#exchange.id);
    append(this.#headers, options.headers);
    const relinked = relinkedHeaders(options.links, status, rawHeaders);
    if (relinked === null) return this.#refuseRedirect();
    append(this.#headers, relinked);
    const length = headerOf(rawHeaders, "content-length");
    // A stream may be cut before its announced length.
    this.#announcedBytes = length === "" || options.cap != null ? null : Number(length);
    const contentType = headerOf(rawHeaders, "content-type").toLowerCase();
    const coding = headerOf(rawHeaders, "content-encoding");
    const isReadable = /^(?:identity)?$/i.test(coding);
    const isJson = contentType.includes("json");
    const isStream = contentType.startsWith("text/event-stream");
    // Only a POST runs a model. The answers to other methods, and about earlier responses, may
    // repeat usage that was charged before.
    const isNew = options.request.method === "POST" && options.onAnswer === undefined;
    const mayReportUsage = status < 300 && isNew;
    if (mayReportUsage && isReadable && isStream) {
      this.#meter.beginStream(false, options.cap);
      return this.#begin();
    }
    this.#mayHaveLinks =
      /^application\/json\b/.test(contentType) &&
      status < 300 &&
      options.operation === null &&
      !isContent(options.request.path);
    if (this.#mayHaveLinks && options.request.method === "GET")
      this.#heldBytesMax = readableResponseBytesMax;
    // Hold an answer that may have to be rewritten, or that is short enough to wait for its settle.
    const isHeld =
      isReadable &&
      (isJson || status >= 400) &&
      (this.#announcedBytes ?? 0) <= this.#heldBytesMax &&
      options.request.method !== "HEAD";
    const mode = isHeld ? "held" : "passed";
    if (!mayReportUsage) this.#meter.beginBody("unmetered", mode);
    else if (isReadable) this.#meter.beginBody(isJson ? "json" : "bytes", mode);
    else
      this.#meter.beginBody(
        isJson || isStream ? "text" : "bytes",
        "passed",
        `usage unknown: the answer's content-encoding is ${JSON.stringify(coding.slice(0, 64))}`,
      );
    if (!isHeld) this.#begin();
  }

  /**
   * Begins the answer with the provider's length: the client gets the bytes that the provider
   * sends.
   */
  #begin(): void {
    if (this.#announcedBytes !== null)
      this.#headers.push("content-length", String(this.#announcedBytes));
    this.#exchange.begin(this.#relay.status, this.#headers);
    this.#options.onBegun?.();
  }

  onChunk(chunk: Buffer): void {
    const meter = this.#meter;
    if (meter.isStream && this.#options.cap != null)
      return this.#passEvents(meter.push(chunk), chunk);
    if (meter.isStream) meter.push(chunk);
    else meter.keep(chunk);
    if (!this.#exchange.hasBegun) this.#hold();
    else if (meter.bytes === this.#announcedBytes) this.#last = chunk;
    else this.#relay.write(chunk);
  }

  /** Passes only whole events, since the stream may be cut after any of them. */
  #passEvents(events: Buffer | readonly Buffer[] | null, chunk: Buffer): void {
    if (Buffer.isBuffer(events)) this.#relay.write(events);
    else if (events !== null) for (const event of events) this.#relay.write(event);
    this.#relay.countEvents(events, chunk);
  }

  #hold(): void {
    if (this.#meter.bytes <= this.#heldBytesMax && !this.#meter.isFull) return;
    if (this.#heldBytesMax > heldResponseBytesMax && this.#meter.isFull) {
      this.#relay.abortCall();
      return this.onFailure({
        kind: "broken",
        reason: "there is no memory to rewrite the addresses in it",
      });
    }
    this.#begin();
    for (const piece of this.#meter.release()) this.#relay.write(piece);
  }

  onComplete(): void {
    const { meter, status } = this.#relay;
    if (meter.isStream) {
      const rest = meter.endStream();
      if (rest !== null) this.#relay.write(rest);
      return this.#relay.end(this.#relay.charge("complete"), {
        status,
        outcome: meter.errorSeen || meter.isFailed ? "upstream_error" : "complete",
        finish: () => this.#finishBegun(),
      });
    }
    const text = meter.text();
    if (status >= 300) this.#relay.noteLimits(this.#errorHeaders, text);
    const finish = (): void => this.#finishBody(text);
    const answer = meter.read(text);
    const isError = status >= 400 || (!this.#exchange.hasBegun && errorInsideSuccess(answer));
    if (isError)
      return this.#relay.end(
        this.#relay.charge("error", null, answer),
        { status, outcome: "upstream_error", finish },
        { error: this.#exchange.hasBegun ? null : this.#errorIn(text) },
      );
    this.#options.onAnswer?.(text);
    const responseId = mayRunInBackground(this.#options.operation) ? unfinishedId(answer) : "";
    const isNothing = this.#isNothing(text);
    const charged =
      responseId === ""
        ? this.#relay.charge(isNothing ? "failed" : "complete", null, answer)
        : this.#relay.charge("running");
    const outcome = isNothing ? "upstream_error" : "complete";
    this.#relay.noteLowered(text, charged);
    this.#relay.end(charged, { status, outcome, finish }, { responseId });
  }

  /** `text`: the provider's error, as bytes in Latin-1. */
  #errorIn(text: string): ProviderError {
    const redacted = Buffer.from(this.#options.upstream.redact(text), "latin1").toString("utf8");
    const { code, message } = readErrorFields(redacted);
    return {
      status: this.#relay.status,
      code,
      message: message ?? `answered ${this.#relay.status}`,
    };
  }

  /** Whether a new answer contains nothing from a model. */
  #isNothing(text: string): boolean {
    const { request, onAnswer } = this.#options;
    return request.method === "POST" && onAnswer === undefined && isEmptyAnswer(text);
  }

  #finishBody(text: string): void {
    if (this.#exchange.hasBegun) return this.#finishBegun();
    if (this.#meter.bytes > 0) {
      const body = this.#mayHaveLinks
        ? relinkedJson(this.#options.links, text)
        : this.#relay.status >= 400
          ? this.#options.upstream.redact(text)
          : text;
      return this.#exchange.reply(this.#relay.status, this.#headers, body, "latin1");
    }
    this.#begin();
    this.#exchange.end();
  }

  #finishBegun(): void {
    if (this.#last !== null) this.#exchange.write(this.#last);
    this.#exchange.end();
  }

  /** Refuses the redirect, because some clients would send their key along. */
  #refuseRedirect(): void {
    this.#relay.abortCall();
    const failure = redirectFailure(this.#options.provider, this.#relay.status);
    const headers = ["x-should-retry", "false", ...this.ownHeaders()];
    this.#relay.end(this.#relay.charge("error", "the provider redirects to another host"), {
      status: failure.status,
      outcome: "upstream_error",
      finish: () => replyFailure(this.#exchange, "model", failure, headers),
    });
  }

  onGone(): void {
    this.#relay.endGone();
  }

  onFailure(upstreamFailure: UpstreamFailure): void {
    // If the client left while it sent its body, the provider isn't at fault.
    if (this.#exchange.gone) return this.onGone();
    if (this.#exchange.hasBegun) return this.#relay.endCut(upstreamFailure);
    const { provider } = this.#options;
    const failure = unansweredFailure(provider, this.#relay.status !== 0, upstreamFailure);
    const ending: Ending = {
      status: failure.status,
      outcome: this.#relay.unansweredOutcome(upstreamFailure),
      finish: () => replyFailure(this.#exchange, "model", failure, this.ownHeaders()),
    };
    const error = { status: this.#relay.status, code: failure.code, message: failure.message };
    this.#relay.end(this.#relay.charge("cut", upstreamFailure.reason), ending, { error });
  }
}

/** Whether a path refers to stored content, which passes unchanged. */
function isContent(path: string): boolean {
  return /\/(?:content|results)(?:\?|$)|:download\b|[?&]alt=media(?:&|$)/i.test(path);
}
