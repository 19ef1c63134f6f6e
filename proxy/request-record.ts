/**
 * What one request leaves behind: for its log line, its usage record and the metrics. Handlers fill
 * it; nothing here decides anything.
 */
import type { PicoUsd } from "../shared/domain/money.js";
import type { Target } from "../shared/domain/target-name.js";
import type { Breach, BudgetBreach } from "../shared/domain/verdict.js";
import type { Exchange } from "./http/exchange.js";
import type { Admission } from "./limiter/limiter.js";
import type { RequestTrace } from "./metrics/spans/request-trace.js";
import { type Forwarded, goneEnding } from "./upstream/forwarded.js";
import type { Usage } from "./usage/read-usage.js";
import { added, type SpentTokens } from "./usage/session-usage.js";

export type Outcome =
  | Forwarded["outcome"]
  | "answered"
  | "cache_hit"
  | "refused"
  | "rate_limited"
  | "over_budget"
  | "limiter_unavailable"
  | "overloaded";

/** A target that failed, and why: a status, or an error of the network. */
interface Tried {
  readonly target: Target;
  readonly why: string;
}

/** Filled on the way, written once at the end. */
export class RequestRecord {
  /** Where it comes from, as far as trusted proxies say it; empty: its connection was gone. */
  clientAddress = "";
  /** Null as long as it isn't known for sure. */
  userPath: string | null = null;
  /** Empty without a managed key. */
  keyId = "";
  model: string | null = null;
  /** The virtual model or alias that `model` names, as configured; empty: none. */
  requestedModel = "";
  /** The one whose answer, or failure, the client got. */
  target: Target | null = null;
  /** The attempts that failed so that another one could be made, in order; null: none did. */
  tried: Tried[] | null = null;
  /** What the provider calls the request that was answered, or failed, last; empty: nothing. */
  providerRequestId = "";
  /** How many times it was sent to a target. */
  tries = 0;
  note: string | null = null;
  /** The endpoint of a request to a model; null: it is another request. */
  endpoint: string | null = null;
  /** Its path, with names in the place of what varies; empty: there is no such endpoint. */
  route = "";
  /** Of the trace that it belongs to, its caller's or our own; empty: of none. */
  traceId = "";
  /** Its spans; null: it has none. */
  trace: RequestTrace | null = null;
  /** Whether a stream was asked for; null: it isn't known. */
  stream: boolean | null = null;
  /** What it has waited for others until it was sent: its client, the daemon. */
  waitedMs = 0;
  /** The limit that refused it. */
  breach: Pick<Breach | BudgetBreach, "scope" | "subject" | "periodSeconds" | "dimension"> | null =
    null;
  /** Whether its answer was cut at a deadline. */
  timedOut = false;
  status = 0;
  outcome: Outcome = "answered";
  usage: Usage | null = null;
  /** Null: not executed, unpriced, or usage is off. */
  cost: PicoUsd | null = null;
  estimated = false;
  /** What rewriters took out of the prompt, at the target that was tried last. */
  savedBytes = 0;
  firstByteMonoMs: number | null = null;
  /** Set from the daemon's verdict on: what has to be settled, however the request ends. */
  admission: Admission | null = null;
  /** The exception of our own that ended it; null: there was none. */
  bug: unknown = null;
  readonly startedMonoMs: number;
  #charged = false;

  constructor(startedMonoMs: number) {
    this.startedMonoMs = startedMonoMs;
  }

  /** The caller, once it is sure. */
  identified({ userPath, keyId }: { readonly userPath: string; readonly keyId: string }): void {
    this.userPath = userPath;
    this.keyId = keyId;
  }

  waited(ms: number): void {
    this.waitedMs += ms;
  }

  /** An attempt, after which another one may be made. */
  failedAt(target: Target, why: string): void {
    this.tried ??= [];
    this.tried.push({ target, why });
  }

  end(status: number, outcome: Outcome): void {
    this.status = status;
    this.outcome = outcome;
  }

  /** The client has gone, and nothing has been forwarded, or it no longer matters. */
  gone(exchange: Exchange): void {
    const { status, outcome } = goneEnding(exchange);
    this.end(status, outcome);
  }

  /** What the request has used so far; `cost` null: unpriced, or usage is off. */
  progressed({ usage, estimated }: SpentTokens, cost: PicoUsd | null): void {
    this.#addUsage(usage, estimated);
    this.charged(cost);
  }

  /** A further cost; one part without a price makes the whole unpriced. */
  charged(cost: PicoUsd | null): void {
    if (!this.#charged) this.cost = cost;
    else this.cost = cost === null || this.cost === null ? null : this.cost + cost;
    this.#charged = true;
  }

  #addUsage(usage: Usage | null, estimated: boolean): void {
    if (usage !== null) this.usage = this.usage === null ? usage : added(this.usage, usage);
    this.estimated ||= estimated;
  }

  forwarded(forwarded: Forwarded): void {
    const { status, outcome, usage, estimated, firstByteMonoMs, note, bug } = forwarded;
    this.end(status, outcome);
    this.timedOut = forwarded.timedOut === true;
    this.providerRequestId = forwarded.providerRequestId ?? "";
    this.bug = bug;
    this.#addUsage(usage, estimated);
    this.firstByteMonoMs = firstByteMonoMs;
    this.note = note;
  }
}
