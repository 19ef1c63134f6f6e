/**
 * One call to a provider whose response goes to one client: the common part of `forward.ts` and
 * `passthrough/relay-answer.ts`. It sends the request, writes with back-pressure, aborts the call
 * when the client disconnects, and resolves once with the result.
 *
 * It is also the error boundary for events of the provider, timers and the client: an exception in
 * one of them ends this request only, with a 500 or a cut.
 *
 * Not here: what is sent to the client, and when.
 */

import { requestIdCharsMax } from "../../shared/bounds.js";
import type { Operation } from "../../shared/operation.js";
import { EventEnds } from "../hard-caps/event-ends.js";
import { isLengthStop } from "../hard-caps/length-stop.js";
import type { GrantedOutput, StreamCap } from "../hard-caps/output-allowance.js";
import { beginsWith } from "../http/copy-headers.js";
import type { Exchange } from "../http/exchange.js";
import { replyInternalError } from "../http/respond.js";
import { type CallEnd, chargeFor, type EndedCall } from "../usage/charge.js";
import type { MeteredUsage } from "../usage/count-usage.js";
import type { ResponseMeter } from "../usage/response-meter.js";
import { noUsage } from "../usage/usage.js";
import { type SentRequest, type SentRequestParts, sentRequestOf } from "../usage/usage-bound.js";
import type { TargetFailure } from "./errors/failover-reason.js";
import type { RefusedPart } from "./errors/refused-part.js";
import { isFinalStatus, noSuchStatus, type UpstreamFailure } from "./errors/upstream-failure.js";
import { type Forwarded, goneEnding, type ProviderError } from "./forwarded.js";
import type { Heard } from "./limit-reports.js";
import type { UpstreamCall, UpstreamSink } from "./upstream.js";

/** Sends the end of the response. */
export type Ending = Pick<Forwarded, "status" | "outcome" | "finish">;

/** Further parts of a result. */
interface Ended {
  readonly failed?: TargetFailure | null;
  readonly refused?: RefusedPart | null;
  readonly error?: ProviderError | null;
  readonly bug?: unknown;
  readonly timedOut?: boolean;
  readonly responseId?: string;
}

const nothingElse: Ended = {};

/** What is relayed. */
interface Relayed extends SentRequestParts {
  /** The hard caps on a stream; null or absent if none counts the request. */
  readonly cap?: StreamCap | null;
  /** What hard caps grant an answer that isn't cut; null or absent if none counts it. */
  readonly granted?: GrantedOutput | null;
  readonly operation: Operation | null;
  /** Hears each answer with its headers; see `LimitReports`. */
  readonly onHeard?: ((heard: Heard) => void) | undefined;
  readonly monoMs: () => number;
}

export abstract class AnswerRelay<What extends Relayed> implements UpstreamSink, EndedCall {
  protected readonly exchange: Exchange;
  protected readonly what: What;
  readonly meter: ResponseMeter;
  /** The provider's status; 0 before its response. */
  status = 0;
  protected firstByteMonoMs: number | null = null;
  protected ended = false;
  #providerRequestId = "";
  #sentMonoMs = 0;
  #sent: SentRequest | null = null;
  #call: UpstreamCall | null = null;
  /** Why nothing more is read from the provider. */
  #waitsForClient = false;
  #waitsForGrant = false;
  #onGranted: (() => void) | null = null;
  /** The charge of a stream that a hard cap has cut. */
  #capped: MeteredUsage | null = null;
  /** The hard cap that has ended the answer, in words. */
  #cutBy = "";
  /** Set while what has arrived of a stream at its cap is counted. */
  #endsAt: StreamCap | null = null;
  /** Of a stream that hard caps count. */
  #eventEnds: EventEnds | null = null;
  /** What has arrived of it, and waits for a grant. */
  #rest: Buffer = nothing;
  /** Whether all of it has arrived. */
  #isEndHeld = false;
  readonly #resolve: (forwarded: Forwarded) => void;

  constructor(
    exchange: Exchange,
    what: What,
    meter: ResponseMeter,
    resolve: (forwarded: Forwarded) => void,
  ) {
    this.exchange = exchange;
    this.what = what;
    this.meter = meter;
    this.#resolve = resolve;
  }

  /** Call it when an answer begins, or once the body of an error has arrived. */
  protected heard(rawHeaders: Heard["rawHeaders"], body: string): void {
    const { onHeard } = this.what;
    if (onHeard === undefined) return;
    const { status, firstByteMonoMs } = this;
    const sentMonoMs = this.#sentMonoMs;
    onHeard({
      status,
      rawHeaders,
      body,
      sentMonoMs,
      firstByteMonoMs: firstByteMonoMs ?? sentMonoMs,
    });
  }

  protected abstract send(): UpstreamCall;
  protected abstract begun(rawHeaders: readonly (Buffer | string)[]): void;
  protected abstract passed(chunk: Buffer): void;
  /** Not called after `end`. */
  protected abstract completed(): void;
  /** Not called after `end`. */
  protected abstract failed(failure: UpstreamFailure): void;
  /** Sluice's headers on every answer, besides the request id. */
  protected abstract ownHeaders(): readonly string[];

  start(): void {
    this.exchange.onGone(() => this.#left());
    this.#sentMonoMs = this.what.monoMs();
    try {
      this.#call = this.send();
    } catch (error) {
      return this.onBug(error);
    }
    if (this.ended) this.#call.abort();
  }

  onHead(status: number, rawHeaders: readonly (Buffer | string)[]): void {
    if (this.ended) return;
    if (!isFinalStatus(status)) {
      this.abortCall();
      return this.onFailure(noSuchStatus(status));
    }
    try {
      this.status = status;
      this.#providerRequestId = providerRequestId(rawHeaders);
      this.begun(rawHeaders);
    } catch (error) {
      this.onBug(error);
    }
  }

  onData(chunk: Buffer): void {
    if (this.ended) return;
    try {
      if (this.#endsAt !== null) this.meter.push(chunk);
      else if (this.what.cap == null || !this.meter.isStream) this.passed(chunk);
      else this.#passEachEvent(chunk);
    } catch (error) {
      this.onBug(error);
    }
  }

  /** A hard cap pauses a stream, or ends it, after any event, however many arrive together. */
  #passEachEvent(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#passRest();
  }

  #passRest(): void {
    this.#eventEnds ??= new EventEnds();
    while (this.#rest.length > 0 && !this.#waitsForGrant && !this.ended) {
      const rest = this.#rest;
      const end = this.#eventEnds.next(rest);
      this.#rest = rest.subarray(end);
      const event = end === rest.length ? rest : rest.subarray(0, end);
      if (this.#endsAt === null) this.passed(event);
      else this.meter.push(event);
    }
  }

  onEnd(): void {
    if (this.ended) return;
    if (this.#rest.length > 0) {
      this.#isEndHeld = true;
      return;
    }
    if (this.#endsAt !== null) return this.#cutAtCap(this.#endsAt);
    try {
      this.completed();
    } catch (error) {
      this.onBug(error);
    }
  }

  onFailure(failure: UpstreamFailure): void {
    if (this.ended) return;
    if (this.#endsAt !== null) return this.#cutAtCap(this.#endsAt);
    try {
      this.failed(failure);
    } catch (error) {
      this.onBug(error);
    }
  }

  #left(): void {
    if (this.ended) return;
    try {
      this.onGone();
    } catch (error) {
      this.onBug(error);
    }
  }

  onBug(error: unknown): void {
    // Already answered and settled: nothing is left to end.
    if (this.ended) throw error;
    this.abortCall();
    this.end(
      this.#chargedAfterBug(),
      {
        status: this.exchange.begun ? this.status : 500,
        outcome: "internal_error",
        finish: () => replyInternalError(this.exchange, "model", this.ownHeaders()),
      },
      { bug: error },
    );
  }

  /** The charge of a cut answer, unless the meter itself threw. */
  #chargedAfterBug(): MeteredUsage {
    try {
      return this.charge("cut");
    } catch {
      // The first exception is reported.
      return { usage: null, estimated: true, note: null };
    }
  }

  get isSent(): boolean {
    return this.#call?.isSent === true;
  }

  get isResent(): boolean {
    return this.#call?.isResent === true;
  }

  sentRequest(): SentRequest {
    this.#sent ??= sentRequestOf(this.what);
    return this.#sent;
  }

  elapsedMs(): number {
    return this.what.monoMs() - this.#sentMonoMs;
  }

  /** As `chargeFor`. */
  protected charge(end: CallEnd, note: string | null = null, answer?: unknown): MeteredUsage {
    if (this.#rest.length > 0) this.meter.push(this.#rest);
    this.#rest = nothing;
    return this.#capped ?? chargeFor(this, end, note, answer);
  }

  protected abortCall(): void {
    this.#call?.abort();
  }

  protected write(chunk: Buffer): void {
    if (this.exchange.write(chunk)) return;
    this.#waitsForClient = true;
    this.#call?.pause();
    this.exchange.onDrain(() => {
      this.#waitsForClient = false;
      this.#resume();
    });
  }

  #resume(): void {
    if (!this.#waitsForClient && !this.#waitsForGrant) this.#call?.resume();
  }

  /**
   * Counts the events of a stream that hard caps count, after they were passed on, and lets the
   * stream flow, wait or end. `chunk`: the piece that completed them.
   */
  protected capEvents(
    cap: StreamCap,
    events: Buffer | readonly Buffer[] | null,
    chunk: Buffer,
  ): void {
    if (this.#endsAt !== null || this.ended) return;
    // The meter has decoded the chunk already.
    if (events === chunk) cap.stop?.see(chunk, this.meter.latin1);
    else if (Buffer.isBuffer(events)) cap.stop?.see(events);
    else if (events !== null) for (const each of events) cap.stop?.see(each);
    this.#flowOrEnd(cap);
  }

  #flowOrEnd(cap: StreamCap): void {
    const { meter } = this;
    const tokens = meter.outputSeen();
    if (meter.inputSeen > 0) cap.allowance.promptCounted(meter.inputSeen);
    this.#onGranted ??= () => this.#granted(cap);
    const flows = cap.allowance.use(tokens, this.#onGranted);
    // What follows the end of the answer, or ends an event that has begun, costs nothing more.
    if (flows || meter.isFinished || meter.errorSeen || !meter.isBetweenEvents) return;
    const words = cap.allowance.cap;
    if (words !== null) return this.#endAtCap(cap, words);
    this.#waitsForGrant = true;
    this.#call?.pause();
  }

  #granted(cap: StreamCap): void {
    this.#waitsForGrant = false;
    if (this.ended) return;
    try {
      this.#flowOrEnd(cap);
      this.#passRest();
    } catch (error) {
      return this.onBug(error);
    }
    if (this.#waitsForGrant || this.ended) return;
    if (this.#isEndHeld) this.onEnd();
    else this.#resume();
  }

  /**
   * What the provider has sent meanwhile is billed, so it is charged: it is read, in two turns of
   * the event loop, but not passed on.
   */
  #endAtCap(cap: StreamCap, words: string): void {
    this.#cutBy = words;
    this.#endsAt = cap;
    this.#passRest();
    this.#call?.resume();
    setImmediate(() => void setImmediate(() => this.#cutAtCap(cap)));
  }

  #cutAtCap(cap: StreamCap): void {
    if (this.ended) return;
    this.abortCall();
    try {
      this.#passEnd(cap);
    } catch (error) {
      this.onBug(error);
    }
  }

  #passEnd({ stop }: StreamCap): void {
    const charged = this.charge("capped");
    this.#capped = charged;
    if (stop === null)
      return this.end(charged, {
        status: this.status,
        outcome: "complete",
        finish: () => this.exchange.cut(),
      });
    this.meter.dropIncomplete();
    this.passed(stop.end(charged.usage ?? noUsage, this.#cutBy));
    if (!this.ended) this.completed();
  }

  /** Call it with a whole answer: notes the hard cap that has lowered a maximum that it reached. */
  protected noteLowered(text: string, { usage }: MeteredUsage): void {
    const { granted = null, operation } = this.what;
    if (granted === null || granted.loweredBy === null || operation === null) return;
    const max = Math.floor(granted.tokens / granted.choices);
    if ((usage?.outputTokens ?? 0) >= max && isLengthStop(operation, text))
      this.#cutBy = granted.loweredBy;
  }

  /** A stream that hard caps count has ended. */
  #endCap(cap: StreamCap, { usage, estimated }: MeteredUsage): void {
    cap.allowance.end();
    const { textBytes, hasOtherText } = this.meter;
    // An answer whose text wasn't all counted says nothing about the bytes of a token.
    if (usage !== null && !estimated && textBytes > 0 && !hasOtherText)
      cap.learn(textBytes, usage.outputTokens);
  }

  /** The client disconnected or was cut off. Not called after `end`. */
  protected onGone(): void {
    this.abortCall();
    this.end(this.charge("cut"), { ...goneEnding(this.exchange), finish: () => {} });
  }

  /** The cause of a missing or incomplete response, before anything was sent. */
  protected unansweredOutcome({
    kind,
  }: UpstreamFailure): "upstream_error" | "upstream_cut" | "overloaded" {
    if (kind === "exhausted") return "overloaded";
    return this.status === 0 ? "upstream_error" : "upstream_cut";
  }

  /** The response ended early after it was partly sent: the client sees a cut. */
  protected endCut({ kind, reason }: UpstreamFailure): void {
    const ending: Ending = {
      status: this.status,
      outcome: "upstream_cut",
      finish: () => this.exchange.cut(),
    };
    const error = { status: this.status, code: null, message: reason };
    this.end(this.charge("cut", reason), ending, { timedOut: kind === "timed_out", error });
  }

  /**
   * Field by field: with spreads V8 makes a new hidden class for each request, which cost a
   * twentieth of the proxy's CPU.
   */
  protected end(
    { usage, estimated, atMost = null, note }: MeteredUsage,
    { status, outcome, finish }: Ending,
    {
      failed = null,
      refused = null,
      error = null,
      bug = null,
      timedOut = false,
      responseId = "",
    }: Ended = nothingElse,
  ): void {
    this.ended = true;
    const { cap = null } = this.what;
    if (cap !== null) this.#endCap(cap, { usage, estimated, note });
    const executed = this.status !== 0 || this.isSent || this.isResent;
    this.#resolve({
      status,
      usage,
      estimated,
      atMost,
      executed,
      outcome,
      firstByteMonoMs: this.firstByteMonoMs,
      timedOut,
      responseId,
      servedModel: this.meter.model,
      providerRequestId: this.#providerRequestId,
      providerKey: this.#call?.keyName ?? "",
      cutBy: this.#cutBy,
      note,
      failed,
      refused,
      error,
      bug,
      finish,
    });
  }
}

const nothing = Buffer.alloc(0);

/**
 * Header names of OpenAI and most others, Anthropic, Azure, and Amazon, indexed by their lengths.
 */
const providerNames: readonly (Buffer | undefined)[] = [
  "x-request-id",
  "request-id",
  "apim-request-id",
  "x-amzn-requestid",
].reduce<(Buffer | undefined)[]>((byLength, name) => {
  byLength[name.length] = Buffer.from(name);
  return byLength;
}, []);

/**
 * The provider's id of a request, for support questions; empty without one, and if it isn't
 * printable ASCII: callers may choose the id that a host returns.
 */
export function providerRequestId(rawHeaders: readonly (Buffer | string)[]): string {
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    const known = providerNames[name.length];
    if (known === undefined || !isNamed(name, known)) continue;
    const id = asText(rawHeaders[i + 1]!);
    return /^[\x20-\x7e]*$/.test(id) ? id.slice(0, requestIdCharsMax) : "";
  }
  return "";
}

/** Compares bytes without decoding: many headers have the length of one of these names. */
function isNamed(name: Buffer | string, known: Buffer): boolean {
  return beginsWith(typeof name === "string" ? Buffer.from(name, "latin1") : name, known);
}

function asText(value: Buffer | string): string {
  return typeof value === "string" ? value : value.toString("latin1");
}
