/**
 * The facts of one request for its log line, usage record, metrics and span. Handlers fill it in;
 * it decides nothing.
 */
import type { PicoUsd } from "../shared/domain/money.js";
import type { Target } from "../shared/domain/target-name.js";
import type { Breach, BudgetBreach } from "../shared/domain/verdict.js";
import type { Loop } from "./handlers/loop-breaker.js";
import type { Exchange } from "./http/exchange.js";
import type { Admission } from "./limiter/admission.js";
import type { RequestTrace } from "./metrics/spans/request-trace.js";
import { type ForwardResult, goneEnding, type ProviderError } from "./upstream/forwarded.js";
import type { SpentTokens } from "./usage/session-usage.js";
import type { Usage } from "./usage/usage.js";
import { sumOfUsages } from "./usage/usage.js";

export type Outcome =
  | ForwardResult["outcome"]
  | "answered"
  | "cache_hit"
  | "refused"
  | "rate_limited"
  | "over_budget"
  | "limiter_unavailable"
  | "overloaded";

/** A failed attempt that was followed by another one. `why`: a status or a network error. */
interface EarlierFailure {
  readonly target: Target;
  readonly why: string;
}

/** One attempt at a target. */
interface Attempt {
  readonly target: Target;
  readonly ms: number;
  /** How often the request had been sent to this target before. */
  readonly retry: number;
  readonly forwarded: Pick<ForwardResult, "status" | "outcome" | "failed" | "providerRequestId"> & {
    readonly error?: ProviderError | null;
    readonly finish?: () => void;
  };
}

/** Filled in during the request, and reported once at its end. */
export class RequestRecord {
  /**
   * The client's address, as reported by trusted proxies; empty if the connection was already
   * closed.
   */
  clientAddress = "";
  /** Null until the caller is verified. */
  userPath: string | null = null;
  /** Empty without a managed key. */
  keyId = "";
  model: string | null = null;
  /** The configured virtual model or alias that `model` names; empty if none. */
  requestedModel = "";
  /** The session that the client named; empty if none. */
  session = "";
  /** The target whose answer or failure the client got. */
  target: Target | null = null;
  /** For the log line: failures that were followed by another attempt, in order; null: none. */
  earlierFailures: EarlierFailure[] | null = null;
  /** For the report to the daemon: all attempts from the first failed one on; null: none failed. */
  reportedAttempts: Attempt[] | null = null;
  /**
   * The `finish` of the attempt whose answer or error the client got, which identifies it among
   * `reportedAttempts`.
   */
  deliveredFinish: (() => void) | null = null;
  /** Fields that the translation for the last target left out; null if none. */
  dropped: readonly string[] | null = null;
  /** The provider's request id of the last attempt; empty if it gave none. */
  providerRequestId = "";
  attemptCount = 0;
  /** A remark for the log line. */
  note: string | null = null;
  /** The endpoint of a limited request; null for any other request. */
  endpoint: string | null = null;
  /** The path with placeholders for its variable parts; empty for an unknown endpoint. */
  route = "";
  /** The trace id, the caller's or our own; empty without a trace. */
  traceId = "";
  /** The spans; null if the request isn't sampled. */
  trace: RequestTrace | null = null;
  /** Whether the client requested a stream; null if unknown. */
  stream: boolean | null = null;
  /** Time spent waiting for the client and the daemon before the request was sent. */
  waitedMs = 0;
  /** How long it has waited for room under its limits; null if it didn't. */
  queuedMs: number | null = null;
  /** The limit that refused it. */
  breach:
    | (Pick<Breach | BudgetBreach, "scope" | "subject" | "periodSeconds" | "dimension"> &
        Pick<BudgetBreach, "models" | "rolling" | "above">)
    | null = null;
  /** The hard cap that ended the stream, in words; empty if none did. */
  cutBy = "";
  /** The agent's loop that was warned about or refused; usually null. */
  loop: Loop | null = null;
  /** Whether a deadline cut the answer. */
  hasTimedOut = false;
  status = 0;
  outcome: Outcome = "answered";
  usage: Usage | null = null;
  /** Null if not executed, unpriced, or with usage off. */
  cost: PicoUsd | null = null;
  estimated = false;
  /** Bytes that rewriters removed from the prompt, at the last target. */
  savedBytes = 0;
  firstByteMonoMs: number | null = null;
  /** Set once the daemon admits the request, which must then be settled however it ends. */
  admission: Admission | null = null;
  /** The exception that ended the request; usually null. */
  bug: unknown = null;
  readonly startedMonoMs: number;
  #isCharged = false;

  constructor(startedMonoMs: number) {
    this.startedMonoMs = startedMonoMs;
  }

  /** Sets the verified caller. */
  setCaller({ userPath, keyId }: { readonly userPath: string; readonly keyId: string }): void {
    this.userPath = userPath;
    this.keyId = keyId;
  }

  addWait(ms: number): void {
    this.waitedMs += ms;
  }

  /** Call before another attempt. */
  addEarlierFailure(target: Target, why: string): void {
    this.earlierFailures ??= [];
    this.earlierFailures.push({ target, why });
  }

  /** Adds an attempt that has ended, unless it and all before it succeeded. */
  addAttempt(attempt: Attempt): void {
    const { outcome, status } = attempt.forwarded;
    if (this.reportedAttempts === null && outcome === "complete" && status < 400) return;
    this.reportedAttempts ??= [];
    this.reportedAttempts.push(attempt);
  }

  end(status: number, outcome: Outcome): void {
    this.status = status;
    this.outcome = outcome;
  }

  /**
   * Marks a request whose client disconnected before anything was forwarded, or whose answer no
   * longer matters.
   */
  markGone(exchange: Exchange): void {
    const { status, outcome } = goneEnding(exchange);
    this.end(status, outcome);
  }

  /** The usage so far; `cost` is null if unpriced or with usage off. */
  addProgress({ usage, estimated }: SpentTokens, cost: PicoUsd | null): void {
    this.#addUsage(usage, estimated);
    this.addCost(cost);
  }

  /** Adds a cost; one unpriced part makes the sum unpriced. */
  addCost(cost: PicoUsd | null): void {
    if (!this.#isCharged) this.cost = cost;
    else this.cost = cost === null || this.cost === null ? null : this.cost + cost;
    this.#isCharged = true;
  }

  #addUsage(usage: Usage | null, estimated: boolean): void {
    if (usage !== null) this.usage = this.usage === null ? usage : sumOfUsages(this.usage, usage);
    this.estimated ||= estimated;
  }

  setResult(forwarded: ForwardResult): void {
    const { status, outcome, usage, estimated, firstByteMonoMs, note, bug } = forwarded;
    this.end(status, outcome);
    this.deliveredFinish = forwarded.finish;
    this.hasTimedOut = forwarded.hasTimedOut === true;
    this.providerRequestId = forwarded.providerRequestId ?? "";
    this.bug = bug;
    this.#addUsage(usage, estimated);
    this.firstByteMonoMs = firstByteMonoMs;
    this.note = note;
    this.cutBy = forwarded.cutBy ?? "";
  }
}
