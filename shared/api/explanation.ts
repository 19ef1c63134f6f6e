/** What POST /admin/explain answers (docs/reference/admin-api.md). */
import type { RuleSource } from "../domain/rule.js";
import type { BudgetStatus } from "./budget-item.js";
import type { Timed } from "./list-page.js";
import type { BreachItem, RefusalItem } from "./refusal-item.js";
import type { RuleCaps, RuleCounts, RuleHosts, RuleName } from "./rule-item.js";

interface ExplainedLimit {
  /** The subject of the template whose child `subject` is; only where there is one. */
  readonly template?: string;
  readonly source: RuleSource;
  /** Seconds until this one alone would admit; 0 if it does now. */
  readonly retry_after: number;
}

/** A rule that the request meets. `subject` is what is counted: the child's path for a template. */
export interface ExplainedRule extends RuleName, RuleCaps, RuleHosts, RuleCounts, ExplainedLimit {
  /** `children`, `concurrent`, `requests`, `tokens`: what has no room for the request. */
  readonly breached: readonly string[];
  /** Only if its token limit isn't judged: why. */
  readonly inert?: string;
}

/** A budget that the request meets. */
export interface ExplainedBudget extends BudgetStatus, ExplainedLimit {
  /** `["children"]` where a template has no room for a new child; else left out. */
  readonly breached?: readonly string[];
}

export interface ExplainedTarget {
  /** `provider/model`. */
  readonly target: string;
  /** Whether the request would go here. */
  readonly chosen: boolean;
  /** Whether its own rules have room. */
  readonly admits: boolean;
  /** With what its rules would refuse the request; null if they admit it. */
  readonly message: string | null;
  /** Seconds until its rules would admit; 0 if they do now. */
  readonly retry_after: number;
  readonly rules: readonly ExplainedRule[];
}

export type ExplainedVerdict =
  | {
      readonly admitted: true;
      /** `provider/model`; null for a submission, which goes to none. */
      readonly target: string | null;
      readonly retry_after: 0;
      readonly admitted_at: string;
    }
  | (BreachItem & {
      readonly admitted: false;
      /** When it would be admitted if no other traffic came; with milliseconds. */
      readonly admitted_at: string;
      /** That time is right only if a request in flight has ended by then. */
      readonly needs_slot: boolean;
    });

/** The verdict of the rules on a request, as of now. */
export interface RulesExplanation extends Timed {
  readonly user_path: string;
  readonly verdict: ExplainedVerdict;
  /** The user-path rules. */
  readonly rules: readonly ExplainedRule[];
  /** In the order in which they are tried; none for a submission, which their rules don't judge. */
  readonly targets: readonly ExplainedTarget[];
}

export interface Explanation extends RulesExplanation {
  /** As the question named it; not where it named a refused request. */
  readonly model?: string;
  /** The id of the managed key that the question named; else left out. */
  readonly key?: string;
  /** What was refused, as of then; only where the question named a refused request. */
  readonly refusal?: RefusalItem;
  readonly budgets: readonly ExplainedBudget[];
}
