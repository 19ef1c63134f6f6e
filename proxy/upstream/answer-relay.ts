/**
 * One call to a provider whose response goes to one client. It sends the request, writes with
 * back-pressure, aborts the call when the client disconnects, and resolves once with the result.
 *
 * It is also the error boundary for events of the provider, timers and the client: an exception in
 * one of them ends only this request, with a 500 or a cut.
 *
 * Not here: what the client receives, and when. Its `AnswerHandler` decides that: `forward.ts`,
 * `passthrough/relay-answer.ts` or `passthrough/relay-mcp.ts`.
 */

import { requestIdCharsMax } from "../../shared/bounds.js";
import type { Operation } from "../../shared/operation.js";
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
import { CappedStream } from "./capped-stream.js";
import type { TargetFailure } from "./errors/failover-reason.js";
import type { RefusedPart } from "./errors/refused-part.js";
import { isFinalStatus, noSuchStatus, type UpstreamFailure } from "./errors/upstream-failure.js";
import { type ForwardResult, goneEnding, type ProviderError } from "./forwarded.js";
import type { ProviderAnswer } from "./limit-reports.js";
import type { UpstreamCall, UpstreamSink } from "./upstream.js";

/** Sends the end of the response. */
export type Ending = Pick<ForwardResult, "status" | "outcome" | "finish">;

/** Further parts of a result. */
interface EndDetails {
  readonly failed?: TargetFailure | null;
  readonly refused?: RefusedPart | null;
  readonly error?: ProviderError | null;
  readonly bug?: unknown;
  readonly hasTimedOut?: boolean;
  readonly responseId?: string;
}

const nothingElse: EndDetails = {};

/** The parts of a relayed request besides the handler. */
interface RelayOptions extends SentRequestParts {
  /** The hard caps on a stream; null or absent if none counts the request. */
  readonly cap?: StreamCap | null;
  /**
   * The output that hard caps grant an answer that can't be cut; null or absent if none counts it.
   */
  readonly granted?: GrantedOutput | null;
  readonly operation: Operation | null;
  /** Called with each answer and its headers; see `LimitReports`. */
  readonly observeLimits?: ((answer: ProviderAnswer) => void) | undefined;
  readonly monoMs: () => number;
}

/**
 * Decides what the client receives of an answer. None of these is called after `AnswerRelay.end`.
 */
export interface AnswerHandler {
  /** The head of the answer has arrived, with `AnswerRelay.status`. */
  onBegin(rawHeaders: readonly (Buffer | string)[]): void;
  /** A piece of the body has arrived. */
  onChunk(chunk: Buffer): void;
  /** All of the answer has arrived. */
  onComplete(): void;
  /** The provider gave no answer, or not all of it. */
  onFailure(failure: UpstreamFailure): void;
  /** The client disconnected or was cut off. */
  onGone(): void;
  /** Sluice's headers on every answer, besides the request id. */
  ownHeaders(): readonly string[];
}

/** The request and where its answer goes. */
interface RelayParts {
  readonly exchange: Exchange;
  readonly options: RelayOptions;
  readonly meter: ResponseMeter;
  readonly handler: AnswerHandler;
}

export class AnswerRelay implements UpstreamSink, EndedCall {
  readonly #exchange: Exchange;
  readonly #options: RelayOptions;
  readonly meter: ResponseMeter;
  readonly #handler: AnswerHandler;
  /** The provider's status; 0 before its response. */
  status = 0;
  /** When its head came; null before. */
  firstByteMonoMs: number | null = null;
  hasEnded = false;
  #providerRequestId = "";
  #sentMonoMs = 0;
  #sent: SentRequest | null = null;
  #call: UpstreamCall | null = null;
  #waitsForClient = false;
  /** Null unless hard caps count a stream. */
  readonly #capped: CappedStream | null;
  /** The charge of a stream that a hard cap has cut. */
  #cutCharge: MeteredUsage | null = null;
  /** The hard cap that lowered a maximum which the answer has reached, in words. */
  #loweredBy = "";
  readonly #resolve: (forwarded: ForwardResult) => void;

  constructor(
    { exchange, options, meter, handler }: RelayParts,
    resolve: (forwarded: ForwardResult) => void,
  ) {
    this.#exchange = exchange;
    this.#options = options;
    this.meter = meter;
    this.#handler = handler;
    this.#capped = options.cap == null ? null : new CappedStream(options.cap, this);
    this.#resolve = resolve;
  }

  start<Request>(
    upstream: { send(request: Request, sink: UpstreamSink): UpstreamCall },
    request: Request,
  ): void {
    this.#exchange.onGone(() => this.#onClientGone());
    this.#sentMonoMs = this.#options.monoMs();
    try {
      this.#call = upstream.send(request, this);
    } catch (error) {
      return this.onBug(error);
    }
    if (this.hasEnded) this.#call.abort();
  }

  onHead(status: number, rawHeaders: readonly (Buffer | string)[]): void {
    if (this.hasEnded) return;
    if (!isFinalStatus(status)) {
      this.abortCall();
      return this.onFailure(noSuchStatus(status));
    }
    try {
      this.status = status;
      this.#providerRequestId = providerRequestId(rawHeaders);
      this.firstByteMonoMs = this.#options.monoMs();
      this.#handler.onBegin(rawHeaders);
    } catch (error) {
      this.onBug(error);
    }
  }

  onData(chunk: Buffer): void {
    if (this.hasEnded) return;
    try {
      if (this.#capped === null || !this.meter.isStream) this.#handler.onChunk(chunk);
      else this.#capped.push(chunk);
    } catch (error) {
      this.onBug(error);
    }
  }

  onEnd(): void {
    if (this.hasEnded || this.#capped?.holdsEnd() === true) return;
    if (this.#capped?.isOver === true) return this.cutAtCap(this.#capped);
    try {
      this.#handler.onComplete();
    } catch (error) {
      this.onBug(error);
    }
  }

  onFailure(failure: UpstreamFailure): void {
    if (this.hasEnded) return;
    if (this.#capped?.isOver === true) return this.cutAtCap(this.#capped);
    try {
      this.#handler.onFailure(failure);
    } catch (error) {
      this.onBug(error);
    }
  }

  #onClientGone(): void {
    if (this.hasEnded) return;
    try {
      this.#handler.onGone();
    } catch (error) {
      this.onBug(error);
    }
  }

  /** Writes to the client; the provider waits until the client has taken it. */
  write(chunk: Buffer): void {
    if (this.#exchange.write(chunk)) return;
    this.#waitsForClient = true;
    this.#call?.pause();
    this.#exchange.onDrain(() => {
      this.#waitsForClient = false;
      this.resumeIfFree();
    });
  }

  pauseCall(): void {
    this.#call?.pause();
  }

  resumeCall(): void {
    this.#call?.resume();
  }

  /** Resumes the call, unless the client or a hard cap makes it wait. */
  resumeIfFree(): void {
    if (!this.#waitsForClient && this.#capped?.isWaiting !== true) this.#call?.resume();
  }

  abortCall(): void {
    this.#call?.abort();
  }

  /**
   * For `LimitReports`: passes on the limits that an answer reports. Call it when an answer begins,
   * or once the body of an error has arrived.
   */
  noteLimits(rawHeaders: ProviderAnswer["rawHeaders"], body: string): void {
    const { observeLimits } = this.#options;
    if (observeLimits === undefined) return;
    const { status, firstByteMonoMs } = this;
    const sentMonoMs = this.#sentMonoMs;
    observeLimits({
      status,
      rawHeaders,
      body,
      sentMonoMs,
      firstByteMonoMs: firstByteMonoMs ?? sentMonoMs,
    });
  }

  get isSent(): boolean {
    return this.#call?.isSent === true;
  }

  get isResent(): boolean {
    return this.#call?.isResent === true;
  }

  sentRequest(): SentRequest {
    this.#sent ??= sentRequestOf(this.#options);
    return this.#sent;
  }

  elapsedMs(): number {
    return this.#options.monoMs() - this.#sentMonoMs;
  }

  /** As `chargeFor`. */
  charge(end: CallEnd, note: string | null = null, answer?: unknown): MeteredUsage {
    this.#capped?.countHeld();
    return this.#cutCharge ?? chargeFor(this, end, note, answer);
  }

  /** The client disconnected or was cut off. */
  endGone(charged?: MeteredUsage): void {
    this.abortCall();
    this.end(charged ?? this.charge("cut"), { ...goneEnding(this.#exchange), finish: () => {} });
  }

  /** The cause of a missing or incomplete response, before anything was sent. */
  unansweredOutcome({ kind }: UpstreamFailure): "upstream_error" | "upstream_cut" | "overloaded" {
    if (kind === "exhausted") return "overloaded";
    return this.status === 0 ? "upstream_error" : "upstream_cut";
  }

  /** The response ended early after it was partly sent: the client sees a cut. */
  endCut({ kind, reason }: UpstreamFailure): void {
    const ending: Ending = {
      status: this.status,
      outcome: "upstream_cut",
      finish: () => this.#exchange.cut(),
    };
    const error = { status: this.status, code: null, message: reason };
    this.end(this.charge("cut", reason), ending, { hasTimedOut: kind === "timed_out", error });
  }

  /**
   * Field by field: with spreads V8 makes a new hidden class for each request, which cost a
   * twentieth of the proxy's CPU.
   */
  end(
    { usage, estimated, atMost = null, note }: MeteredUsage,
    { status, outcome, finish }: Ending,
    {
      failed = null,
      refused = null,
      error = null,
      bug = null,
      hasTimedOut = false,
      responseId = "",
    }: EndDetails = nothingElse,
  ): void {
    this.hasEnded = true;
    this.#capped?.end({ usage, estimated });
    const isExecuted = this.status !== 0 || this.isSent || this.isResent;
    this.#resolve({
      status,
      usage,
      estimated,
      atMost,
      executed: isExecuted,
      outcome,
      firstByteMonoMs: this.firstByteMonoMs,
      hasTimedOut,
      responseId,
      servedModel: this.meter.model,
      providerRequestId: this.#providerRequestId,
      providerKey: this.#call?.keyName ?? "",
      cutBy: this.#capped?.words || this.#loweredBy,
      note,
      failed,
      refused,
      error,
      bug,
      finish,
    });
  }

  onBug(error: unknown): void {
    // Already answered and settled: nothing is left to end.
    if (this.hasEnded) throw error;
    this.abortCall();
    this.end(
      this.#chargedAfterBug(),
      {
        status: this.#exchange.hasBegun ? this.status : 500,
        outcome: "internal_error",
        finish: () => replyInternalError(this.#exchange, "model", this.#handler.ownHeaders()),
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

  passEvent(event: Buffer): void {
    this.#handler.onChunk(event);
  }

  /**
   * Counts events for hard caps. Call it with the events that were sent, which complete `chunk`.
   */
  countEvents(events: Buffer | readonly Buffer[] | null, chunk: Buffer): void {
    if (!this.hasEnded) this.#capped?.count(events, chunk);
  }

  /** Ends a stream at its hard cap, for the client as if the model had reached its maximum. */
  cutAtCap({ cap: { stop }, words }: CappedStream): void {
    if (this.hasEnded) return;
    this.abortCall();
    try {
      const charged = this.charge("capped");
      this.#cutCharge = charged;
      if (stop === null)
        return this.end(charged, {
          status: this.status,
          outcome: "complete",
          finish: () => this.#exchange.cut(),
        });
      this.meter.dropIncomplete();
      this.#handler.onChunk(stop.end(charged.usage ?? noUsage, words));
      if (!this.hasEnded) this.#handler.onComplete();
    } catch (error) {
      this.onBug(error);
    }
  }

  /**
   * Notes the hard cap that lowered a maximum which the answer has reached. Call it with a complete
   * answer.
   */
  noteLowered(text: string, { usage }: MeteredUsage): void {
    const { granted = null, operation } = this.#options;
    if (granted === null || granted.loweredBy === null || operation === null) return;
    const max = Math.floor(granted.tokens / granted.choices);
    if ((usage?.outputTokens ?? 0) >= max && isLengthStop(operation, text))
      this.#loweredBy = granted.loweredBy;
  }
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
    const lowerName = providerNames[name.length];
    if (lowerName === undefined || !isNamed(name, lowerName)) continue;
    const id = asText(rawHeaders[i + 1]!);
    return /^[\x20-\x7e]*$/.test(id) ? id.slice(0, requestIdCharsMax) : "";
  }
  return "";
}

/** Compares bytes without decoding: many headers have the length of one of these names. */
function isNamed(name: Buffer | string, lowerName: Buffer): boolean {
  return beginsWith(typeof name === "string" ? Buffer.from(name, "latin1") : name, lowerName);
}

function asText(value: Buffer | string): string {
  return typeof value === "string" ? value : value.toString("latin1");
}
