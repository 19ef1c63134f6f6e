/**
 * Sends an admitted request to its provider and the response to the client: plain answers whole,
 * streams byte by byte as they come. It watches for usage, honours back-pressure, and ends the
 * upstream when the client leaves. What the request is charged is returned, not acted on.
 */
import { heldHeadMs, heldResponseBytesMax } from "../../shared/bounds.js";
import type { Failure } from "../../shared/error-code.js";
import type { Operation } from "../../shared/operation.js";
import { forwardResponseHeaders, headerOf, retryHeaders } from "../http/copy-headers.js";
import type { Exchange } from "../http/exchange.js";
import { replyFailure, requestIdHeaders } from "../http/respond.js";
import { mustBeJson, wholeForm } from "../usage/answer-form.js";
import type { MeteredUsage } from "../usage/count-usage.js";
import { ResponseMeter, type TranslationReport } from "../usage/response-meter.js";
import { failoverReason, type TargetFailure } from "./errors/failover-reason.js";
import { noAnswer, unansweredFailure, untranslatable } from "./errors/provider-failure.js";
import {
  describeNoAnswer,
  errorInEvents,
  errorInsideSuccess,
  isSomeAnswer,
} from "./errors/success-body.js";
import { mapUpstreamError } from "./errors/upstream-error.js";
import type { UpstreamFailure } from "./errors/upstream-failure.js";
import { StreamHead } from "./stream-head.js";
import type { Upstream, UpstreamCall, UpstreamRequest, UpstreamSink } from "./upstream.js";

export interface ForwardRequest {
  readonly upstream: Upstream;
  readonly provider: string;
  readonly request: UpstreamRequest;
  /** The rate limit headers: on every response, whatever becomes of it. */
  readonly headers: readonly string[];
  /** What the client asked for: it says where the text of an answer stands. */
  readonly operation: Operation;
  /**
   * What a provider of another dialect tells of its usage: the answer that the client gets may have
   * no words for it, or there may be none. Null: the answer tells it.
   */
  readonly translator: (TranslationReport & { readonly failed: boolean }) | null;
  /** Keep the usage chunk of a stream from the client, who didn't ask for it. */
  readonly hideUsageChunk: boolean;
  readonly promptBytes: () => number;
  /**
   * Another target can take over: the head of a stream waits until an answer begins, so that
   * nothing is out before.
   */
  readonly hasFallback: boolean;
  readonly monoMs: () => number;
}

import type { Forwarded } from "./forwarded.js";

type End = Pick<Forwarded, "status" | "outcome" | "finish">;

interface Failed {
  readonly outcome: "upstream_error" | "upstream_cut";
  readonly note: string | null;
  /** Null when no other target would do better. */
  readonly why: string | null;
}

/** Never rejects. */
export function forward(exchange: Exchange, what: ForwardRequest): Promise<Forwarded> {
  return new Promise((resolve) => new Forwarding(exchange, what, resolve).start());
}

class Forwarding implements UpstreamSink {
  readonly #exchange: Exchange;
  readonly #what: ForwardRequest;
  readonly #resolve: (forwarded: Forwarded) => void;
  #call: UpstreamCall | null = null;
  #ended = false;
  #status = 0;
  /** The provider's, then ours. */
  #headers: readonly string[] = [];
  #firstByteMonoMs: number | null = null;
  readonly #seen: ResponseMeter;
  /** Its bytes go out as they come, but for those of errors. */
  #isHeard = false;
  /** It is no answer unless it is JSON. */
  #mustBeJson = false;
  /** What has come of a stream that hasn't gone out yet; null: it goes out as it comes. */
  #head: StreamHead | null = null;

  constructor(exchange: Exchange, what: ForwardRequest, resolve: (forwarded: Forwarded) => void) {
    this.#exchange = exchange;
    this.#what = what;
    this.#resolve = resolve;
    this.#seen = new ResponseMeter(what, what.translator);
  }

  start(): void {
    this.#exchange.onGone(() => this.#onGone());
    this.#call = this.#what.upstream.send(this.#what.request, this);
    if (this.#ended) this.#call.abort();
  }

  onHead(status: number, rawHeaders: readonly (Buffer | string)[]): void {
    this.#status = status;
    this.#firstByteMonoMs = this.#what.monoMs();
    const headers = forwardResponseHeaders(rawHeaders);
    const contentType = headerOf(headers, "content-type").toLowerCase();
    headers.push(...requestIdHeaders(this.#exchange), ...this.#what.headers);
    this.#headers = headers;
    if (status < 300 && contentType.startsWith("text/event-stream")) {
      this.#seen.beginStream(this.#what.hideUsageChunk);
      if (this.#what.hasFallback) this.#head = new StreamHead();
      else this.#exchange.begin(this.#status, this.#headers);
      return;
    }
    this.#mustBeJson =
      status < 300 && mustBeJson(this.#what.request.method, this.#what.operation, contentType);
    const form = this.#mustBeJson
      ? "json"
      : status < 300
        ? wholeForm(contentType, this.#what.operation)
        : "free";
    // Nothing is looked for in sound: it is heard while it is made.
    this.#isHeard = form === "bytes";
    this.#seen.beginWhole(form, true);
  }

  onData(chunk: Buffer): void {
    const seen = this.#seen;
    if (seen.isStream) return this.#onEvents(chunk);
    seen.keep(chunk);
    if (this.#exchange.begun) return this.#write(chunk);
    if (seen.bytes <= heldResponseBytesMax && !this.#isHeard) return;
    if (this.#status >= 300) {
      // An error page this long isn't read to its end.
      this.#call?.abort();
      this.onEnd();
      return;
    }
    this.#exchange.begin(this.#status, this.#headers);
    for (const kept of seen.release()) this.#write(kept);
  }

  #onEvents(chunk: Buffer): void {
    const out = this.#seen.push(chunk);
    if (out === null) return;
    if (this.#head !== null) return this.#holdHead(this.#head, out);
    if (Buffer.isBuffer(out)) this.#write(out);
    else for (const piece of out) this.#write(piece);
  }

  /**
   * Time is looked at when something comes: a client may be kept waiting, but not kept from hearing
   * that somebody is at work.
   */
  #holdHead(head: StreamHead, out: Buffer | readonly Buffer[]): void {
    const isOver = head.keep(out);
    if (this.#seen.errorSeen) {
      this.#call?.abort();
      this.#endWithError(this.#status, errorInEvents(head.text()));
    } else if (isOver || this.#what.monoMs() - this.#firstByteMonoMs! >= heldHeadMs)
      this.#releaseHead(head);
  }

  #releaseHead(head: StreamHead): void {
    this.#head = null;
    this.#exchange.begin(this.#status, this.#headers);
    for (const kept of head.take()) this.#write(kept);
  }

  #write(chunk: Buffer): void {
    if (this.#exchange.write(chunk)) return;
    this.#call?.pause();
    this.#exchange.onDrain(() => this.#call?.resume());
  }

  onEnd(): void {
    if (this.#ended) return;
    if (this.#seen.isStream) return this.#endStream();
    const text = this.#seen.text();
    if (this.#status >= 300) return this.#endWithError(this.#status, text);
    const answer = this.#seen.read(text);
    if (!this.#exchange.begun) {
      if (errorInsideSuccess(answer)) return this.#endWithError(this.#status, text);
      if (this.#mustBeJson && !isSomeAnswer(answer, text)) return this.#endWithoutAnswer(text);
    }
    this.#done(this.#seen.charged(answer), {
      status: this.#status,
      outcome: "complete",
      finish: () =>
        this.#exchange.begun
          ? this.#exchange.end()
          : this.#exchange.reply(this.#status, this.#headers, text, "latin1"),
    });
  }

  #endStream(): void {
    const rest = this.#seen.endStream();
    const head = this.#head;
    if (head !== null) {
      if (this.#seen.errorSeen) return this.#endWithError(this.#status, errorInEvents(head.text()));
      if (!head.end()) return this.onFailure({ kind: "broken", reason: "an empty stream" });
      this.#releaseHead(head);
    }
    this.#done(this.#seen.charged(), {
      status: this.#status,
      outcome: this.#seen.errorSeen ? "upstream_error" : "complete",
      finish: () => {
        if (rest !== null) this.#exchange.write(rest);
        this.#exchange.end();
      },
    });
  }

  onFailure(reason: UpstreamFailure): void {
    if (this.#ended) return;
    if (reason.kind === "untranslatable") return this.#endUntranslatable(reason.reason);
    if (!this.#exchange.begun) {
      const said = unansweredFailure(this.#what.provider, this.#status !== 0, reason);
      return this.#fail(said, {
        outcome: this.#status === 0 ? "upstream_error" : "upstream_cut",
        note: reason.reason,
        why: reason.reason,
      });
    }
    this.#done(this.#seen.chargedCut(reason.reason), {
      status: this.#status,
      outcome: "upstream_cut",
      finish: () => this.#exchange.cut(),
    });
  }

  /**
   * The provider has worked and will bill it, so it is charged, and no other target is asked to
   * work at it again; nor is this one, by an SDK that retries every 502.
   */
  #endUntranslatable(why: string): void {
    const charged = this.#seen.chargedCut(why, this.#what.translator?.untranslatedBytes);
    if (!this.#exchange.begun) {
      const said = untranslatable(this.#what.provider, this.#what.operation, why);
      const headers = ["x-should-retry", "false", ...this.#what.headers];
      return this.#done(charged, {
        status: said.status,
        outcome: "upstream_error",
        finish: () => replyFailure(this.#exchange, "model", said, headers),
      });
    }
    this.#done(charged, {
      status: this.#status,
      outcome: "upstream_error",
      finish: () => this.#exchange.cut(),
    });
  }

  #onGone(): void {
    if (this.#ended) return;
    this.#call?.abort();
    this.#done(this.#status === 0 ? unsaid : this.#seen.chargedCut(null), {
      status: 499,
      outcome: "client_gone",
      finish: () => {},
    });
  }

  #endWithError(status: number, latin1: string): void {
    const body = this.#what.upstream.redact(latin1);
    const said = mapUpstreamError(this.#what.provider, status, Buffer.from(body, "latin1"));
    // The first event of a stream: what the translation made of the provider's.
    if (this.#what.translator !== null && this.#what.translator.failed)
      return this.#endUntranslatable(said.message);
    this.#fail(said, { outcome: "upstream_error", note: null, why: failoverReason(said) });
  }

  /** A page of something else, or nothing at all: no model has worked at it. */
  #endWithoutAnswer(text: string): void {
    const given = `${this.#status} with ${describeNoAnswer(text)}`;
    this.#fail(noAnswer(this.#what.provider, given), {
      outcome: "upstream_error",
      note: given,
      why: given,
    });
  }

  /** Nothing has gone to the client. */
  #fail(what: Failure, { outcome, note, why }: Failed): void {
    const failed =
      why === null
        ? null
        : {
            why,
            status: what.status,
            answered: this.#status !== 0,
            retryAfter: headerOf(this.#headers, "retry-after"),
          };
    const headers = [...retryHeaders(this.#headers), ...this.#what.headers];
    this.#done(
      { usage: null, estimated: false, note },
      {
        status: what.status,
        outcome,
        finish: () => replyFailure(this.#exchange, "model", what, headers),
      },
      failed,
    );
  }

  /**
   * Field by field: with spreads V8 makes a new hidden class for each request, which cost a
   * twentieth of the proxy's CPU.
   */
  #done(
    { usage, estimated, note }: MeteredUsage,
    { status, outcome, finish }: End,
    failed: TargetFailure | null = null,
  ): void {
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
      failed,
      finish,
    });
  }
}

/** The provider may be at work, and has said nothing. */
const unsaid: MeteredUsage = { usage: null, estimated: true, note: null };
