/** A budget being edited in its dialog, and the body that saves it. Pure. */
import type { BudgetItem } from "../../../../shared/api/budget-item.js";
import type { UnpricedChoice } from "../../../../shared/domain/budget.js";
import {
  type DraftBody,
  type ExhaustedDraft,
  exhaustedBody,
  exhaustedDraftOf,
  holdBody,
  isElsewhere,
  itemKey,
  type KeyDraft,
  keyBody,
  keyDraftOf,
  noSubject,
  parseAmount,
  refusesWhenExhausted,
  type SaveEffect,
  saveEffect,
} from "./limit-draft.js";

export const budgetPeriods = [
  "hourly",
  "daily",
  "weekly",
  "monthly",
  "quarterly",
  "yearly",
  "session",
] as const;

export interface BudgetDraft extends KeyDraft, ExhaustedDraft {
  /** US dollars as typed. */
  readonly amount: string;
  /** What happens to models without a price; empty for the setting of all budgets. */
  readonly unpriced: UnpricedChoice | "";
  /** Empty: as set for all budgets. */
  readonly timeZone: string;
  /** As typed; empty: as set for all budgets. */
  readonly anchorDay: string;
  readonly rolling: boolean;
  /** In percent, as typed; empty for none. */
  readonly rollover: string;
}

export function newBudget(scope: string): BudgetDraft {
  return {
    ...refusesWhenExhausted,
    scope,
    subject: "",
    period: "monthly",
    seconds: "",
    perChild: false,
    models: "",
    amount: "",
    unpriced: "",
    timeZone: "",
    anchorDay: "",
    rolling: false,
    rollover: "",
  };
}

export function budgetDraftOf(budget: BudgetItem): BudgetDraft {
  const { amount, unpriced = "", time_zone = "", anchor_day, rolling = false, rollover } = budget;
  return {
    ...keyDraftOf(budget, budgetPeriods),
    ...exhaustedDraftOf(budget),
    amount: String(amount),
    unpriced,
    timeZone: time_zone,
    anchorDay: anchor_day === undefined ? "" : String(anchor_day),
    rolling,
    rollover: rollover === undefined ? "" : String(Math.round(rollover * 1e6) / 1e4),
  };
}

/** `original`: the budget being edited; null for a new one. */
export function budgetBody(draft: BudgetDraft, original: BudgetItem | null): DraftBody {
  if (draft.subject.trim() === "") return noSubject;
  const amount = parseAmount(draft.amount);
  if (amount === null) return { ok: false, field: "amount" };
  const rollover = shareOf(draft.rollover);
  if (rollover === "wrong") return { ok: false, field: "rollover" };
  const body = {
    ...keyBody(draft, "budget_key"),
    amount,
    // An absent field would keep its value.
    unpriced: draft.unpriced === "" ? null : draft.unpriced,
    ...calendarOf(draft),
    rollover,
    ...holdBody(draft, original),
    ...exhaustedBody(draft, original),
    ...(original !== null && isElsewhere(draft, original)
      ? { replaces: itemKey(original, "budget_key") }
      : {}),
  };
  return { ok: true, body };
}

/**
 * The calendar's fields; null for one that isn't set. The gateway checks the numbers and names a
 * wrong field.
 */
function calendarOf(draft: BudgetDraft): Record<string, unknown> {
  const timeZone = draft.timeZone.trim();
  const anchorDay = draft.anchorDay.trim();
  return {
    time_zone: timeZone === "" ? null : timeZone,
    anchor_day: anchorDay === "" ? null : (parseAmount(anchorDay) ?? anchorDay),
    rolling: draft.rolling,
  };
}

/** A share from a percentage as typed; null for none. */
function shareOf(typed: string): number | null | "wrong" {
  if (typed.trim() === "") return null;
  const percent = parseAmount(typed.replace("%", ""));
  return percent === null || percent > 100 ? "wrong" : percent / 100;
}

/** As `saveEffect`; another calendar recalculates the spend. */
export function budgetEffect(draft: BudgetDraft, original: BudgetItem | null): SaveEffect {
  const effect = saveEffect(draft, original);
  if (effect !== "keeps" || original === null) return effect;
  const { time_zone: timeZone, anchor_day: anchorDay, rolling } = calendarOf(draft);
  const isSame =
    timeZone === (original.time_zone ?? null) &&
    anchorDay === (original.anchor_day ?? null) &&
    rolling === (original.rolling ?? false);
  return isSame ? "keeps" : "makes";
}
