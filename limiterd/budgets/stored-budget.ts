/**
 * Budgets as the store keeps them: definitions, the spend of each account, the last resets, and the
 * anchors. An account's own entry is written periodically (`flushUsage`); later spend is in the
 * log of spends (`spend-log.ts`).
 */

import { periodSecondsMax } from "../../shared/bounds.js";
import { isCount } from "../../shared/checked.js";
import {
  amountUsdMax,
  type BudgetDefinition,
  budgetScopes,
  unpricedChoices,
} from "../../shared/domain/budget.js";
import {
  calendarFromStored,
  calendarToStored,
  perSession,
} from "../../shared/domain/budget-calendar.js";
import { parseHold } from "../../shared/domain/hold.js";
import { isLimitedModels } from "../../shared/domain/limited-models.js";
import { parseOnExhausted } from "../../shared/domain/on-exhausted.js";
import { anchorsToStored, type ResetAnchors } from "../../shared/domain/reset-anchors.js";
import { isMoment } from "../../shared/time.js";
import type { Change } from "../store/store.js";
import {
  type Account,
  type Budget,
  type BudgetReset,
  freshAccount,
  type RestoredBudget,
  type StoredSpend,
} from "./budget-account.js";
import { periodsMax, spendsFromStored, spendsToStored } from "./spend.js";

/**
 * `budgets`: [scope, subject, periodSeconds, amountUsd, perChild, source, createdAtMs, updatedAtMs,
 * sinceMs, sinceKey, isBackfilling, unpriced, models, calendar, onExhausted, hold] by budget id; of
 * the last five, the trailing ones that aren't set are left out, and others that aren't set are
 * null.
 */
export function budgetChange({
  id,
  definition,
  source,
  createdAtMs,
  updatedAtMs,
  sinceMs,
  sinceKey,
  isBackfilling,
}: RestoredBudget & { readonly id: string }): Change {
  const { scope, subject, periodSeconds, amountUsd, perChild, unpriced, models } = definition;
  const { onExhausted, hold } = definition;
  const optional = [unpriced, models, calendarToStored(definition), onExhausted, hold];
  return {
    table: "budgets",
    key: id,
    value: [
      scope,
      subject,
      periodSeconds,
      amountUsd,
      perChild,
      source,
      createdAtMs,
      updatedAtMs,
      sinceMs,
      sinceKey,
      isBackfilling,
      ...optional
        .slice(0, 1 + optional.findLastIndex((value) => value !== undefined))
        .map((value) => value ?? null),
    ],
  };
}

/** Null for what `budgetChange` never wrote. */
export function budgetFromStored(value: readonly unknown[]): RestoredBudget | null {
  const [
    rawScope,
    subject,
    periodSeconds,
    amountUsd,
    perChild,
    source,
    createdAtMs,
    updatedAtMs,
    sinceMs,
    sinceKey,
    isBackfilling,
    ...optional
  ] = value;
  if (optional.at(-1) === null) return null;
  const [rawUnpriced, models, rawCalendar, rawExhausted, rawHold] = optional.map(
    (each) => each ?? undefined,
  );
  const unpriced = unpricedChoices.find((choice) => choice === rawUnpriced);
  const scope = budgetScopes.find((candidate) => candidate === rawScope);
  if (
    scope === undefined ||
    typeof subject !== "string" ||
    !isCount(periodSeconds, perSession) ||
    periodSeconds > periodSecondsMax ||
    typeof amountUsd !== "number" ||
    !(amountUsd > 0 && amountUsd <= amountUsdMax) ||
    typeof perChild !== "boolean"
  )
    return null;
  if (
    (source !== "manual" && source !== "config") ||
    !isMoment(createdAtMs) ||
    !isMoment(updatedAtMs) ||
    !isMoment(sinceMs) ||
    !isCount(sinceKey) ||
    typeof isBackfilling !== "boolean" ||
    (rawUnpriced !== undefined && unpriced === undefined)
  )
    return null;
  const isOfPath = perChild || models !== undefined || periodSeconds === perSession;
  if (isOfPath && scope !== "user_path") return null;
  if (models !== undefined && !isLimitedModels(models)) return null;
  const calendar = calendarFromStored(rawCalendar, periodSeconds);
  const exhausted = parseOnExhausted(rawExhausted, "on_exhausted");
  const hold = parseHold(rawHold, "hold");
  if (calendar === null || !exhausted.ok || !hold.ok) return null;
  const definition: BudgetDefinition = {
    scope,
    subject,
    periodSeconds,
    amountUsd,
    perChild,
    ...(unpriced === undefined ? {} : { unpriced }),
    ...(models === undefined ? {} : { models }),
    ...calendar,
    ...exhausted.value,
    ...hold.value,
  };
  return { definition, source, createdAtMs, updatedAtMs, sinceMs, sinceKey, isBackfilling };
}

/** The key of an account, from its budget's id and its child. */
export function spendKey(budgetId: string, child: string): string {
  return `${budgetId}\n${child}`;
}

/** The budget's id and the child of an account's key. */
export function splitSpendKey(key: string): { readonly budgetId: string; readonly child: string } {
  const separator = key.lastIndexOf("\n");
  return { budgetId: key.slice(0, separator), child: key.slice(separator + 1) };
}

/** `spends`: [recordKey, …spends] by account, including every record up to this key. */
export function spendChange(account: Account, recordKey: number): Change {
  const { budget, child, spends } = freshAccount(account);
  return {
    table: "spends",
    key: spendKey(budget.id, child),
    value: [recordKey, ...spendsToStored(spends)],
  };
}

/** Null for what `spendChange` never wrote. */
export function spendFromStored([recordKey, ...rest]: readonly unknown[]): StoredSpend | null {
  const spends = spendsFromStored(rest);
  return isCount(recordKey) && spends !== null ? { recordKey, spends } : null;
}

/**
 * `resets`: [resetAtMs, …[startMs, recordKey] of the last resets] by budget id. It outlives the
 * budget: a budget that is created again has the same resets.
 */
export function resetChange({ id, resets }: Budget, atMs: number): Change {
  const periods = resets.flatMap(({ startMs, recordKey }) => [startMs, recordKey]);
  return { table: "resets", key: id, value: [atMs, ...periods] };
}

interface StoredReset {
  readonly atMs: number;
  readonly periods: readonly Pick<BudgetReset, "startMs" | "recordKey">[];
}

/** Null for what `resetChange` never wrote. */
export function resetFromStored([atMs, ...rest]: readonly unknown[]): StoredReset | null {
  if (!isMoment(atMs) || rest.length % 2 !== 0 || rest.length > 2 * periodsMax) return null;
  const periods: StoredReset["periods"][number][] = [];
  for (let i = 0; i < rest.length; i += 2) {
    const [startMs, recordKey] = rest.slice(i, i + 2);
    // A week may have begun before the epoch.
    if (!Number.isSafeInteger(startMs) || !isCount(recordKey)) return null;
    periods.push({ startMs: startMs as number, recordKey });
  }
  return { atMs, periods };
}

/** `settings`: the anchors, in the order of their table. */
export const anchorsKey = "reset_anchors";

export function anchorsChange(anchors: ResetAnchors): Change {
  return { table: "settings", key: anchorsKey, value: anchorsToStored(anchors) };
}
