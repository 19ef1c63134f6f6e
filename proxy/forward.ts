/**
 * Sends an admitted request to its provider and the response to the client: plain answers whole, streams
 * byte by byte as they come. It watches for usage, honours back-pressure, and ends the upstream when the
 * client leaves. What the request is charged is returned, not acted on.
 */
import { heldResponseBytesMax, readableResponseBytesMax } from "../shared/bounds.js";
import type { Failure } from "../shared/error-code.js";
import type { Operation } from "../shared/operation.js";
import { forwardResponseHeaders, headerOf } from "./copy-headers.js";
import { countUsage, isWithoutModel, whenCut } from "./count-usage.js";
import type { Exchange } from "./exchange.js";
import { failoverReason, type TargetFailure } from "./failover-reason.js";
import { absentUsage, findUsage, parseJson, readUsage, usageAtEnd, type Usage, type UsageReading } from "./read-usage.js";
import { replyFailure } from "./respond.js";
import { createStreamTap, type StreamTap } from "./tap-stream.js";
import type { AnswerTranslator } from "./translated-upstream.js";
import type { Upstream, UpstreamCall, UpstreamFailure, UpstreamRequest, UpstreamSink } from "./upstream.js";
import { errorInEvents, errorInsideSuccess, mapUpstreamError, unansweredFailure } from "./upstream-error.js";

export interface ForwardRequest {
  readonly upstream: Upstream;
  readonly provider: string;
  readonly request: UpstreamRequest;
  /** The rate limit headers: on every response, whatever becomes of it. */
  readonly headers: readonly string[];
  /** What the client asked for: it says where the text of an answer stands. */
  readonly operation: Operation;
  /** What a provider of another dialect tells of its usage: the answer that the client gets may have no words for it, or there may be none. Null: the answer tells it. */
  readonly translator: Pick<AnswerTranslator, "usage" | "failed" | "untoldBytes"> | null;
  /** Keep the usage chunk of a stream from the client, who didn't ask for it. */
  readonly hideUsageChunk: boolean;
  readonly promptBytes: () => number;
  /** Another target can take over: the head of a stream waits for its first bytes, so that nothing is out before they are. */
  readonly standIn: boolean;
  readonly monoMs: () => number;
}

/** How it ended. `finish` gives the client the last of it, and is to be called once the settle has left. */
export interface Forwarded {
  readonly status: number;
  /** What it is charged with; null: nothing, as for an error. */
  readonly usage: Usage | null;
  /** Whether `usage` is a guess: the response was cut, or the provider told no usage. */
  readonly estimated: boolean;
  /** Whether a provider worked on it: it answered, or was cut. False when none could be reached, or none said anything. */
  readonly executed: boolean;
  readonly outcome: "complete" | "client_gone" | "upstream_error" | "upstream_cut";
  readonly firstByteMonoMs: number | null;
  /** What a log line should say beside the outcome. */
  readonly note: string | null;
  /** Set when another target may answer instead: nothing has gone to the client, and this one has failed. */
  readonly failed: TargetFailure | null;
  readonly finish: () => void;
}

interface Charged {
  readonly usage: Usage | null;
  readonly estimated: boolean;
  readonly note: string | null;
}

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
  #retryAfter = "";
  #isJson = false;
  /** Its bytes are no text, and tell nothing of tokens. */
  #isBinary = false;
  #firstByteMonoMs: number | null = null;
  /** Set for a stream of events. */
  #tap: StreamTap | null = null;
  /** Whether a stream's head still waits for its first bytes. */
  #headHeld = false;
  /** The body of a plain answer, as far as it is kept to be read; null once it is too large. */
  #kept: Buffer[] | null = [];
  #bytes = 0;

  constructor(exchange: Exchange, what: ForwardRequest, resolve: (forwarded: Forwarded) => void) {
    this.#exchange = exchange;
    this.#what = what;
    this.#resolve = resolve;
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
    this.#retryAfter = headerOf(headers, "retry-after");
    headers.push("x-request-id", this.#exchange.id, ...this.#what.headers);
    this.#headers = headers;
    this.#isJson = contentType === "" || contentType.includes("json");
    this.#isBinary = status < 300 && binary.test(contentType);
    if (status < 300 && contentType.startsWith("text/event-stream")) {
      this.#tap = createStreamTap({ operation: this.#what.operation, hideUsageChunk: this.#what.hideUsageChunk });
      if (this.#what.standIn) this.#headHeld = true;
      else this.#exchange.begin(this.#status, this.#headers);
    }
  }

  onData(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#tap !== null) {
      const out = this.#tap.push(chunk);
      if (this.#headHeld) {
        if (this.#tap.errorSeen) {
          this.#call?.abort();
          return this.#endWithError(this.#status, errorInEvents(chunk.toString("latin1")));
        }
        if (out === null) return;
        this.#headHeld = false;
        this.#exchange.begin(this.#status, this.#headers);
      }
      if (out === null) return;
      if (Buffer.isBuffer(out)) this.#write(out);
      else for (const piece of out) this.#write(piece);
      return;
    }
    if (this.#exchange.begun) {
      this.#keep(chunk);
      this.#write(chunk);
      return;
    }
    this.#keep(chunk);
    // Nothing is looked for in sound: it is heard while it is made.
    if (this.#bytes <= heldResponseBytesMax && !this.#isBinary) return;
    if (this.#status >= 300) {
      // An error page this long isn't read to its end.
      this.#call?.abort();
      this.onEnd();
      return;
    }
    this.#exchange.begin(this.#status, this.#headers);
    for (const kept of this.#kept!) this.#write(kept);
  }

  #keep(chunk: Buffer): void {
    if (this.#bytes > readableResponseBytesMax) this.#kept = null;
    this.#kept?.push(chunk);
  }

  #write(chunk: Buffer): void {
    if (this.#exchange.write(chunk)) return;
    this.#call?.pause();
    this.#exchange.onDrain(() => this.#call?.resume());
  }

  onEnd(): void {
    if (this.#ended) return;
    if (this.#tap !== null) return this.#endStream(this.#tap);
    // Latin-1 keeps every byte as it came, and what is looked for is ASCII.
    const text = this.#kept === null ? "" : (this.#kept.length === 1 ? this.#kept[0]! : Buffer.concat(this.#kept)).toString("latin1");
    if (this.#status >= 300) return this.#endWithError(this.#status, text);
    // What providers keep for callers passes as it is: a file may hold anything.
    const parsed = this.#isJson && !isWithoutModel(this.#what.operation) ? (usageAtEnd(text) ?? parseJson(text)) : undefined;
    if (errorInsideSuccess(parsed) && !this.#exchange.begun) return this.#endWithError(this.#status, text);
    const { usage, estimated, note } = this.#charged(this.#told(readUsage(findUsage(parsed))), this.#textBytes());
    const unread = this.#kept === null ? `usage unknown: the answer is larger than ${readableResponseBytesMax} bytes` : note;
    this.#done({ usage, estimated, note: unread }, {
      status: this.#status,
      outcome: "complete",
      finish: () => (this.#exchange.begun ? this.#exchange.end() : this.#exchange.reply(this.#status, this.#headers, text, "latin1")),
    });
  }

  #endStream(tap: StreamTap): void {
    if (this.#headHeld) return this.onFailure({ kind: "broken", reason: "an empty stream" });
    const rest = tap.end();
    this.#done(tap.errorSeen ? this.#chargedCut(null) : this.#charged(this.#told(tap.usage), tap.contentChars), {
      status: this.#status,
      outcome: tap.errorSeen ? "upstream_error" : "complete",
      finish: () => {
        if (rest !== null) this.#exchange.write(rest);
        this.#exchange.end();
      },
    });
  }

  onFailure(reason: UpstreamFailure): void {
    if (this.#ended) return;
    const said = unansweredFailure(this.#what.provider, this.#status !== 0, reason);
    if (reason.kind === "untranslatable") return this.#endUntranslatable(said, reason.reason);
    if (!this.#exchange.begun) {
      return this.#fail(said, { outcome: this.#status === 0 ? "upstream_error" : "upstream_cut", note: reason.reason, why: reason.reason });
    }
    this.#done(this.#chargedCut(reason.reason), { status: this.#status, outcome: "upstream_cut", finish: () => this.#exchange.cut() });
  }

  /** It has worked and will bill it, so it is charged, and no other target is asked to work at it again. */
  #endUntranslatable(said: Failure, why: string): void {
    const charged = this.#chargedCut(why, this.#what.translator?.untoldBytes);
    if (!this.#exchange.begun) return this.#fail(said, { outcome: "upstream_error", note: charged.note, why: null }, charged);
    this.#done(charged, { status: this.#status, outcome: "upstream_error", finish: () => this.#exchange.cut() });
  }

  #onGone(): void {
    if (this.#ended) return;
    this.#call?.abort();
    const sent = this.#status >= 200 && this.#status < 300;
    this.#done(sent ? this.#chargedCut(null) : { usage: null, estimated: this.#status === 0, note: null }, { status: 499, outcome: "client_gone", finish: () => {} });
  }

  #endWithError(status: number, latin1: string): void {
    const body = this.#what.upstream.redact(latin1);
    const said = mapUpstreamError(this.#what.provider, status, Buffer.from(body, "latin1"));
    // The first event of a stream: what the translation made of the provider's.
    if (this.#what.translator !== null && this.#what.translator.failed) return this.#endUntranslatable(said, said.message);
    this.#fail(said, { outcome: "upstream_error", note: null, why: failoverReason(said) });
  }

  /** Nothing has gone to the client. */
  #fail(what: Failure, { outcome, note, why }: Failed, { usage, estimated }: Charged = uncharged): void {
    const failed = why === null ? null : { why, status: what.status, answered: this.#status !== 0, retryAfter: this.#retryAfter };
    const headers = this.#retryAfter === "" ? this.#what.headers : ["retry-after", this.#retryAfter, ...this.#what.headers];
    this.#done({ usage, estimated, note }, { status: what.status, outcome, finish: () => replyFailure(this.#exchange, "model", what, headers) }, failed);
  }

  /** What was seen of a response that was cut: marked, unless it was told whole. `untoldBytes` came of an event that can't be translated. */
  #chargedCut(why: string | null, untoldBytes = 0): Charged {
    const tap = this.#tap;
    const { usage, estimated, note } = tap === null ? this.#charged(this.#told(absentUsage), this.#textBytes()) : this.#charged(whenCut(this.#told(tap.usage), tap.contentCharsSinceUsage + untoldBytes), tap.contentChars + untoldBytes);
    return { usage, estimated: tap !== null || estimated, note: why === null || note === null ? (why ?? note) : `${why}; ${note}` };
  }

  /** The provider's own word, where the answer that passed here was translated. */
  #told(seen: UsageReading): UsageReading {
    return this.#what.translator === null ? seen : readUsage(this.#what.translator.usage);
  }

  #textBytes(): number {
    if (this.#isBinary) return 0;
    return this.#what.translator === null ? this.#bytes : this.#bytes + this.#what.translator.untoldBytes;
  }

  #charged(reading: UsageReading, contentChars: number): Charged {
    return countUsage(reading, { operation: this.#what.operation, promptBytes: this.#what.promptBytes, contentChars });
  }

  /** Field by field: with spreads V8 makes a new hidden class for each request, which cost a twentieth of the proxy's CPU. */
  #done({ usage, estimated, note }: Charged, { status, outcome, finish }: End, failed: TargetFailure | null = null): void {
    this.#ended = true;
    const executed = this.#status !== 0 || outcome === "client_gone";
    this.#resolve({ status, usage, estimated, executed, outcome, firstByteMonoMs: this.#firstByteMonoMs, note, failed, finish });
  }
}

const uncharged: Charged = { usage: null, estimated: false, note: null };
const binary = /^(?:audio|image|video)\/|^application\/octet-stream/;
