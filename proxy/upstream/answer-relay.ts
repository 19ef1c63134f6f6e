/**
 * One call to a provider whose response goes to one client: what `forward.ts` and
 * `passthrough/relay-answer.ts` have in common. It sends the request, writes with back-pressure,
 * ends the call when the client leaves, and resolves once, with how it ended.
 *
 * It is also the boundary of a request whose events come from the provider, a timer or the client:
 * whatever is thrown in one of them ends this request with a 500, or cuts it, and nothing else.
 *
 * Not here: what of the response goes out, and when.
 */

import { requestIdCharsMax } from "../../shared/bounds.js";
import { beginsWith } from "../../shared/text/begins-with.js";
import type { Exchange } from "../http/exchange.js";
import { replyInternalError } from "../http/respond.js";
import { type MeteredUsage, unmetered } from "../usage/count-usage.js";
import type { Usage } from "../usage/read-usage.js";
import type { ResponseMeter } from "../usage/response-meter.js";
import { added, noUsage } from "../usage/session-usage.js";
import { type SentRequest, usageBound } from "../usage/usage-bound.js";
import type { TargetFailure } from "./errors/failover-reason.js";
import { isFinalStatus, noSuchStatus, type UpstreamFailure } from "./errors/upstream-failure.js";
import { type Forwarded, goneEnding } from "./forwarded.js";
import type { UpstreamCall, UpstreamSink } from "./upstream.js";

/** What the client gets at the end. */
export type Ending = Pick<Forwarded, "status" | "outcome" | "finish">;

/** What an ending has beside its usual parts. */
interface Ended {
  readonly failed?: TargetFailure | null;
  readonly bug?: unknown;
  readonly timedOut?: boolean;
  readonly responseId?: string;
}

const nothingElse: Ended = {};

export abstract class AnswerRelay implements UpstreamSink {
  protected readonly exchange: Exchange;
  protected readonly meter: ResponseMeter;
  /** The provider's; 0 until its response begins. */
  protected status = 0;
  protected firstByteMonoMs: number | null = null;
  protected ended = false;
  #providerRequestId = "";
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
  /** Not after `end`. */
  protected abstract completed(): void;
  /** Not after `end`. */
  protected abstract failed(failure: UpstreamFailure): void;
  /** What was sent, for the bound of a usage that isn't known. */
  protected abstract sentRequest(): SentRequest;
  /** Headers of ours that every answer carries, besides the request id. */
  protected abstract ownHeaders(): readonly string[];

  start(): void {
    this.exchange.onGone(() => this.#left());
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
    // It has been answered and settled: no request is left that this could end.
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

  /** What the meter has seen, unless it is the meter that is at fault. */
  #chargedAfterBug(): MeteredUsage {
    try {
      return this.chargedWhenGone();
    } catch {
      // The exception that led here is the one that is reported.
      return { usage: null, estimated: true, note: null };
    }
  }

  /** Whether the provider has all of the request: it may be at work, and bill it. */
  protected get isSent(): boolean {
    return this.#call?.isSent === true;
  }

  /**
   * What a request is charged whose answer hasn't come, or not to its end: nothing if it hasn't
   * left, or the provider has refused it; else what was seen of it.
   */
  protected chargedWithoutEnd(why: string | null): MeteredUsage {
    if (this.status >= 300 || (this.status === 0 && !this.isSent))
      return { ...unmetered, note: why };
    const charged =
      this.status === 0 ? this.meter.chargedWhenUnanswered(why) : this.meter.chargedWhenCut(why);
    return this.bounded(charged);
  }

  /**
   * What an answer is charged that has come in order: an estimate of the prompt, if the provider
   * goes on with the response in the background.
   */
  protected chargedAtEnd(answer: unknown, responseId: string): MeteredUsage {
    return responseId === ""
      ? this.meter.charged(answer)
      : this.bounded(this.meter.chargedWhenUnanswered(null));
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

  /** The client has left, or was cut off. Not after `end`. */
  protected onGone(): void {
    this.abortCall();
    this.end(this.chargedWhenGone(), { ...goneEnding(this.exchange), finish: () => {} });
  }

  protected chargedWhenGone(): MeteredUsage {
    return this.chargedWithoutEnd(null);
  }

  /** Whose fault it is that there is no response, or no end of it, before anything was sent. */
  protected unansweredOutcome({
    kind,
  }: UpstreamFailure): "upstream_error" | "upstream_cut" | "overloaded" {
    if (kind === "exhausted") return "overloaded";
    return this.status === 0 ? "upstream_error" : "upstream_cut";
  }

  /** The response broke off after it had begun for the client: the client sees it cut. */
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
    { failed = null, bug = null, timedOut = false, responseId = "" }: Ended = nothingElse,
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
      providerRequestId: this.#providerRequestId,
      note,
      failed,
      bug,
      finish,
    });
  }

  /** The provider may have worked at the one that was lost, too. */
  #withLost(atMost: Usage | null): Usage {
    const lost = usageBound(noUsage, this.sentRequest());
    return atMost === null ? lost : added(atMost, lost);
  }
}

/** OpenAI's and most others', Anthropic's, Azure's, Amazon's: each of another length. */
const providerNames: readonly (Buffer | undefined)[] = [
  "x-request-id",
  "request-id",
  "apim-request-id",
  "x-amzn-requestid",
].reduce<(Buffer | undefined)[]>((byLength, name) => {
  byLength[name.length] = Buffer.from(name);
  return byLength;
}, []);

/** What a provider calls a request, by which it can be asked about it; empty if it doesn't say. */
export function providerRequestId(rawHeaders: readonly (Buffer | string)[]): string {
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    const known = providerNames[name.length];
    if (known !== undefined && isNamed(name, known))
      return asText(rawHeaders[i + 1]!).slice(0, requestIdCharsMax);
  }
  return "";
}

/** One that is still bytes is compared as bytes: many have the length of one of these names. */
function isNamed(name: Buffer | string, known: Buffer): boolean {
  return beginsWith(typeof name === "string" ? Buffer.from(name, "latin1") : name, known);
}

function asText(value: Buffer | string): string {
  return typeof value === "string" ? value : value.toString("latin1");
}
