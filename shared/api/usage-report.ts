/**
 * Sums of usage: GET /admin/usage, and what callers see of their own by GET /v1/usage
 * (docs/reference/http-api.md, "Usage").
 */

import type { CountedHosts } from "../usage/hosts-text.js";
import type { DetailField } from "../usage/usage-details.js";
import type { BudgetStatus } from "./budget-item.js";
import type { Timed } from "./list-page.js";
import type { RuleCaps, RuleCounts, RuleHosts, RulePeriod } from "./rule-item.js";

/** Usage that isn't known; left out without any. */
export interface UnknownUsage {
  /** Calls of providers whose usage isn't known: the sums have an estimate of it. */
  readonly unknown_calls?: number;
  /** What their tokens may be at most. */
  readonly unknown_tokens_at_most?: number;
  /** What they may cost at most, in US dollars, as far as they have a price. */
  readonly unknown_cost_at_most?: number;
}

/** What the requests of some days used. A detail is left out while it is 0. */
export interface UsageTotals extends UnknownUsage, Readonly<Partial<Record<DetailField, number>>> {
  /** Days in UTC, both included. */
  readonly start_date: string;
  readonly end_date: string;
  readonly total_requests: number;
  readonly total_input_tokens: number;
  readonly total_output_tokens: number;
  readonly total_tokens: number;
  /** Of the input: read from a provider's cache. */
  readonly cached_input_tokens: number;
  /** Of the input: written to a provider's cache. */
  readonly cache_write_input_tokens: number;
  /** The rest of the input. */
  readonly uncached_input_tokens: number;
  /** US dollars, of the requests with a price. */
  readonly total_input_cost: number;
  readonly total_output_cost: number;
  readonly total_cost: number;
  /** Requests without a price, which aren't in the costs. */
  readonly unpriced_requests: number;
  /** Tokens that rewriters removed from prompts. */
  readonly rewrite_tokens_saved: number;
  /** US dollars; left out if no saving has a price. */
  readonly rewrite_cost_saved?: number;
}

/** One host, and how much of it is in a report. */
export interface ReportHost {
  readonly host: string;
  /** The name of its machine. */
  readonly name: string;
  /** What it recorded since isn't in the report; null: nothing of it is. */
  readonly age_seconds: number | null;
  /** False while it publishes its earlier usage again. */
  readonly complete: boolean;
}

/** Whose usage the sums are, and of which hosts. */
export interface ReportHosts extends CountedHosts {
  /** In the admin API alone; this host first. */
  readonly parts?: readonly ReportHost[];
}

export interface UsageGroup extends UnknownUsage {
  /**
   * A day, a model as `provider/model`, a provider, a path, a key's id or a label; `(none)` for
   * what has no key or label, `other` for all groups that are too many.
   */
  readonly key: string;
  readonly requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
  /** US dollars. */
  readonly total_cost: number;
  readonly unpriced_requests: number;
  /** With `by=key` alone: the key's name, null if it has none or is deleted. */
  readonly name?: string | null;
}

/** Of GET /admin/usage. */
export interface UsageSummary extends Timed {
  readonly user_path: string;
  readonly usage: UsageTotals;
  /** Days in their order, everything else by cost, then by requests; empty without `by`. */
  readonly groups: readonly UsageGroup[];
  /** Only where several hosts share their usage. */
  readonly hosts?: ReportHosts;
}

/** A user-path rule as its caller sees it: a template as the caller's own child of it. */
export interface RateLimitStatus extends RulePeriod, RuleCaps, RuleHosts, RuleCounts {
  /** Both are the path that is counted. */
  readonly subject: string;
  readonly user_path: string;
  readonly per_child: boolean;
  /** Until the window ends, at least 1; not for `concurrent`. */
  readonly resets_in_seconds?: number;
  /** Where that cap is set; not clamped. */
  readonly requests_usage_ratio?: number;
  readonly tokens_usage_ratio?: number;
  /** Whether nothing is left of an enforced cap. */
  readonly exhausted: boolean;
  /** Only on a rule that isn't enforced as it is written: why. */
  readonly inert?: string;
}

/** Of GET /v1/usage. */
export interface UsageStatus extends Timed {
  readonly user_path: string;
  /** Null while usage isn't tracked. */
  readonly usage: UsageTotals | null;
  readonly budgets: readonly BudgetStatus[];
  readonly rate_limits: readonly RateLimitStatus[];
  /** With `by`, and while usage is tracked. */
  readonly groups?: readonly UsageGroup[];
  /** Only where several hosts share their usage, without `parts`. */
  readonly hosts?: ReportHosts;
}
