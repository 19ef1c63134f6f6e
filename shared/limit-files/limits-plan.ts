/** The changes of a file of limits, as POST /admin/limits answers (docs/reference/admin-api.md). */

import type { ListPage, TimedAnswer } from "../api/list-page.js";
import type { BudgetScope, UnpricedChoice } from "../domain/budget.js";
import type { CalendarFields } from "../domain/budget-calendar.js";
import type { ModeField } from "../domain/limit-key.js";
import type { OnExhausted } from "../domain/on-exhausted.js";
import type { CapFields, Scope } from "../domain/rule.js";
import type { WhenField } from "../domain/rule-hours.js";

/**
 * `take_over`: the configuration declares the limit, and the file overrides it. `revert`: the limit
 * was changed by hand, and the configuration's values return. `locked`: the configuration declares
 * it differently, so that nothing is changed.
 */
export const limitActions = ["add", "change", "take_over", "remove", "revert", "locked"] as const;
export type LimitAction = (typeof limitActions)[number];

/** The values of a rule or a budget; the calendar is a budget's. */
interface LimitValues extends CapFields, CalendarFields {
  /** For a budget, in US dollars. */
  readonly amount?: number;
  /** For a budget that doesn't leave it to `budgets.unpriced`. */
  readonly unpriced?: UnpricedChoice;
  readonly on_exhausted?: OnExhausted;
  readonly hold?: "hard";
  readonly per_child: boolean;
  /** True for a rule that each host counts for itself; otherwise absent. */
  readonly host_only?: true;
}

/** A rule or budget that differs from the file. */
export interface LimitItem extends ModeField {
  readonly kind: "rule" | "budget";
  readonly action: LimitAction;
  readonly scope: Scope | BudgetScope;
  readonly subject: string;
  readonly period_label: string;
  readonly period_seconds: number;
  /** The models that it is for; absent for all. */
  readonly models?: readonly string[];
  /** The hours of a rule; absent for always. */
  readonly when?: WhenField;
  /** Absent if it is added. */
  readonly before?: LimitValues;
  /** Absent if it is removed. */
  readonly after?: LimitValues;
  /** The configuration's declaration, for `take_over`, `revert` and `locked`. */
  readonly declared_at?: string;
  readonly declared_line?: number;
  /** Why it won't be enforced. */
  readonly inert?: string;
}

/**
 * Why a file can't have a key: it is deactivated, the hash is that of a secret from before a
 * rotation, or it is a key of administration.
 */
export type KeyLock = "deactivated" | "rotated" | "role";

/** The fields of a key in a file. */
export interface KeyValues {
  readonly name: string | null;
  readonly user_path: string | null;
  readonly labels: readonly string[];
  readonly models: readonly string[] | null;
  readonly expires_at: string | null;
}

/** A managed key that differs from the file. */
export interface KeyItem {
  readonly kind: "key";
  readonly action: "add" | "change" | "remove" | "locked";
  /** Absent if it is added. */
  readonly id?: string;
  readonly redacted_value: string;
  readonly before?: KeyValues;
  readonly after?: KeyValues;
  readonly locked_by?: KeyLock;
}

/** A denied JWT that differs from the file. */
export interface DenialItem {
  readonly kind: "denied_jwt";
  readonly action: "add" | "change" | "remove";
  readonly claim: "jti" | "sub";
  readonly value: string;
  readonly issuer: string | null;
  readonly before?: { readonly expires_at: string | null };
  readonly after?: { readonly expires_at: string | null };
}

export type LimitChangeItem = LimitItem | KeyItem | DenialItem;

/** The number of changes by action. */
export interface LimitCounts extends Readonly<Record<LimitAction, number>> {
  readonly unchanged: number;
  /** Made by hand, not in its section of the file, and left unchanged. */
  readonly kept: number;
}

interface PlanFacts {
  /**
   * Sorted by scope, subject, period and models; rules before budgets, then keys and denied JWTs.
   */
  readonly changes: readonly LimitChangeItem[];
  readonly counts: LimitCounts;
  /** Changes whenever the plan would change. */
  readonly revision: string;
}

/** A page of the daemon's answer. */
export interface LimitsPlanPage extends PlanFacts, ListPage {}

export interface LimitsPlan extends PlanFacts, TimedAnswer {
  readonly applied: boolean;
}
