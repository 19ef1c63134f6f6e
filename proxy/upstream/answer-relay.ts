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
import { beginsWith } from "../http/copy-headers.js";
import type { Exchange } from "../http/exchange.js";
import { replyInternalError } from "../http/respond.js";
import { countsNothing, type MeteredUsage, unmetered } from "../usage/count-usage.js";
import { withHiddenReasoning } from "../usage/hidden-reasoning.js";
import type { ResponseMeter } from "../usage/response-meter.js";
import type { Usage } from "../usage/usage.js";
import { added, noUsage } from "../usage/usage.js";
import { isBoundedByTokens, type SentRequest, usageBound } from "../usage/usage-bound.js";
import type { TargetFailure } from "./errors/failover-reason.js";
import type { RefusedPart } from "./errors/refused-part.js";
import { isFinalStatus, noSuchStatus, type UpstreamFailure } from "./errors/upstream-failure.js";
import { type Forwarded, goneEnding } from "./forwarded.js";
import type { UpstreamCall, UpstreamSink } from "./upstream.js";

/** Sends the end of the response. */
export type Ending = Pick<Forwarded, "status" | "outcome" | "finish">;

/** Further parts of a result. */
interface Ended {
  readonly failed?: TargetFailure | null;
  readonly refused?: RefusedPart | null;
  readonly bug?: unknown;
  readonly timedOut?: boolean;
  readonly responseId?: string;
}

const nothingElse: Ended = {};

export abstract class AnswerRelay implements UpstreamSink {
  protected readonly exchange: Exchange;
  protected readonly meter: ResponseMeter;
  /** The provider's status; 0 before its response. */
  protected status = 0;
  protected firstByteMonoMs: number | null = null;
  protected ended = false;
  #providerRequestId = "";
  #sentMonoMs = 0;
  #call: UpstreamCall | null = null;
  readonly #resolve: (forwarded: Forwarded) => void;

  constructor(exchange: Exchange, meter: ResponseMeter, resolve: (forwarded: Forwarded) => void) {
    this.exchange = exchange;
    this.meter = meter;
    this.#resolve = resolve;
  }

  protected abstract send(): UpstreamCall;
  protected abstract begun(rawHeaders: readonly (Buffer | string)[]): void;
  protected abstract passed(chunk: Buffer): void;
  /** Not called after `end`. */
  protected abstract completed(): void;
  /** Not called after `end`. */
  protected abstract failed(failure: UpstreamFailure): void;
  /** The request that was sent, to bound an unknown usage. */
  protected abstract sentRequest(): SentRequest;
  protected abstract nowMonoMs(): number;
  /** Sluice's headers on every answer, besides the request id. */
  protected abstract ownHeaders(): readonly string[];

  start(): void {
    this.exchange.onGone(() => this.#left());
    this.#sentMonoMs = this.nowMonoMs();
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
      this.passed(chunk);
    } catch (error) {
      this.onBug(error);
    }
  }

  onEnd(): void {
    if (this.ended) return;
    try {
      this.completed();
    } catch (error) {
      this.onBug(error);
    }
  }

  onFailure(failure: UpstreamFailure): void {
    if (this.ended) return;
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

  /** The metered usage, unless the meter itself threw. */
  #chargedAfterBug(): MeteredUsage {
    try {
      return this.chargedWhenGone();
    } catch {
      // The first exception is reported.
      return { usage: null, estimated: true, note: null };
    }
  }

  /** Whether the whole request was sent: the provider may then work on it and bill it. */
  protected get isSent(): boolean {
    return this.#call?.isSent === true;
  }

  /**
   * The charge without a complete answer: zero if the request wasn't sent or the provider refused
   * it; otherwise the metered part.
   */
  protected chargedWithoutEnd(why: string | null): MeteredUsage {
    if (isTimeoutStatus(this.status)) return this.uncharged(why);
    if (this.status >= 300 || (this.status === 0 && !this.isSent))
      return { ...unmetered, note: why };
    const charged =
      this.status === 0 ? this.meter.chargedWhenUnanswered(why) : this.meter.chargedWhenCut(why);
    const { usage, isOutputReported = false } = charged;
    if (usage === null || isOutputReported) return this.bounded(charged);
    const elapsedMs = this.nowMonoMs() - this.#sentMonoMs;
    return this.bounded({
      ...charged,
      usage: withHiddenReasoning(usage, this.sentRequest(), elapsedMs),
    });
  }

  /**
   * The charge of a complete answer; `answer` is absent for a stream. For a background response
   * that still runs it is an estimate of the prompt.
   */
  protected chargedAtEnd(answer?: unknown, responseId = ""): MeteredUsage {
    if (responseId !== "") return this.bounded(this.meter.chargedWhenUnanswered(null));
    const charged = this.meter.charged(answer);
    const { usage, estimated } = charged;
    if (usage === null || (!estimated && usage.totalTokens > 0)) return charged;
    const sent = this.sentRequest();
    const isKnown = estimated ? !isBoundedByTokens(sent) : !countsNothing(usage, sent.operation);
    return isKnown ? charged : this.bounded(charged);
  }

  /** Charges nothing for a request that the provider may have executed all the same. */
  protected uncharged(note: string | null): MeteredUsage {
    const sent = this.sentRequest();
    const atMost = isBoundedByTokens(sent) ? usageBound(noUsage, sent) : null;
    return { ...unmetered, atMost, note };
  }

  protected bounded(charged: MeteredUsage): MeteredUsage {
    const { usage } = charged;
    return usage === null ? charged : { ...charged, atMost: usageBound(usage, this.sentRequest()) };
  }

  protected abortCall(): void {
    this.#call?.abort();
  }

  protected write(chunk: Buffer): void {
    if (this.exchange.write(chunk)) return;
    this.#call?.pause();
    this.exchange.onDrain(() => this.#call?.resume());
  }

  /** The client disconnected or was cut off. Not called after `end`. */
  protected onGone(): void {
    this.abortCall();
    this.end(this.chargedWhenGone(), { ...goneEnding(this.exchange), finish: () => {} });
  }

  protected chargedWhenGone(): MeteredUsage {
    return this.chargedWithoutEnd(null);
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
    this.end(this.chargedWithoutEnd(reason), ending, { timedOut: kind === "timed_out" });
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
      bug = null,
      timedOut = false,
      responseId = "",
    }: Ended = nothingElse,
  ): void {
    this.ended = true;
    const executed = this.status !== 0 || this.isSent;
    this.#resolve({
      status,
      usage,
      estimated,
      atMost: this.#call?.isResent === true ? this.#withLost(atMost ?? usage) : atMost,
      executed,
      outcome,
      firstByteMonoMs: this.firstByteMonoMs,
      timedOut,
      responseId,
      servedModel: this.meter.model,
      providerRequestId: this.#providerRequestId,
      providerKey: this.#call?.keyName ?? "",
      note,
      failed,
      refused,
      bug,
      finish,
    });
  }

  /** The provider may also have worked on the lost request. */
  #withLost(atMost: Usage | null): Usage {
    const lost = usageBound(noUsage, this.sentRequest());
    return atMost === null ? lost : added(atMost, lost);
  }
}

/** Something before the provider has waited no longer; the provider may work on. */
export function isTimeoutStatus(status: number): boolean {
  return status === 408 || status === 504 || status === 524;
}

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
