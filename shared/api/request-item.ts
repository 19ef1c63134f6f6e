/**
 * Requests in detail, and the traffic of targets: what GET /admin/requests, GET /admin/traffic and
 * GET /admin/sessions answer.
 */
import type { Explanation } from "./explanation.js";
import type { ListPage, TimedAnswer } from "./list-page.js";
import type { RecordItem } from "./record-item.js";
import type { RefusalItem } from "./refusal-item.js";

/**
 * How a request ended. `failed`: no provider gave an answer. `refused`: a limit or a ban. `denied`:
 * an unknown caller, model or endpoint. `invalid`: any other fault of the client.
 */
export const requestKinds = [
  "answered",
  "failed",
  "refused",
  "denied",
  "invalid",
  "canceled",
] as const;
export type RequestKind = (typeof requestKinds)[number];

/** Why an attempt failed. */
export const failureKinds = [
  "rate_limited",
  "server_error",
  "timeout",
  "unreachable",
  "cut",
  "credentials",
  "invalid_request",
] as const;
export type FailureKind = (typeof failureKinds)[number];

/** One attempt at one target. */
export interface AttemptItem {
  readonly target: string;
  /** The provider's status; null if it didn't answer. */
  readonly status: number | null;
  readonly duration_ms: number;
  /** How often the request had been sent to this target before. */
  readonly retry: number;
  /** Why it failed; null for an answer. */
  readonly reason: string | null;
  readonly provider_request_id: string | null;
  /** The provider's code and message, shortened. */
  readonly error_code: string | null;
  readonly error_message: string | null;
  /** Whether the client got its answer or error. */
  readonly delivered: boolean;
}

/** A request that failed, was refused, or has something that its usage record lacks. */
export interface RequestItem {
  readonly request_id: string;
  /** When it ended. */
  readonly time: string;
  readonly kind: RequestKind;
  readonly status: number;
  readonly outcome: string;
  readonly method: string;
  readonly path: string;
  /** Null until the caller was verified. */
  readonly user_path: string | null;
  readonly key_id: string | null;
  readonly client: string | null;
  readonly agent: string | null;
  readonly model: string | null;
  readonly target: string | null;
  readonly stream: boolean | null;
  readonly session: string | null;
  readonly trace_id: string | null;
  readonly duration_ms: number;
  readonly first_byte_ms: number | null;
  /** Empty if the only attempt was answered, or there was none. */
  readonly attempts: readonly AttemptItem[];
  /** The error in the answer to the client. */
  readonly error_code: string | null;
  readonly error_message: string | null;
  /** The limit that refused it. */
  readonly rule: string | null;
  readonly note: string | null;
  /** Fields that a translation left out. */
  readonly dropped: readonly string[];
}

export interface RequestPage extends ListPage {
  readonly requests: readonly RequestItem[];
}

/** GET /admin/requests/{id}. */
export interface RequestDetail extends TimedAnswer {
  readonly request_id: string;
  /** Null for a request whose usage records say all. */
  readonly request: RequestItem | null;
  /** Newest first: parts of a session, failed attempts that were charged, the request itself. */
  readonly records: readonly RecordItem[];
  readonly refusal: RefusalItem | null;
  /** The limits that apply to such a request, as they are now; null without a caller or target. */
  readonly limits: Explanation | null;
}

/** The traffic of a target in a time range. */
export interface TargetTrafficItem {
  readonly target: string;
  readonly attempts: number;
  readonly failures: Readonly<Record<FailureKind, number>>;
  /** Failures that aren't the request's fault, of all attempts; null without attempts. */
  readonly error_rate: number | null;
  readonly first_byte_ms: Percentiles | null;
  readonly duration_ms: Percentiles | null;
  /**
   * When the target failed: since when at least 5% of its attempts have failed, with `until` null,
   * unless five other minutes or one other hour have passed since; otherwise the minutes or hours
   * of the range in which most attempts failed. Null if there are none.
   */
  readonly failing: FailingSpan | null;
  /** Of streams whose usage the provider reported; null without any. */
  readonly tokens_per_second: number | null;
  readonly last_error: { readonly at: string; readonly message: string } | null;
}

export interface FailingSpan {
  readonly from: string;
  readonly until: string | null;
}

/** To within a tenth. */
export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
}

export interface TrafficPoint {
  /** The start of the minute or the hour. */
  readonly time: string;
  readonly requests: Readonly<Record<RequestKind, number>>;
  readonly tokens: number;
  readonly cost: number;
}

/** GET /admin/traffic. */
export interface TrafficReport extends TimedAnswer {
  readonly start: string;
  readonly end: string;
  readonly step_seconds: number;
  readonly totals: Omit<TrafficPoint, "time">;
  /**
   * The time that the proxies themselves took before requests were first sent, without waits for
   * clients and the daemon; null without requests.
   */
  readonly own_ms: Percentiles | null;
  /** Without points that have no requests. */
  readonly points: readonly TrafficPoint[];
  /** The busiest first. */
  readonly targets: readonly TargetTrafficItem[];
}

/** A session of an agent. */
export interface SessionItem {
  readonly session: string;
  readonly user_path: string;
  readonly key_id: string | null;
  readonly key_name: string | null;
  /** The client's user agent; null if unknown. */
  readonly agent: string | null;
  /** As `provider/model`, the first ten. */
  readonly models: readonly string[];
  readonly started_at: string;
  readonly ended_at: string;
  /** Whether a request ended in the last five minutes. */
  readonly running: boolean;
  readonly requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_cost: number;
  /** Requests without a price. */
  readonly unpriced: number;
  readonly failures: number;
  /** Requests that went to several targets. */
  readonly failovers: number;
  /** Requests that were sent to a target more than once. */
  readonly retried: number;
  readonly last_error: string | null;
  /** The budget of sessions with the least left; absent without one. */
  readonly budget?: SessionBudget;
}

/** What a session has spent of its budget, in US dollars. */
export interface SessionBudget {
  readonly amount: number;
  readonly spent: number;
  /** Negative once it is overspent. */
  readonly remaining: number;
}

/** GET /admin/sessions. */
export interface SessionList extends TimedAnswer {
  /** The latest first. */
  readonly sessions: readonly SessionItem[];
  /** The end time of the oldest record that was read. */
  readonly looked_back_to: string | null;
}
