/**
 * Sums of usage: GET /admin/usage, and GET /v1/usage for the caller's own
 * (docs/reference/http-api.md, "Usage").
 */

import type { CountedHosts } from "../usage/hosts-text.js";
import type { DetailField } from "../usage/usage-details.js";
import type { UsageStep } from "../wire/admin-op.js";
import type { BudgetStatus } from "./budget-item.js";
import type { TimedAnswer } from "./list-page.js";
import type { RuleCaps, RuleCounts, RuleHosts, RulePeriod } from "./rule-item.js";

/** Unknown usage; the fields are absent if there is none. */
export interface UnknownUsage {
  /** Provider calls with unknown usage; the sums contain an estimate for them. */
  readonly unknown_calls?: number;
  /** The most tokens that they may have used. */
  readonly unknown_tokens_at_most?: number;
  /** The most that they may cost, in US dollars; only those that have a price. */
  readonly unknown_cost_at_most?: number;
}

/** The usage of the requests of some days. A detail is absent if it is 0. */
export interface UsageTotals extends UnknownUsage, Readonly<Partial<Record<DetailField, number>>> {
  /** Days in UTC, both included. */
  readonly start_date: string;
  readonly end_date: string;
  /** Present if the range has times: its first moment, and the first one after it. */
  readonly start?: string;
  readonly end?: string;
  readonly total_requests: number;
  readonly total_input_tokens: number;
  readonly total_output_tokens: number;
  readonly total_tokens: number;
  /** Input tokens read from a provider's cache. */
  readonly cached_input_tokens: number;
  /** Input tokens written to a provider's cache. */
  readonly cache_write_input_tokens: number;
  /** All other input tokens. */
  readonly uncached_input_tokens: number;
  /** US dollars of the requests that have a price. */
  readonly total_input_cost: number;
  readonly total_output_cost: number;
  readonly total_cost: number;
  /** Requests without a price; the costs don't include them. */
  readonly unpriced_requests: number;
  /** Tokens that rewriters removed from prompts. */
  readonly rewrite_tokens_saved: number;
  /** US dollars; absent if no saving has a price. */
  readonly rewrite_cost_saved?: number;
}

/** A host and the part of its usage in a report. */
export interface ReportHost {
  readonly host: string;
  /** The name of its machine. */
  readonly name: string;
  /**
   * The report excludes what the host recorded in these last seconds; null if the report has no
   * data of the host.
   */
  readonly age_seconds: number | null;
  /** False while the host republishes its earlier usage. */
  readonly complete: boolean;
}

/** Which hosts the sums include. */
export interface ReportHosts extends CountedHosts {
  /** Only in the admin API, this host first. */
  readonly parts?: readonly ReportHost[];
}

export interface UsageGroup extends UnknownUsage {
  /**
   * A day, `provider/model`, a provider, a path, a key's id or a label. `(none)` is for requests
   * without a key or label, `other` for all groups beyond the maximum.
   */
  readonly key: string;
  readonly requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
  /** US dollars. */
  readonly total_cost: number;
  readonly unpriced_requests: number;
  /** The key's name, with `by=key` only; null if it has none or is deleted. */
  readonly name?: string | null;
}

/** One figure for each of the times. */
interface SeriesGroup extends Pick<UsageGroup, "key" | "name"> {
  readonly requests: readonly number[];
  readonly total_tokens: readonly number[];
  /** US dollars. */
  readonly total_cost: readonly number[];
}

/** Usage over time. */
export interface UsageSeries {
  /** Hours are summed from the records of this host. */
  readonly step: UsageStep;
  /** Days, or the beginnings of hours in whole seconds, up to now. */
  readonly times: readonly string[];
  /** The largest groups; all others are `other`. */
  readonly groups: readonly SeriesGroup[];
}

/** The answer to GET /admin/usage. */
export interface UsageSummary extends TimedAnswer {
  readonly user_path: string;
  readonly usage: UsageTotals;
  /** Days in order; other groups by cost, then by requests. Empty without `by`. */
  readonly groups: readonly UsageGroup[];
  /** Present with `step`. */
  readonly series?: UsageSeries;
  /** Present if several hosts share their usage. */
  readonly hosts?: ReportHosts;
}

/** A user-path rule as its caller sees it; for a template, the child of the caller. */
export interface RateLimitStatus extends RulePeriod, RuleCaps, RuleHosts, RuleCounts {
  /** The counted path, as `user_path`. */
  readonly subject: string;
  readonly user_path: string;
  readonly per_child: boolean;
  /** Seconds until the window ends, at least 1; absent for `concurrent`. */
  readonly resets_in_seconds?: number;
  /** Present if that cap is set, as `tokens_usage_ratio`; not clamped. */
  readonly requests_usage_ratio?: number;
  readonly tokens_usage_ratio?: number;
  readonly input_tokens_usage_ratio?: number;
  readonly output_tokens_usage_ratio?: number;
  readonly cost_usage_ratio?: number;
  readonly tool_calls_usage_ratio?: number;
  readonly enqueued_tokens_usage_ratio?: number;
  /** Whether an enforced cap has nothing left. */
  readonly exhausted: boolean;
  /** The reason why the rule isn't enforced as written; present only then. */
  readonly inert?: string;
}

/** The answer to GET /v1/usage. */
export interface UsageStatus extends TimedAnswer {
  readonly user_path: string;
  /** Null if usage isn't tracked. */
  readonly usage: UsageTotals | null;
  readonly budgets: readonly BudgetStatus[];
  readonly rate_limits: readonly RateLimitStatus[];
  /** Present with `by` if usage is tracked. */
  readonly groups?: readonly UsageGroup[];
  /** Present if several hosts share their usage; without `parts`. */
  readonly hosts?: ReportHosts;
}
