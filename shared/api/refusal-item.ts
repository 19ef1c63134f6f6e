/** The last refusals, as GET /admin/refusals lists them (docs/reference/admin-api.md). */
import type { Dimension } from "../domain/verdict.js";
import type { BudgetName } from "./budget-item.js";
import type { ListPage } from "./list-page.js";
import type { RuleName } from "./rule-item.js";

interface BreachFacts {
  /** As the 429 says it. */
  readonly message: string;
  /** Seconds until it would pass, if no other traffic came. */
  readonly retry_after: number;
}

/** What refuses a request: a rule by one of its caps, or a budget. */
export type BreachItem = BreachFacts &
  (
    | { readonly rule: RuleName; readonly dimension: Dimension; readonly cap: number }
    | {
        readonly budget: BudgetName;
        readonly dimension: "budget";
        /** US dollars, both. */
        readonly spent: number;
        readonly amount: number;
      }
  );

export type RefusalItem = BreachItem & {
  /** Null until its proxy has reported the request. */
  readonly request_id: string | null;
  /** With milliseconds, as `admitted_at`. */
  readonly refused_at: string;
  readonly user_path: string;
  /** The id of the caller's managed key; left out without one. */
  readonly key?: string;
  /** As the request named it; null if it named none, or until it is reported. */
  readonly model: string | null;
  /** Only on the submission of a batch. */
  readonly submission?: true;
  /** `provider/model`, in the order in which they were judged. */
  readonly targets: readonly string[];
  /** Only if there were more than are kept: how many more. */
  readonly targets_left_out?: number;
  /** When it would have passed, if no other traffic came. */
  readonly admitted_at: string;
};

/** Newest first. */
export interface RefusalPage extends ListPage {
  readonly refusals: readonly RefusalItem[];
}
