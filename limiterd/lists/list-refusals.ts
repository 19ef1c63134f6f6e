/**
 * The last refusals for GET /admin/refusals (docs/reference/admin-api.md), and one refusal as an
 * explanation shows it.
 */
import type { BreachItem, RefusalItem, RefusalPage } from "../../shared/api/refusal-item.js";
import { budgetPeriodLabel } from "../../shared/domain/budget.js";
import { modelsField } from "../../shared/domain/limited-models.js";
import { costUsd } from "../../shared/domain/money.js";
import { refusalMessage } from "../../shared/domain/refusal-message.js";
import { periodLabel } from "../../shared/domain/rule.js";
import { whenField } from "../../shared/domain/rule-hours.js";
import { targetName } from "../../shared/domain/target-name.js";
import { isPathWithin } from "../../shared/domain/user-path.js";
import {
  type Breach,
  type BudgetBreach,
  bannedWaitSeconds,
  dimensions,
} from "../../shared/domain/verdict.js";
import { formatMillis } from "../../shared/time.js";
import { breachShownTo, type Viewer } from "../rules/limits-above.js";
import type { RecentRefusal, RecentRefusals } from "../rules/recent-refusals.js";
import { itemsExaminedMax, type ListQuery, matches } from "./list-query.js";

/** The filters of the list. */
export const refusalChoices = {
  dimension: [...dimensions, "budget"],
} as const;

/**
 * One page, newest first. `query.after` is the number of the last refusal that the previous page
 * examined.
 */
export function listRefusals(
  refusals: Pick<RecentRefusals, "newestFirst">,
  query: ListQuery,
  nowMs: number,
  viewer: Viewer,
): RefusalPage {
  const { dimension } = query.chosen;
  const items: RefusalItem[] = [];
  let examined = 0;
  let last: number | null = null;
  let next: string | null = null;
  for (const [number, refusal] of refusals.newestFirst(numberOf(query.after))) {
    if (items.length === query.limit || examined++ === itemsExaminedMax) {
      next = String(last);
      break;
    }
    last = number;
    if ((dimension === undefined || refusal.breach.dimension === dimension) && isFound(refusal))
      items.push(refusalItem(refusal, viewer));
  }
  return { refusals: items, server_time: formatMillis(nowMs), next };

  function isFound({ userPath, keyId, model, requestId, targets }: RecentRefusal): boolean {
    if (!isPathWithin(userPath, query.userPath)) return false;
    const names = [userPath, keyId, model ?? "", requestId ?? "", ...targets.map(targetName)];
    return names.some((name) => matches(query, name));
  }
}

/** The number in `after`; null, which begins with the newest, if it isn't a number. */
function numberOf(after: string | null): number | null {
  return after !== null && /^\d{1,15}$/.test(after) ? Number(after) : null;
}

export function refusalItem(
  {
    requestId,
    atMs,
    userPath,
    keyId,
    model,
    targets,
    targetsLeftOut,
    submission,
    breach,
  }: RecentRefusal,
  viewer: Viewer,
): RefusalItem {
  return {
    request_id: requestId,
    refused_at: formatMillis(atMs),
    user_path: userPath,
    ...(keyId === "" ? {} : { key: keyId }),
    model: model === "" ? null : model,
    ...(submission ? { submission: true } : {}),
    targets: targets.map(targetName),
    ...(targetsLeftOut > 0 ? { targets_left_out: targetsLeftOut } : {}),
    ...explainBreach(breachShownTo(viewer, breach)),
    admitted_at: admittedAt(breach, atMs),
  };
}

/** The wait in seconds; null for a ban. */
export function retryAfter({ waitSeconds }: Pick<Breach, "waitSeconds">): number | null {
  return waitSeconds === bannedWaitSeconds ? null : waitSeconds;
}

/** When the wait ends; null for a ban. */
export function admittedAt(breach: Pick<Breach, "waitSeconds">, nowMs: number): string | null {
  const wait = retryAfter(breach);
  return wait === null ? null : formatMillis(nowMs + wait * 1000);
}

/**
 * A breach as it was or would be reported: message, rule, dimension, cap and wait; or the budget
 * with its spend and amount.
 */
export function explainBreach(breach: Breach | BudgetBreach): BreachItem {
  if (breach.above !== undefined)
    return {
      message: refusalMessage(breach),
      above: breach.above,
      dimension: breach.dimension,
      retry_after: retryAfter(breach),
    };
  if (breach.dimension === "budget") {
    const { scope, subject, periodSeconds, models, rolling, dimension } = breach;
    const { spentUsd, amountUsd, waitSeconds } = breach;
    return {
      message: refusalMessage(breach),
      budget: {
        scope,
        subject,
        period_label: budgetPeriodLabel(periodSeconds, rolling),
        period_seconds: periodSeconds,
        ...modelsField(models),
      },
      dimension,
      spent: spentUsd,
      amount: amountUsd,
      retry_after: waitSeconds,
    };
  }
  const { scope, subject, periodSeconds, models, when, dimension, cap } = breach;
  return {
    message: refusalMessage(breach),
    rule: {
      scope,
      subject,
      period_label: periodLabel(periodSeconds),
      period_seconds: periodSeconds,
      ...modelsField(models),
      ...whenField(when),
    },
    dimension,
    cap: dimension === "cost" ? costUsd(cap) : cap,
    retry_after: retryAfter(breach),
  };
}
