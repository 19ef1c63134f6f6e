/**
 * Forwards an admitted request to its provider and the response to the client: a plain answer as a
 * whole, a stream as it arrives. Meters the usage meanwhile, and returns the charge.
 *
 * `AnswerRelay` makes the call, and reports what arrives to this file's `AnswerHandler`: `onBegin`,
 * `onChunk`, then `onComplete`, `onFailure` or `onGone`. `ResponseMeter` holds the body and counts
 * it. At the end, `AnswerRelay.charge` returns the usage, and `AnswerRelay.end` resolves the
 * promise of `forward`; the caller settles, then runs the result's `finish`, which ends the
 * response.
 */
import { heldHeadMs, heldResponseBytesMax, readableResponseBytesMax } from "../../shared/bounds.js";
import type { Failure } from "../../shared/error-code.js";
import { append } from "../../shared/long-lists.js";
import { mayRunInBackground, type Operation } from "../../shared/operation.js";
import { forwardResponseHeaders, headerOf, retryHeaders } from "../http/copy-headers.js";
import type { Exchange } from "../http/exchange.js";
import { replyFailure, requestIdHeaders } from "../http/respond.js";
import { unfinishedId } from "../objects/background-responses.js";
import { isWithoutModel, type MeteredUsage, pictures } from "../usage/count-usage.js";
import { type BodyForm, ResponseMeter } from "../usage/response-meter.js";
import { type AnswerHandler, AnswerRelay, type Ending } from "./answer-relay.js";
import { failoverReason, isRefusal, isTransient } from "./errors/failover-reason.js";
import { noAnswer, unansweredFailure, untranslatableFailure } from "./errors/provider-failure.js";
import { type RefusedPart, refusedPart } from "./errors/refused-part.js";
import {
  describeNoAnswer,
  errorInEvents,
  errorInsideSuccess,
  isBrokenChat,
  isSomeAnswer,
} from "./errors/success-body.js";
import { mapUpstreamError } from "./errors/upstream-error.js";
import type { UpstreamFailure } from "./errors/upstream-failure.js";
import type { ForwardRequest, ForwardResult } from "./forwarded.js";
import { readReportedWait } from "./limit-reports.js";
import { readRetryAfterMs } from "./retry-wait.js";
import { StreamHead } from "./stream-head.js";

/** Never rejects. */
export function forward(exchange: Exchange, options: ForwardRequest): Promise<ForwardResult> {
  return new Promise((resolve) => new Forwarding(exchange, options, resolve).start());
}

/** A failure before anything was sent to the client. */
interface Failing {
  readonly outcome: "upstream_error" | "upstream_cut" | "overloaded";
  /** Zero, unless the provider may have done work. */
  readonly charged: MeteredUsage;
  /** Why another target may succeed; null if any target would fail. */
  readonly why: string | null;
  /** Whether a retry at this target may succeed. */
  readonly isWorthRetrying: boolean;
  readonly refused?: RefusedPart | null;
}

class Forwarding implements AnswerHandler {
  readonly #exchange: Exchange;
  readonly #options: ForwardRequest;
  readonly #meter: ResponseMeter;
  readonly #relay: AnswerRelay;
  /** The response headers: the provider's, then Sluice's. */
  #headers: readonly string[] = [];
  /** Whether the body is sent as it arrives, unless it is an error. */
  #passesAtOnce = false;
  /** Whether a body that isn't JSON is a failure. */
  #mustBeJson = false;
  /** The held beginning of a stream; null if the stream passes as it arrives. */
  #head: StreamHead | null = null;
  /** The headers of an error, as the provider sent them. */
  #errorHeaders: readonly (Buffer | string)[] = [];
  /** Whether the body is a page of HTML or XML, which is never an answer, whatever its length. */
  #isPage = false;
  /** The provider's Retry-After. */
  #retryAfterMs: number | null = null;

  constructor(
    exchange: Exchange,
    options: ForwardRequest,
    resolve: (forwarded: ForwardResult) => void,
  ) {
    const meter = new ResponseMeter(options, options.translator, exchange.memory);
    this.#exchange = exchange;
    this.#options = options;
    this.#meter = meter;
    this.#relay = new AnswerRelay({ exchange, options, meter, handler: this }, resolve);
  }

  start(): void {
    this.#relay.start(this.#options.upstream, this.#options.request);
  }

  onBegin(rawHeaders: readonly (Buffer | string)[]): void {
    const { request, operation, hideUsageChunk, holdsHead } = this.#options;
    const { status } = this.#relay;
    if (status < 300) this.#relay.noteLimits(rawHeaders, "");
    const headers = forwardResponseHeaders(rawHeaders);
    const contentType = headerOf(headers, "content-type").toLowerCase();
    for (const additional of [requestIdHeaders(this.#exchange), this.#options.headers])
      append(headers, additional);
    this.#headers = headers;
    if (status < 300 && contentType.startsWith("text/event-stream")) {
      this.#meter.beginStream(hideUsageChunk, this.#options.cap);
      if (holdsHead) this.#head = new StreamHead();
      else this.#begin();
      return;
    }
    if (status >= 300) {
      this.#retryAfterMs = readRetryAfterMs(rawHeaders);
      this.#errorHeaders = rawHeaders;
      return this.#meter.beginBody("unmetered", "held");
    }
    this.#mustBeJson = mustBeJson(request.method, operation, contentType);
    const form = this.#mustBeJson ? "json" : bodyForm(contentType, operation);
    // Audio reports no usage, and clients play it as it arrives.
    this.#passesAtOnce = form === "bytes";
    this.#meter.beginBody(form, "held");
  }

  onChunk(chunk: Buffer): void {
    const meter = this.#meter;
    if (meter.isStream) return this.#onEvents(chunk);
    if (meter.bytes === 0) this.#isPage = beginsAsPage(chunk);
    meter.keep(chunk);
    if (this.#exchange.hasBegun) return this.#relay.write(chunk);
    const bytesMax =
      this.#options.rewrite == null ? heldResponseBytesMax : readableResponseBytesMax;
    const isHeld = meter.bytes <= bytesMax && !meter.isFull;
    if (isHeld && !this.#passesAtOnce) return;
    if (this.#relay.status >= 300) {
      // A longer error page isn't read to the end.
      this.#relay.abortCall();
      return this.onComplete();
    }
    if (this.#mustBeJson && this.#isPage) {
      this.#relay.abortCall();
      return this.#endWithoutAnswer(meter.text(), undefined);
    }
    this.#begin();
    for (const piece of meter.release()) this.#relay.write(piece);
  }

  #begin(): void {
    this.#exchange.begin(this.#relay.status, this.#headers);
    this.#options.onBegun?.();
  }

  #onEvents(chunk: Buffer): void {
    const out = this.#meter.push(chunk);
    if (out !== null) this.#passEvents(out);
    this.#relay.countEvents(out, chunk);
  }

  #passEvents(out: Buffer | readonly Buffer[]): void {
    if (this.#head !== null) return this.#holdHead(this.#head, out);
    if (Buffer.isBuffer(out)) this.#relay.write(out);
    else for (const piece of out) this.#relay.write(piece);
  }

  /**
   * Holds the beginning of a stream. The time is checked only when bytes arrive: a client may have
   * to wait for an answer, and a keep-alive of the provider needn't reach it.
   */
  #holdHead(head: StreamHead, out: Buffer | readonly Buffer[]): void {
    const isOver = head.keep(out);
    if (this.#meter.errorSeen) {
      this.#relay.abortCall();
      this.#endWithError(errorInEvents(head.text()));
    } else if (this.#meter.isFailed) {
      this.#relay.abortCall();
      this.#endEmpty();
    } else if (isOver || this.#options.monoMs() - this.#relay.firstByteMonoMs! >= heldHeadMs)
      this.#releaseHead(head);
  }

  #releaseHead(head: StreamHead): void {
    this.#head = null;
    this.#begin();
    for (const piece of head.take()) this.#relay.write(piece);
  }

  onComplete(): void {
    if (this.#meter.isStream) return this.#endStream();
    const text = this.#meter.text();
    if (this.#relay.status >= 300) return this.#endWithError(text);
    const answer = this.#meter.read(text);
    if (!this.#exchange.hasBegun) {
      if (errorInsideSuccess(answer)) return this.#endWithError(text, answer);
      const isStored = this.#options.request.method === "GET";
      if (this.#mustBeJson && !isSomeAnswer(answer, text, isStored))
        return this.#endWithoutAnswer(text, answer);
    }
    const responseId = mayRunInBackground(this.#options.operation) ? unfinishedId(answer) : "";
    const ending: Ending = {
      status: this.#relay.status,
      outcome: this.#isBroken(text) ? "upstream_error" : "complete",
      finish: () =>
        this.#exchange.hasBegun
          ? this.#exchange.end()
          : this.#exchange.reply(
              this.#relay.status,
              this.#headers,
              this.#options.rewrite?.(text) ?? text,
              "latin1",
            ),
    };
    if (responseId !== "")
      return this.#relay.end(this.#relay.charge("running"), ending, { responseId });
    const charged = this.#relay.charge("complete", null, answer);
    this.#relay.noteLowered(text, charged);
    this.#relay.end(charged, ending);
  }

  /**
   * Whether a chat failed after its beginning: the client gets the part that arrived, and the
   * attempt counts as an error of the provider.
   */
  #isBroken(text: string): boolean {
    return this.#options.operation === "chat_completions" && isBrokenChat(text);
  }

  #endStream(): void {
    const rest = this.#meter.endStream();
    const head = this.#head;
    if (head !== null) {
      if (this.#meter.errorSeen) return this.#endWithError(errorInEvents(head.text()));
      if (!head.end() || this.#meter.isFailed) return this.#endEmpty();
      this.#releaseHead(head);
    }
    const { errorSeen, isComplete } = this.#meter;
    if (!errorSeen && !isComplete) {
      if (rest !== null) this.#exchange.write(rest);
      // After a normal end the client would take the truncated answer for complete.
      return this.#relay.endCut({
        kind: "broken",
        reason: "its stream ended before the answer did",
      });
    }
    this.#relay.end(this.#relay.charge("complete"), {
      status: this.#relay.status,
      outcome: errorSeen || this.#meter.isFailed ? "upstream_error" : "complete",
      finish: () => {
        if (rest !== null) this.#exchange.write(rest);
        this.#exchange.end();
      },
    });
  }

  ownHeaders(): readonly string[] {
    return this.#options.headers;
  }

  onGone(): void {
    this.#relay.endGone();
  }

  onFailure(failure: UpstreamFailure): void {
    const { kind, reason } = failure;
    if (kind === "untranslatable") return this.#endUntranslatable(reason);
    if (this.#exchange.hasBegun) return this.#relay.endCut(failure);
    const end = failure.isFailedAnswer === true ? "failed" : "cut";
    this.#endUnanswered(failure, this.#relay.charge(end, reason));
  }

  /** An empty stream isn't a model's answer; see `#endWithoutAnswer`. */
  #endEmpty(): void {
    const reason = this.#meter.isFailed
      ? "a stream that holds nothing but a failure of the model"
      : "an empty stream";
    this.#endUnanswered({ kind: "broken", reason }, this.#relay.charge("failed", reason));
  }

  #endUnanswered(failure: UpstreamFailure, charged: MeteredUsage): void {
    const { kind, reason } = failure;
    this.#fail(unansweredFailure(this.#options.provider, this.#relay.status !== 0, failure), {
      outcome: this.#relay.unansweredOutcome(failure),
      charged,
      // A lack of local resources affects every target.
      why: kind === "exhausted" ? null : reason,
      // A timeout isn't retried at the same target.
      isWorthRetrying: kind !== "timed_out",
    });
  }

  /**
   * The provider worked and will bill it, so it is charged. No other target repeats the work, nor
   * does an SDK that retries every 502.
   */
  #endUntranslatable(why: string): void {
    const { provider, operation } = this.#options;
    const charged = this.#relay.charge("untranslatable", why);
    const outcome = "upstream_error";
    if (this.#exchange.hasBegun)
      return this.#relay.end(charged, {
        status: this.#relay.status,
        outcome,
        finish: () => this.#exchange.cut(),
      });
    const failure = untranslatableFailure(provider, operation, why);
    const error = { status: this.#relay.status, code: failure.code, message: failure.message };
    const headers = ["x-should-retry", "false", ...this.#options.headers];
    const finish = (): void => replyFailure(this.#exchange, "model", failure, headers);
    this.#relay.end(charged, { status: failure.status, outcome, finish }, { error });
  }

  /**
   * `body`: the provider's error, as bytes in Latin-1. `answer`: the parsed body, if it was parsed.
   */
  #endWithError(body: string, answer?: unknown): void {
    const { upstream, provider, translator } = this.#options;
    if (this.#relay.status >= 300) this.#relay.noteLimits(this.#errorHeaders, body);
    // Time 0 makes a wait until a time of day too long for `#namedWait`.
    if (this.#relay.status === 429)
      this.#retryAfterMs ??= readReportedWait(this.#errorHeaders, body, 0).waitMs;
    const redacted = Buffer.from(upstream.redact(body), "latin1");
    const failure = mapUpstreamError(provider, this.#relay.status, redacted);
    // The translation itself failed, at the first event of the stream.
    if (translator?.hasFailed === true) return this.#endUntranslatable(failure.message);
    const note = isRefusal(failure) ? `the provider answered ${this.#relay.status}` : null;
    this.#fail(failure, {
      outcome: "upstream_error",
      charged: this.#relay.charge("error", note, answer),
      why: failoverReason(failure),
      refused: refusedPart(failure),
      isWorthRetrying:
        isTransient(failure) && headerOf(this.#headers, "x-should-retry").toLowerCase() !== "false",
    });
  }

  /** The body is empty or isn't a model's answer. A model may have worked all the same. */
  #endWithoutAnswer(text: string, answer: unknown): void {
    const description = `${this.#relay.status} with ${describeNoAnswer(text)}`;
    this.#fail(noAnswer(this.#options.provider, description), {
      outcome: "upstream_error",
      charged: this.#relay.charge("failed", description, answer),
      why: description,
      isWorthRetrying: true,
    });
  }

  #fail(failure: Failure, failing: Failing): void {
    const { outcome, charged, why, isWorthRetrying, refused = null } = failing;
    const { status, code, message } = failure;
    const refusesCredentials = isRefusal(failure);
    const isAnswered = this.#relay.status !== 0;
    const retryAfterMs = this.#retryAfterMs;
    const failed =
      why === null
        ? null
        : { why, status, refusesCredentials, isAnswered, retryAfterMs, isWorthRetrying };
    // SDKs would retry a 502.
    const retry = refusesCredentials
      ? ["x-should-retry", "false"]
      : [...retryHeaders(this.#headers), ...this.#namedWait()];
    const headers = [...retry, ...this.#options.headers];
    const finish = (): void => replyFailure(this.#exchange, "model", failure, headers);
    const error = { status: this.#relay.status, code, message };
    this.#relay.end(charged, { status, outcome, finish }, { failed, refused, error });
  }

  /**
   * A Retry-After for a wait that the provider named elsewhere, since clients read only this
   * header. A wait of more than a minute gets none, because some clients would hang that long.
   */
  #namedWait(): readonly string[] {
    const ms = this.#retryAfterMs;
    if (ms === null || ms > namedWaitMsMax || headerOf(this.#headers, "retry-after") !== "")
      return [];
    return ["retry-after", String(Math.max(1, Math.ceil(ms / 1000)))];
  }
}

const namedWaitMsMax = 60_000;

/** The operations whose answers are always JSON, whatever content type the response has. */
const inJson: ReadonlySet<Operation> = new Set<Operation>([
  "chat_completions",
  "responses",
  "messages",
  "count_tokens",
  "completions",
  "compact",
  "input_tokens",
  "embeddings",
  "moderations",
  "rerank",
  "images",
  "image_edits",
  "image_variations",
  "generate_content",
  "stream_generate_content",
  "embed_content",
  "batch_embed_contents",
  "interactions",
  "count_content_tokens",
]);

/** Whether a body begins with `<`, after UTF-8's byte order mark (read as Latin-1) and spaces. */
function beginsAsPage(chunk: Buffer): boolean {
  return /^(?:\u00ef\u00bb\u00bf)?\s*</.test(chunk.toString("latin1", 0, 64));
}

const binary = /^(?:audio|image|video)\/|^application\/octet-stream/;

/**
 * Whether an answer must be JSON: an answer with a picture may be an image, and a deletion may have
 * no body.
 */
export function mustBeJson(method: string, operation: Operation, contentType: string): boolean {
  return (
    inJson.has(operation) &&
    method !== "DELETE" &&
    (!pictures.has(operation) || !binary.test(contentType))
  );
}

/**
 * How to meter a successful response that isn't an event stream. Stored objects aren't read: a file
 * may contain anything.
 */
export function bodyForm(contentType: string, operation: Operation): BodyForm {
  if (contentType === "" || contentType.includes("json"))
    return isWithoutModel(operation) ? "text" : "json";
  return binary.test(contentType) ? "bytes" : "text";
}
