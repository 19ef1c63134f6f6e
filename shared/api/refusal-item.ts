/** The latest refusals, as GET /admin/refusals lists them (docs/reference/admin-api.md). */
import type { Dimension } from "../domain/verdict.js";
import type { BudgetName } from "./budget-item.js";
import type { ListPage } from "./list-page.js";
import type { RuleName } from "./rule-item.js";

interface BreachFacts {
  /** The message of the 429; of the 403 for a ban. */
  readonly message: string;
  /** Seconds until it would be admitted without any other traffic; null for a ban. */
  readonly retry_after: number | null;
}

/** What refuses a request: a cap of a rule, or a budget. */
export type BreachItem = BreachFacts &
  (
    | { readonly rule: RuleName; readonly dimension: Dimension; readonly cap: number }
    /** A limit above this path, which isn't shown (`usage.show_ancestors`). */
    | { readonly above: string; readonly dimension: Dimension | "budget" }
    | {
        readonly budget: BudgetName;
        readonly dimension: "budget";
        /** US dollars, as `amount`. */
        readonly spent: number;
        readonly amount: number;
      }
  );

export type RefusalItem = BreachItem & {
  /** Null until the proxy has reported the request. */
  readonly request_id: string | null;
  /** A time with milliseconds, as `admitted_at`. */
  readonly refused_at: string;
  readonly user_path: string;
  /** The id of the caller's managed key; absent if it has none. */
  readonly key?: string;
  /**
   * The model that the request named; null if it named none, or until the proxy has reported it.
   */
  readonly model: string | null;
  /** Present for the submission of a batch. */
  readonly submission?: true;
  /** `provider/model`, in the order of judgement. */
  readonly targets: readonly string[];
  /** The number of targets not listed; present if there are any. */
  readonly targets_left_out?: number;
  /** When it would be admitted without any other traffic; null for a ban. */
  readonly admitted_at: string | null;
};

/** Newest first. */
export interface RefusalPage extends ListPage {
  readonly refusals: readonly RefusalItem[];
}
