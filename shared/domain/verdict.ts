/**
 * The details of a verdict: the counts for the success headers, and the rule or budget that
 * refuses. Messages in `wire/` contain them.
 */
import type { BudgetScope } from "./budget.js";
import type { LimitedModels } from "./limited-models.js";
import { type Measure, measures, type Scope } from "./rule.js";
import type { RuleHours } from "./rule-hours.js";

/** The remaining amount of a cap; for `cost` in pico-dollars. */
export interface Remaining {
  readonly limit: number;
  readonly remaining: number;
  readonly resetSeconds: number;
}

/**
 * The counts of the success headers (`docs/reference/http-api.md`, "Every response"); null or
 * absent where no rule has such a cap.
 */
export interface SuccessHeaders {
  readonly requests: Remaining | null;
  readonly tokens: Remaining | null;
  readonly measures?: Readonly<Partial<Record<Measure, Remaining>>> | undefined;
}

/**
 * `children`: a template has its maximum of children, so a new child gets no counter. `banned`: the
 * rule's cap is 0, so it allows no request. `upstream`: a limit of the provider's own. `adaptive`:
 * the cap that follows a target's latency. These two belong to no rule.
 */
export const dimensions = [
  "requests",
  "tokens",
  "concurrent",
  "children",
  "banned",
  "upstream",
  "adaptive",
  ...measures,
] as const;
export type Dimension = (typeof dimensions)[number];
/** What a rule can refuse for. */
export type RuleDimension = Exclude<Dimension, "upstream" | "adaptive">;

/** The wait that means never. It is longer than any other, so a target that isn't banned wins. */
export const bannedWaitSeconds = Number.MAX_SAFE_INTEGER;

/** The rule's cap that refuses a request. `subject` is the child's path for a template. */
export interface Breach {
  readonly scope: Scope;
  readonly subject: string;
  readonly periodSeconds: number;
  readonly dimension: Dimension;
  /** In pico-dollars for `cost`. */
  readonly cap: number;
  /** `bannedWaitSeconds` if it is banned. */
  readonly waitSeconds: number;
  /** The models that the rule is for; absent for all. */
  readonly models?: LimitedModels | undefined;
  /** The hours of the rule; absent for always. */
  readonly when?: RuleHours | undefined;
  /** The model that may serve the request instead; absent if none. */
  readonly use?: string | undefined;
  /**
   * The child whose share of the cap is used up, while other children may claim the rest of the
   * cap; absent if the cap itself is reached.
   */
  readonly share?: string | undefined;
  /** The name of the provider's limit, if it reports one; only of `upstream`. */
  readonly limitName?: string | undefined;
  /**
   * The caller's path if the rule is above it and isn't shown to the caller
   * (`usage.show_ancestors`): then there is no subject and no cap.
   */
  readonly above?: string | undefined;
}

/**
 * The budget that refuses a request. `subject` is the child's path for a template; amounts are in
 * US dollars.
 */
export interface BudgetBreach {
  readonly dimension: "budget";
  readonly scope: BudgetScope;
  readonly subject: string;
  readonly periodSeconds: number;
  readonly spentUsd: number;
  /** The budget's amount, and what is carried over from the last period. */
  readonly amountUsd: number;
  /**
   * Until the end of the period; for a rolling one, until the counted spend is below the amount.
   */
  readonly waitSeconds: number;
  /** The models that the budget is for; absent for all. */
  readonly models?: LimitedModels | undefined;
  /** As in `Breach`. */
  readonly use?: string | undefined;
  readonly rolling?: true | undefined;
  /** As in `Breach`; then there are no amounts. */
  readonly above?: string | undefined;
}
