/** The raises of rules and budgets as the API shows them. */

import type { RaiseItem, WithRaises } from "../../shared/api/raise-item.js";
import { appliesTo, type Raise } from "../../shared/domain/raise.js";
import { capFields } from "../../shared/domain/rule.js";
import { childPath } from "../../shared/domain/user-path.js";
import { formatMillis } from "../../shared/time.js";

interface RaisedLimit {
  readonly definition: { readonly subject: string };
  readonly raises: readonly Raise[] | null;
}

/**
 * The raises of a rule or budget that apply now. `child`: only those that apply to it; without it,
 * all.
 */
export function raisesField(
  { definition: { subject }, raises }: RaisedLimit,
  nowMs: number,
  child?: string,
): WithRaises {
  if (raises === null) return {};
  const items = raises
    .filter((raise) => appliesTo(raise, child ?? raise.child, nowMs))
    .map((raise) => itemOf(subject, raise));
  return items.length === 0 ? {} : { raises: items };
}

function itemOf(subject: string, raise: Raise): RaiseItem {
  const { child, amountUsd, fromMs, untilMs, by, reason } = raise;
  return {
    subject: childPath(subject, child),
    ...capFields(raise),
    ...(amountUsd === null ? {} : { amount: amountUsd }),
    from: formatMillis(fromMs),
    until: formatMillis(untilMs),
    by,
    reason,
  };
}
