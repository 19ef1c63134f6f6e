/** What gathers while definitions are applied to memory: what follows in the store, and effects. */
import type { JwtName } from "../../../shared/domain/jwt-denial.js";
import type { Budget } from "../../budgets/budget-account.js";
import type { StoredDenial } from "../../keys/jwt-denials.js";
import type { Change } from "../../store/store.js";

export interface Applying {
  readonly nowMs: number;
  /** The batch that was closed before: what was counted until now is at or below it. */
  readonly lsn: number;
  readonly changes: Change[];
  /** Accounts of budgets that are stale now, by their keys. */
  readonly stale: Iterable<string>[];
  /** Budgets that look up what their period has cost. */
  readonly incomplete: Budget[];
  readonly denied: StoredDenial[];
  readonly allowed: JwtName[];
}
