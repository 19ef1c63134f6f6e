/** What a file of limits changes, as POST /admin/limits answers (docs/reference/admin-api.md). */
import type { ListPage, Timed } from "../api/list-page.js";
import type { BudgetScope } from "../domain/budget.js";
import type { Scope } from "../domain/rule.js";

/**
 * `take_over`: it was the configuration's, and the file's is put before it. `revert`: it was made
 * by hand, and the configuration's is put back. `locked`: it is the configuration's, which says
 * something else; nothing is changed then.
 */
export const limitActions = ["add", "change", "take_over", "remove", "revert", "locked"] as const;
export type LimitAction = (typeof limitActions)[number];

/** What a rule or a budget limits. */
interface LimitValues {
  readonly max_requests?: number;
  readonly max_tokens?: number;
  /** Of a budget, in US dollars. */
  readonly amount?: number;
  readonly per_child: boolean;
  /** Of a rule by which each host counts alone; otherwise it is left out. */
  readonly host_only?: true;
}

/** One rule or budget that isn't as the file has it. */
export interface LimitChangeItem {
  readonly kind: "rule" | "budget";
  readonly action: LimitAction;
  readonly scope: Scope | BudgetScope;
  readonly subject: string;
  readonly period_label: string;
  readonly period_seconds: number;
  /** Not of one that is added. */
  readonly before?: LimitValues;
  /** Not of one that is removed. */
  readonly after?: LimitValues;
  /** That of the configuration, where one is taken over, put back or locked. */
  readonly declared_at?: string;
  readonly declared_line?: number;
  /** Why it will do nothing. */
  readonly inert?: string;
}

/** How many rules and budgets each is true of. */
export interface LimitCounts extends Readonly<Record<LimitAction, number>> {
  readonly unchanged: number;
  /** Made by hand, not in the file, and left as they are. */
  readonly kept: number;
}

interface PlanFacts {
  /** In the order scope, subject, period; rules before budgets. */
  readonly changes: readonly LimitChangeItem[];
  readonly counts: LimitCounts;
  /** Another one as soon as the plan would be another one. */
  readonly revision: string;
}

/** What the daemon answers, in pages. */
export interface LimitsPlanPage extends PlanFacts, ListPage {}

export interface LimitsPlan extends PlanFacts, Timed {
  readonly applied: boolean;
}
