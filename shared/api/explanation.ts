/** The answer to POST /admin/explain (docs/reference/admin-api.md). */

import type { LoopRule } from "../domain/loop-rule.js";
import type { Measure, RuleSource } from "../domain/rule.js";
import type { BudgetStatus } from "./budget-item.js";
import type { TimedAnswer } from "./list-page.js";
import type { EnqueuedItem } from "./queue-item.js";
import type { WithRaises } from "./raise-item.js";
import type { BreachItem, RefusalItem } from "./refusal-item.js";
import type { RuleCaps, RuleCounts, RuleHosts, RuleName } from "./rule-item.js";

interface ExplainedLimit {
  /** The subject of the template if `subject` is its child; otherwise absent. */
  readonly template?: string;
  readonly source: RuleSource;
  /** Seconds until this limit alone would admit the request; 0 if it does now, null for a ban. */
  readonly retry_after: number | null;
}

/** The child's share of a cap; `cost` in US dollars. */
export interface ExplainedShare {
  /** The segment of the path below the rule's; `.` for that path itself. */
  readonly child: string;
  readonly unit: "slots" | "requests" | "tokens" | Measure;
  readonly weight: number;
  /** The sum of the weights of all children that want the cap now. */
  readonly weights: number;
  readonly priority: number;
  readonly used: number;
  /** The part of the child if all children want as much as they can get. */
  readonly part: number;
  readonly floor: number;
}

/** A rule that applies to the request. For a template `subject` is the child's path. */
export interface ExplainedRule
  extends RuleName,
    RuleCaps,
    RuleHosts,
    RuleCounts,
    ExplainedLimit,
    WithRaises {
  /**
   * The caps without room for the request: `children`, `concurrent`, `requests`, `tokens`; or
   * `banned`; or `share`, if others may claim what a cap has left.
   */
  readonly breached: readonly string[];
  /** Present for a shadow rule: whether it would refuse the request now. */
  readonly would_refuse?: boolean;
  /** Present if children share its caps. */
  readonly child_share?: ExplainedShare;
  /** The reason why its token limit isn't enforced; present only then. */
  readonly inert?: string;
}

/** A budget that applies to the request. */
export interface ExplainedBudget extends BudgetStatus, ExplainedLimit {
  /** `["children"]` if a template has no room for a new child; otherwise absent. */
  readonly breached?: readonly string[];
}

export interface ExplainedTarget {
  /** `provider/model`. */
  readonly target: string;
  /** Whether the request would go to this target. */
  readonly chosen: boolean;
  /** Whether the target's own rules, and the budgets for some models that cover it, have room. */
  readonly admits: boolean;
  /** The message with which one of them refuses the request; null if all admit it. */
  readonly message: string | null;
  /** Seconds until they would admit the request; 0 if they do now, null if one bans it. */
  readonly retry_after: number | null;
  readonly rules: readonly ExplainedRule[];
}

export type ExplainedVerdict =
  | {
      readonly admitted: true;
      /** `provider/model`; null for a submission, which goes to no target. */
      readonly target: string | null;
      readonly retry_after: 0;
      readonly admitted_at: string;
    }
  | (BreachItem & {
      readonly admitted: false;
      /** When it would be admitted without any other traffic; with milliseconds. Null for a ban. */
      readonly admitted_at: string | null;
      /** Whether `admitted_at` requires that a request in flight has ended by then. */
      readonly needs_slot: boolean;
      /** Where it would wait for room; present only if other requests wait for the same limit. */
      readonly queue?: { readonly position: number; readonly expected_seconds: number | null };
    });

/** The verdict that the rules give on the request now. */
export interface RulesExplanation extends TimedAnswer {
  readonly user_path: string;
  readonly verdict: ExplainedVerdict;
  /** The user-path rules. */
  readonly rules: readonly ExplainedRule[];
  /**
   * In the order in which they are tried; empty for a submission, to which their rules don't apply.
   */
  readonly targets: readonly ExplainedTarget[];
  /** Shadow rules: of the path, and of the target that it would go to; absent if there are none. */
  readonly shadows?: readonly ExplainedRule[];
}

export interface Explanation extends RulesExplanation {
  /** As named in the question; absent if the question names a refused request. */
  readonly model?: string;
  /** The id of the managed key that the question names; otherwise absent. */
  readonly key?: string;
  /** The refusal as recorded; present if the question names a refused request. */
  readonly refusal?: RefusalItem;
  readonly budgets: readonly ExplainedBudget[];
  /** The caps on enqueued tokens that batches of the path meet; absent if there are none. */
  readonly enqueued?: readonly EnqueuedItem[];
  /** What happens to agents that repeat themselves, and the path that says so; absent: nothing. */
  readonly loops?: LoopRule & { readonly user_path: string };
}
