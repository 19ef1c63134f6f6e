/**
 * What a verdict tells beside yes or no: the numbers of the success headers, and what refused.
 * Parts of the messages in `message.ts`.
 */
import type { BudgetScope } from "./budget.js";
import type { Scope } from "./rule.js";

/**
 * The six counts of the success headers; null where no rule gives that triple. Resets are whole
 * seconds.
 */
export interface SuccessHeaders {
  readonly requests: {
    readonly limit: number;
    readonly remaining: number;
    readonly resetSeconds: number;
  } | null;
  readonly tokens: {
    readonly limit: number;
    readonly remaining: number;
    readonly resetSeconds: number;
  } | null;
}

export type Dimension = "requests" | "tokens" | "concurrent";

/**
 * The breach that is reported (CONTRACT section 4). `subject` is the child's path for a template.
 */
export interface Breach {
  readonly scope: Scope;
  readonly subject: string;
  readonly periodSeconds: number;
  readonly dimension: Dimension;
  readonly cap: number;
  readonly waitSeconds: number;
}

/**
 * The budget that is reported (CONTRACT section 5). `subject` is the child's path for a template;
 * amounts are US dollars.
 */
export interface BudgetBreach {
  readonly dimension: "budget";
  readonly scope: BudgetScope;
  readonly subject: string;
  readonly periodSeconds: number;
  readonly spentUsd: number;
  readonly amountUsd: number;
  /** To the end of the period. */
  readonly waitSeconds: number;
}
