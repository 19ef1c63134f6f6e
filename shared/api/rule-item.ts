/**
 * Rules and their counts as GET /admin/rate-limits lists them, the children of a template, and the
 * report of what a rule would have refused (docs/reference/admin-api.md, "Rules").
 */
import type { ModeField } from "../domain/limit-key.js";
import type { CapFields, CappedMeasure, Measure, RuleSource, Scope } from "../domain/rule.js";
import type { WhenField } from "../domain/rule-hours.js";
import type { RuleDimension } from "../domain/verdict.js";
import type { ListPage, TimedAnswer } from "./list-page.js";
import type { WithRaises } from "./raise-item.js";

/** The period of a rule, the models and hours that it is for, and its mode. */
export interface RulePeriod extends ModeField {
  /** `minute`, `hour`, `day`, `concurrent`, else seconds such as `300s`. */
  readonly period_label: string;
  /** 0 for `concurrent`. */
  readonly period_seconds: number;
  /** Patterns; absent if the rule is for all models. */
  readonly models?: readonly string[];
  /** The hours within which it counts and refuses; absent for always. */
  readonly when?: WhenField;
}

/** The rule of a refusal or an explanation. */
export interface RuleName extends RulePeriod {
  readonly scope: Scope;
  /** For a template, the child's path. */
  readonly subject: string;
}

/** The caps of a rule; an unset one is absent. */
export type RuleCaps = CapFields;

/** Which hosts a rule's counters cover. */
export interface RuleHosts {
  /** True if each host counts for itself although hosts share limits; otherwise absent. */
  readonly host_only?: true;
}

/** The counts of caps on measures: present if the cap is set. `cost` is in US dollars. */
type MeasureCounts = {
  readonly [M in CappedMeasure as `${M}_used` | `${M}_remaining`]?: number;
} & {
  readonly [M in Measure as `${M}_held`]?: number;
};

/** The counts of a counter in its window, as verdicts use them. */
export interface RuleCounts extends MeasureCounts {
  /** The sliding estimate; for `concurrent`, the requests in flight. */
  readonly requests_used: number;
  /** Present if `max_requests` is set; at least 0. */
  readonly requests_remaining?: number;
  /** The sliding estimate, with the rule's weights; 0 for `concurrent`. */
  readonly tokens_used: number;
  /** Present if `max_tokens` is set; at least 0. */
  readonly tokens_remaining?: number;
  /** What running requests hold of it; present for a hard cap on tokens. */
  readonly tokens_held?: number;
  readonly in_flight: number;
  /** In whole seconds; absent for `concurrent`. */
  readonly window_start?: string;
  readonly window_end?: string;
  /**
   * The time until the first cap is reached at the window's pace; absent if no cap will be reached,
   * or if one has been. For display only.
   */
  readonly exhausted_in_seconds?: number;
}

/** What the configuration declares, if a change by hand overrides it. */
export interface Overridden {
  readonly declared_at?: string;
  readonly declared_line?: number;
  readonly per_child: boolean;
}

export interface RuleItem extends RulePeriod, RuleCaps, RuleHosts, RuleCounts, WithRaises {
  readonly scope: Scope;
  readonly subject: string;
  /** The subject used for matching: names of providers and models are in lower case. */
  readonly effective_subject: string;
  /** Present for the scope `user_path`: the same as `subject`. */
  readonly user_path?: string;
  /**
   * Whether the rule is a template: its children have the counts; its own are 0, without a window.
   */
  readonly per_child: boolean;
  /**
   * The template's path if the item is one of its children, as order=use lists them; `subject` is
   * the child's path then, and the counts are its own.
   */
  readonly template?: string;
  /**
   * Of a shadow rule: the requests that it would have refused since it was made. A template counts
   * those of all its children, which don't have it.
   */
  readonly would_refuse?: number;
  /** With milliseconds; absent if there are none. */
  readonly last_would_refuse_at?: string;
  /** The reason why the rule isn't enforced as written; present only then. */
  readonly inert?: string;
  readonly source: RuleSource;
  /**
   * The file and the place in it, or the variable; present if the configuration declares the rule.
   */
  readonly declared_at?: string;
  /** The line in the file, from 1; present if a file declares the rule. */
  readonly declared_line?: number;
  /** What the configuration declares, if a change by hand overrides it. */
  readonly overrides?: Overridden & RuleCaps & RuleHosts;
  /** In whole seconds, as `updated_at`. */
  readonly created_at: string;
  readonly updated_at: string;
}

/** Sorted by scope, subject, period and models. */
export interface RuleList extends TimedAnswer {
  readonly rate_limits: readonly RuleItem[];
}

export interface RulePage extends RuleList, ListPage {}

/** One child of a template. */
export interface ChildItem extends RuleCounts {
  /** The child's path. */
  readonly subject: string;
  /** The highest used part of any cap; above 1 if tokens exceed theirs. */
  readonly used_ratio: number;
}

/** The answer to GET /admin/rate-limits/children, fullest child first. */
export interface ChildList extends TimedAnswer {
  readonly children: readonly ChildItem[];
  /** The number of children of the template, ignoring the search. */
  readonly total: number;
  /**
   * The number of other live hosts; present if hosts share the rule. Children that only those hosts
   * have served are neither listed nor included in `total`.
   */
  readonly other_hosts?: number;
}

/** Requests of one day in UTC. */
interface BackTestDay {
  readonly date: string;
  readonly requests: number;
  readonly refused: number;
}

/** Refused requests by the cap with the longest wait, as in a refusal. */
export type RefusedFor = Readonly<
  Record<Exclude<RuleDimension, Measure>, number> & Partial<Record<Measure, number>>
>;

/**
 * The answer to POST /admin/rate-limits/test. Complete once `next` is null; until then a partial
 * result.
 */
export interface BackTestReport extends TimedAnswer {
  /** The range: recorded requests that began in it are judged. */
  readonly start: string;
  readonly end: string;
  /** When the first record of all ended; null if there are no records. */
  readonly oldest_record_at: string | null;
  /** Requests that the rule covers. */
  readonly requests: number;
  readonly refused: number;
  readonly refused_for: RefusedFor;
  /**
   * Requests that met the exhausted rule and went on, as `on_exhausted` says; absent without it.
   */
  readonly went_on?: number;
  readonly first_refused_at: string | null;
  readonly last_refused_at: string | null;
  /** The days of the range that have requests. */
  readonly days: readonly BackTestDay[];
  /** The paths with the most refusals: below the rule's path, or by their first segment. */
  readonly paths: readonly { readonly user_path: string; readonly refused: number }[];
  /** The lowest values of the rule's caps that would have refused nothing. */
  readonly lowest_caps: RuleCaps;
  /** Requests counted but not judged: their records arrived too late to be put in order. */
  readonly late: number;
  /** The reason why the rule would not be enforced, as in a list of rules. */
  readonly inert?: string;
  /** From 0 to 1. */
  readonly progress: number;
  /** The value of `after` to continue; null once complete. */
  readonly next: string | null;
}
