/**
 * What one request leaves behind: its log line, and what the usage record takes from the way the
 * request went. Handlers fill it; nothing here decides anything.
 */
import { redactKeys } from "../shared/domain/managed-key.js";
import { costUsd, type PicoUsd } from "../shared/domain/money.js";
import { type Target, targetName } from "../shared/domain/target-name.js";
import type { Breach, BudgetBreach } from "../shared/domain/verdict.js";
import type { Log } from "../shared/log.js";
import type { Exchange } from "./http/exchange.js";
import type { Admission } from "./limiter/limiter.js";
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
  /** How many times it was sent to a target. */
  tries = 0;
  note: string | null = null;
  /** The endpoint of a request to a model; null: it is another request. */
  endpoint: string | null = null;
  /** Its path, with names in the place of what varies; empty: there is no such endpoint. */
  route = "";
  /** Of the trace that its caller says it belongs to; empty: of none. */
  traceId = "";
  /** Whether a stream was asked for; null: it isn't known. */
  stream: boolean | null = null;
  /** What it has waited for others until it was sent: its client, the daemon. */
  waitedMs = 0;
  /** The limit that refused it. */
  breach: Pick<Breach | BudgetBreach, "scope" | "dimension"> | null = null;
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
    this.bug = bug;
    this.#addUsage(usage, estimated);
    this.firstByteMonoMs = firstByteMonoMs;
    this.note = note;
  }
}

interface EndedRequest {
  readonly exchange: Exchange;
  readonly record: RequestRecord;
  readonly endedMonoMs: number;
}

/** One line per request. Names, ids and counts only: no header and no body ever gets here. */
export function logRequest(log: Log, { exchange, record, endedMonoMs }: EndedRequest): void {
  const level =
    record.outcome === "answered" && (exchange.path === "/health" || exchange.path === "/ready")
      ? "debug"
      : "info";
  const text = JSON.stringify;
  const ms = roundedMs(endedMonoMs - record.startedMonoMs);
  let fields = `"request_id":"${exchange.id}","method":"${exchange.method}"`;
  fields += `,"path":${text(redactKeys(exchange.path))},"status":${record.status}`;
  fields += `,"outcome":"${record.outcome}","ms":${ms}`;
  if (record.traceId !== "") fields += `,"trace_id":"${record.traceId}"`;
  if (record.userPath !== null) fields += `,"user_path":${text(record.userPath)}`;
  if (record.keyId !== "") fields += `,"key":"${record.keyId}"`;
  if (record.model !== null) fields += `,"model":${text(record.model)}`;
  if (record.target !== null) fields += `,"target":${text(targetName(record.target))}`;
  if (record.tried !== null)
    fields += `,"tries":${record.tries},"tried":${text(record.tried.map(loggedTry))}`;
  if (record.firstByteMonoMs !== null)
    fields += `,"first_byte_ms":${roundedMs(record.firstByteMonoMs - record.startedMonoMs)}`;
  if (record.usage !== null) {
    const { totalTokens, inputTokens, outputTokens } = record.usage;
    fields += `,"tokens":${totalTokens},"input_tokens":${inputTokens}`;
    fields += `,"output_tokens":${outputTokens}`;
  }
  if (record.cost !== null) fields += `,"cost_usd":${costUsd(record.cost)}`;
  if (record.savedBytes > 0) fields += `,"rewrite_bytes_saved":${record.savedBytes}`;
  if (record.estimated) fields += ',"estimated":true';
  if (record.note !== null) fields += `,"note":${text(record.note)}`;
  log.line(level, fields, "request");
}

/** A bug of ours that one request has met, with its stack; the other requests don't notice. */
export function logBug(log: Log, requestId: string, error: unknown): void {
  log.error({ request_id: requestId, err: error }, "a bug in Sluice ended this request");
}

function loggedTry({ target, why }: Tried): object {
  return { target: targetName(target), why };
}

/** To a tenth. */
function roundedMs(ms: number): number {
  return Math.round(ms * 10) / 10;
}
