/**
 * What applying definitions to memory collects: changes of the store, and what else must follow.
 */
import type { JwtName } from "../../../shared/domain/jwt-denial.js";
import type { Budget } from "../../budgets/budget-account.js";
import type { StoredDenial } from "../../keys/jwt-denials.js";
import type { Change } from "../../store/store.js";

export interface Applying {
  readonly nowMs: number;
  /**
   * The lsn of the batch that was closed just before: everything counted so far has this lsn or a
   * lower one.
   */
  readonly lsn: number;
  readonly changes: Change[];
  /** The ids of the rules that are deleted. */
  readonly deletedRules: ReadonlySet<string>;
  /**
   * The keys of stored accounts that must be removed, because they are of former budgets or
   * periods.
   */
  readonly stale: Iterable<string>[];
  /** Budgets that must look up what was spent in their running period. */
  readonly incomplete: Budget[];
  readonly denied: StoredDenial[];
  readonly allowed: JwtName[];
}
