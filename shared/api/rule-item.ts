/**
 * Rules with their counts, as GET /admin/rate-limits lists them, the children of a template, and
 * what a rule would have refused (docs/reference/admin-api.md, "Rules").
 */
import type { RuleSource, Scope } from "../domain/rule.js";
import type { ListPage, Timed } from "./list-page.js";

/** By what a rule is named; its scope may go without saying. */
export interface RulePeriod {
  /** `minute`, `hour`, `day`, `concurrent`, else seconds such as `300s`. */
  readonly period_label: string;
  /** 0 for `concurrent`. */
  readonly period_seconds: number;
}

/** The rule that a refusal, or an explanation, is about. */
export interface RuleName extends RulePeriod {
  readonly scope: Scope;
  /** The child's path where the rule is a template. */
  readonly subject: string;
}

/** The caps of a rule; one that isn't set is left out. */
export interface RuleCaps {
  readonly max_requests?: number;
  readonly max_tokens?: number;
}

/** Whose requests a rule's counters have. */
export interface RuleHosts {
  /** True: of this host alone, although it shares limits with others. Else it is left out. */
  readonly host_only?: true;
}

/** What a counter has counted in its window, as verdicts see it. */
export interface RuleCounts {
  /** The sliding estimate; for `concurrent` the requests in flight. */
  readonly requests_used: number;
  /** Where `max_requests` is set; never below 0. */
  readonly requests_remaining?: number;
  /** The sliding estimate; 0 for `concurrent`. */
  readonly tokens_used: number;
  /** Where `max_tokens` is set; never below 0. */
  readonly tokens_remaining?: number;
  readonly in_flight: number;
  /** Whole seconds; not for `concurrent`. */
  readonly window_start?: string;
  readonly window_end?: string;
}

/** What the configuration declares, where an edit by hand differs. */
export interface Overridden {
  readonly declared_at?: string;
  readonly declared_line?: number;
  readonly per_child: boolean;
}

export interface RuleItem extends RulePeriod, RuleCaps, RuleHosts, RuleCounts {
  readonly scope: Scope;
  readonly subject: string;
  /** As matching compares it: names of providers and models in lower case. */
  readonly effective_subject: string;
  /** For that scope alone: the same as `subject`. */
  readonly user_path?: string;
  /** A template: its children have the counts, its own are 0 and it has no window. */
  readonly per_child: boolean;
  /** Only on a rule that isn't enforced as it is written: why. */
  readonly inert?: string;
  readonly source: RuleSource;
  /** Only from the configuration: the file and the place in it, or the variable. */
  readonly declared_at?: string;
  /** Where it is a file: the line in it, from 1. */
  readonly declared_line?: number;
  /** Only on one that was edited by hand and that the configuration declares: what it declares. */
  readonly overrides?: Overridden & RuleCaps & RuleHosts;
  /** Whole seconds. */
  readonly created_at: string;
  readonly updated_at: string;
}

/** In the order scope, subject, period. */
export interface RuleList extends Timed {
  readonly rate_limits: readonly RuleItem[];
}

export interface RulePage extends RuleList, ListPage {}

/** One child of a template. */
export interface ChildItem extends RuleCounts {
  /** The child's path. */
  readonly subject: string;
  /** The used share of the cap of which most is used; above 1 where tokens went beyond it. */
  readonly used_ratio: number;
}

/** Of GET /admin/rate-limits/children, the fullest first. */
export interface ChildList extends Timed {
  readonly children: readonly ChildItem[];
  /** How many children the template has in all, whatever was searched for. */
  readonly total: number;
  /**
   * Where hosts share the rule: how many others live. Children that only they have met aren't
   * listed, or counted in `total`.
   */
  readonly other_hosts?: number;
}

/** Requests of one day in UTC. */
interface BackTestDay {
  readonly date: string;
  readonly requests: number;
  readonly refused: number;
}

/** The longest wait decides, as in a refusal. */
export interface RefusedFor {
  readonly requests: number;
  readonly tokens: number;
  readonly concurrent: number;
  /** A template that was full. */
  readonly children: number;
}

/**
 * Of POST /admin/rate-limits/test. Complete once `next` is null; until then, as far as it has got.
 */
export interface BackTestReport extends Timed {
  /** The recorded requests that began in these moments are judged. */
  readonly start: string;
  readonly end: string;
  /** When the first of all records ended; null: there is none. */
  readonly oldest_record_at: string | null;
  /** Those that the rule covers. */
  readonly requests: number;
  readonly refused: number;
  readonly refused_for: RefusedFor;
  readonly first_refused_at: string | null;
  readonly last_refused_at: string | null;
  /** The days of the range with requests. */
  readonly days: readonly BackTestDay[];
  /** Where most were refused: paths below the rule's, or the first segments of paths. */
  readonly paths: readonly { readonly user_path: string; readonly refused: number }[];
  /** The lowest caps that would have refused nothing, of those that the rule has. */
  readonly lowest_caps: RuleCaps;
  /** Counted, but not judged: their records came too late to be put in their place. */
  readonly late: number;
  /** Why the rule would do nothing, as in a list of rules. */
  readonly inert?: string;
  /** From 0 to 1. */
  readonly progress: number;
  /** To be sent as `after` to continue. */
  readonly next: string | null;
}
