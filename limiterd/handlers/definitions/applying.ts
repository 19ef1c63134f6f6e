/** Collects the changes of the store and the effects while definitions are applied to memory. */
import type { JwtName } from "../../../shared/domain/jwt-denial.js";
import type { Budget } from "../../budgets/budget-account.js";
import type { StoredDenial } from "../../keys/jwt-denials.js";
import type { Change } from "../../store/store.js";

export interface Applying {
  readonly nowMs: number;
  /**
   * The lsn of the batch that was closed before: everything counted until now is at or below it.
   */
  readonly lsn: number;
  readonly changes: Change[];
  /** The ids of the rules that are deleted. */
  readonly deletedRules: ReadonlySet<string>;
  /** Stale accounts of budgets, by key. */
  readonly stale: Iterable<string>[];
  /** Budgets that must look up what their period has cost. */
  readonly incomplete: Budget[];
  readonly denied: StoredDenial[];
  readonly allowed: JwtName[];
}
