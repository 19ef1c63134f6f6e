/**
 * Sends an admitted request to its provider and the response to the client: plain answers whole, streams
 * byte by byte as they come. It watches for usage, honours back-pressure, and ends the upstream when the
 * client leaves. What the request is charged is returned, not acted on.
 */
import { heldResponseBytesMax } from "../shared/bounds.js";
import type { Failure } from "../shared/error-code.js";
import type { Operation } from "../shared/operation.js";
import { forwardResponseHeaders, headerOf, retryHeaders } from "./copy-headers.js";
import { type Counted, isWithoutModel, uncharged } from "./count-usage.js";
import type { Exchange } from "./exchange.js";
import { failoverReason, type TargetFailure } from "./failover-reason.js";
import type { Usage } from "./read-usage.js";
import { replyFailure, requestIdHeaders } from "./respond.js";
import { SeenAnswer, type Told, type WholeForm } from "./seen-answer.js";
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
  readonly translator: (Told & { readonly failed: boolean }) | null;
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
  readonly #seen: SeenAnswer;
  /** Its bytes go out as they come, but for those of errors. */
  #isHeard = false;
  /** Whether a stream's head still waits for its first bytes. */
  #headHeld = false;

  constructor(exchange: Exchange, what: ForwardRequest, resolve: (forwarded: Forwarded) => void) {
    this.#exchange = exchange;
    this.#what = what;
    this.#resolve = resolve;
    this.#seen = new SeenAnswer(what, what.translator);
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
      if (this.#what.standIn) this.#headHeld = true;
      else this.#exchange.begin(this.#status, this.#headers);
      return;
    }
    const form = status < 300 ? formOf(contentType, this.#what.operation) : "free";
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
    if (this.#headHeld) {
      if (this.#seen.errorSeen) {
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
    if (errorInsideSuccess(answer) && !this.#exchange.begun) return this.#endWithError(this.#status, text);
    this.#done(this.#seen.charged(answer), {
      status: this.#status,
      outcome: "complete",
      finish: () => (this.#exchange.begun ? this.#exchange.end() : this.#exchange.reply(this.#status, this.#headers, text, "latin1")),
    });
  }

  #endStream(): void {
    if (this.#headHeld) return this.onFailure({ kind: "broken", reason: "an empty stream" });
    const rest = this.#seen.endStream();
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
    const said = unansweredFailure(this.#what.provider, this.#status !== 0, reason);
    if (reason.kind === "untranslatable") return this.#endUntranslatable(said, reason.reason);
    if (!this.#exchange.begun) {
      return this.#fail(said, { outcome: this.#status === 0 ? "upstream_error" : "upstream_cut", note: reason.reason, why: reason.reason });
    }
    this.#done(this.#seen.chargedCut(reason.reason), { status: this.#status, outcome: "upstream_cut", finish: () => this.#exchange.cut() });
  }

  /** It has worked and will bill it, so it is charged, and no other target is asked to work at it again. */
  #endUntranslatable(said: Failure, why: string): void {
    const charged = this.#seen.chargedCut(why, this.#what.translator?.untoldBytes);
    if (!this.#exchange.begun) return this.#fail(said, { outcome: "upstream_error", note: charged.note, why: null }, charged);
    this.#done(charged, { status: this.#status, outcome: "upstream_error", finish: () => this.#exchange.cut() });
  }

  #onGone(): void {
    if (this.#ended) return;
    this.#call?.abort();
    this.#done(this.#status === 0 ? unsaid : this.#seen.chargedCut(null), { status: 499, outcome: "client_gone", finish: () => {} });
  }

  #endWithError(status: number, latin1: string): void {
    const body = this.#what.upstream.redact(latin1);
    const said = mapUpstreamError(this.#what.provider, status, Buffer.from(body, "latin1"));
    // The first event of a stream: what the translation made of the provider's.
    if (this.#what.translator !== null && this.#what.translator.failed) return this.#endUntranslatable(said, said.message);
    this.#fail(said, { outcome: "upstream_error", note: null, why: failoverReason(said) });
  }

  /** Nothing has gone to the client. */
  #fail(what: Failure, { outcome, note, why }: Failed, { usage, estimated }: Counted = uncharged): void {
    const failed = why === null ? null : { why, status: what.status, answered: this.#status !== 0, retryAfter: headerOf(this.#headers, "retry-after") };
    const headers = [...retryHeaders(this.#headers), ...this.#what.headers];
    this.#done({ usage, estimated, note }, { status: what.status, outcome, finish: () => replyFailure(this.#exchange, "model", what, headers) }, failed);
  }

  /** Field by field: with spreads V8 makes a new hidden class for each request, which cost a twentieth of the proxy's CPU. */
  #done({ usage, estimated, note }: Counted, { status, outcome, finish }: End, failed: TargetFailure | null = null): void {
    this.#ended = true;
    const executed = this.#status !== 0 || outcome === "client_gone";
    this.#resolve({ status, usage, estimated, executed, outcome, firstByteMonoMs: this.#firstByteMonoMs, note, failed, finish });
  }
}

/** What providers keep for callers isn't read: a file may hold anything. */
function formOf(contentType: string, operation: Operation): WholeForm {
  if (contentType === "" || contentType.includes("json")) return isWithoutModel(operation) ? "text" : "json";
  return binary.test(contentType) ? "bytes" : "text";
}

const binary = /^(?:audio|image|video)\/|^application\/octet-stream/;
/** The provider may be at work, and has said nothing. */
const unsaid: Counted = { usage: null, estimated: true, note: null };
