/**
 * A refusal in words (CONTRACT sections 4 and 5): the same for the 429, the log line and `sluice
 * explain`.
 */

import { budgetPeriodLabel } from "./budget.js";
import { periodLabel } from "./rule.js";
import type { Breach, BudgetBreach } from "./verdict.js";

/**
 * `rate limit exceeded for <who>: <label> request limit of <n> reached`, or `budget exceeded for
 * <who> <label> limit: spent <x> of <y>`.
 */
export function refusalMessage(breach: Breach | BudgetBreach): string {
  if (breach.dimension === "budget")
    return `budget exceeded for ${breach.subject} ${budgetPeriodLabel(breach.periodSeconds)} limit: spent ${breach.spentUsd} of ${breach.amountUsd}`;
  const who = breach.scope === "user_path" ? breach.subject : `${breach.scope} ${breach.subject}`;
  const limit =
    breach.dimension === "concurrent"
      ? "concurrent request"
      : `${periodLabel(breach.periodSeconds)} ${breach.dimension === "tokens" ? "token" : "request"}`;
  return `rate limit exceeded for ${who}: ${limit} limit of ${breach.cap} reached`;
}
