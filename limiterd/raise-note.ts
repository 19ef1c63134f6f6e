/** Notes of begun and ended raises of rules and budgets, for the log. */
import type { Raise } from "../shared/domain/raise.js";
import type { Measure } from "../shared/domain/rule.js";

export type RaiseKind = "rule_raises" | "budget_raises";

/** The parts of a rule or budget that raises need. */
export interface Raisable {
  readonly id: string;
  readonly definition: { readonly subject: string; readonly perChild: boolean };
  /** Null without raises. */
  raises: readonly Raise[] | null;
  /** Only rules have it; null unless other hosts count in the rule. */
  readonly shares?: object | null;
  /** The windows of a rule's measures; absent for a budget. */
  readonly parts?: readonly { readonly measure: Measure | null; raises: readonly Raise[] | null }[];
}

export interface RaiseNote {
  readonly event: "raised" | "ended" | "ended early";
  readonly kind: RaiseKind;
  readonly limit: Raisable;
  readonly raise: Raise;
  /** Who ended it early. */
  readonly endedBy?: string;
}
