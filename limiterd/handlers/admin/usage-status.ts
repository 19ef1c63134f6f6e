/**
 * The body of GET /v1/usage (docs/reference/http-api.md, "Usage"): the usage of a user path in a
 * range of days, and the current state of its budgets and rate limits. Reading changes nothing.
 */
import type { RateLimitStatus, UsageStatus } from "../../../shared/api/usage-report.js";
import { modelsField } from "../../../shared/domain/limited-models.js";
import {
  type CappedMeasure,
  capFields,
  cappedMeasures,
  periodLabel,
} from "../../../shared/domain/rule.js";
import { whenField } from "../../../shared/domain/rule-hours.js";
import { formatMillis } from "../../../shared/time.js";
import { capsAt, countsOf, isOff } from "../../counters/counter.js";
import { wholeSeconds } from "../../counters/window.js";
import { budgetStatuses, refreshStatuses } from "../../lists/list-budgets.js";
import { liveCounts } from "../../lists/list-rules.js";
import { raisesField } from "../../lists/raise-items.js";
import { isShown, viewerAt } from "../../rules/limits-above.js";
import { byRule, type RuleCounters } from "../../rules/rule-book.js";
import type { DaemonState } from "../../state.js";
import { usageOf } from "../../usage/reports/usage-totals.js";
import type { UsageWindow } from "../../usage/usage-query.js";

/** What else is known of the caller beside the path. */
export interface StatusAsker {
  /** The key whose labels' budgets are also listed; empty for a caller without a managed key. */
  readonly keyId: string;
  /** The session whose budgets are also listed; empty for none. */
  readonly session: string;
}

/** The status as a plain object that messages can carry. Rejects with `StoreUnreadableError`. */
export async function usageStatus(
  state: DaemonState,
  window: UsageWindow,
  { keyId, session }: StatusAsker,
  nowMs: number,
): Promise<UsageStatus> {
  const { userPath } = window;
  const viewer = viewerAt(state, userPath);
  const { book, settings, shares } = state;
  if (shares !== null && settings.rateLimitsEnabled)
    await shares.refresh(book.copyAllOnPath(userPath, nowMs));
  // Reads the counters before the sums, whose reading takes several turns.
  const rateLimits = rateLimitStatuses(state, userPath, nowMs);
  const labels = state.labelsOf(keyId);
  const caller = { userPath, session };
  await refreshStatuses(state, caller, labels, nowMs);
  const budgets = budgetStatuses(state, caller, labels, nowMs);
  const { usage, hosts } = state.settings.usageEnabled
    ? await usageOf(state, window)
    : { usage: null };
  return {
    usage,
    budgets: budgets.filter((budget) => isShown(budget, viewer)),
    rate_limits: rateLimits.filter(({ subject }) =>
      isShown({ scope: "user_path", subject }, viewer),
    ),
    server_time: formatMillis(nowMs),
    user_path: userPath,
    ...(hosts === undefined ? {} : { hosts }),
  };
}

/**
 * The user-path rules that cover a path, in the order (subject, period, models); for a template,
 * the path's own child.
 */
function rateLimitStatuses(
  { book, settings }: DaemonState,
  userPath: string,
  nowMs: number,
): RateLimitStatus[] {
  if (!settings.rateLimitsEnabled) return [];
  return byRule(book.copyAllOnPath(userPath, nowMs)).map((counters) => {
    const inert = settings.inertReason(counters.counter.rule.definition);
    return {
      ...rateLimitStatus(counters, { nowMs, tokensEnforced: settings.usageEnabled }),
      ...(inert === null ? {} : { inert }),
    };
  });
}

function rateLimitStatus(
  counters: RuleCounters,
  { nowMs, tokensEnforced }: { readonly nowMs: number; readonly tokensEnforced: boolean },
): RateLimitStatus {
  const { counter } = counters;
  const { rule, child } = counter;
  const { definition } = rule;
  const { perChild, hostOnly, periodSeconds, models, when } = definition;
  const live = liveCounts(counters, nowMs);
  const counted = countsOf(counter, nowMs);
  const caps = capsAt(rule, child, counted.nowMs);
  const { maxRequests, maxTokens, measureCaps } = caps;
  return {
    subject: counter.subject,
    user_path: counter.subject,
    per_child: perChild,
    ...(hostOnly === true ? { host_only: true } : {}),
    period_label: periodLabel(periodSeconds),
    period_seconds: periodSeconds,
    ...modelsField(models),
    ...whenField(when),
    ...live,
    ...(rule.periodMs > 0
      ? { resets_in_seconds: wholeSeconds(counted.window.startMs + rule.periodMs - counted.nowMs) }
      : {}),
    ...capFields({ ...definition, ...caps }),
    ...(maxRequests === null
      ? {}
      : { requests_usage_ratio: maxRequests === 0 ? 0 : live.requests_used / maxRequests }),
    ...(maxTokens === null ? {} : { tokens_usage_ratio: live.tokens_used / maxTokens }),
    ...Object.fromEntries(
      Object.entries(measureCaps ?? {}).map(([measure, cap]) => [
        `${measure}_usage_ratio`,
        (live[`${measure as CappedMeasure}_used`] ?? 0) / cap,
      ]),
    ),
    ...raisesField(rule, nowMs, child),
    exhausted:
      !isOff(rule, nowMs) &&
      (live.requests_remaining === 0 ||
        (tokensEnforced &&
          (live.tokens_remaining === 0 ||
            cappedMeasures.some((measure) => live[`${measure}_remaining`] === 0)))),
  };
}
