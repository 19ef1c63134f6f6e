/** Finds budgets that cross a threshold or will run out, for the alerts of `alert-book.ts`. */
import { budgetPeriodLabel } from "../../shared/domain/budget.js";
import type { Forecast } from "../../shared/domain/forecast.js";
import { modelsField } from "../../shared/domain/limited-models.js";
import { type MoneySum, sumUsd } from "../../shared/domain/money.js";
import { formatSeconds } from "../../shared/time.js";
import { accountForecast, budgetForecast } from "../budgets/account-forecast.js";
import { type Account, startOf } from "../budgets/budget-account.js";
import type { BudgetBook } from "../budgets/budget-book.js";
import { amountUsdOf, spentOf } from "../budgets/judge-budgets.js";
import { spendKey } from "../budgets/stored-budget.js";
import type { AlertBook, Crossing } from "./alert-book.js";

/** How often forecasts are checked, in ms. */
export const forecastEveryMs = 300_000;
/**
 * Forecasts below this part of the amount aren't reported: a few early requests would dominate
 * them.
 */
const forecastRatioMin = 0.1;
/** Accounts that are checked in one turn of the event loop. */
const accountsPerTurn = 500;

/** Call after each charge. Usually it only compares the use with the lowest threshold. */
export function noteCharged(
  alerts: AlertBook,
  book: BudgetBook,
  account: Account,
  nowMs: number,
): void {
  const use = useOf(book, account, nowMs);
  if (use.ratio < alerts.lowest * (1 - 1e-12)) return;
  alerts.note(crossingOf(book, account, { ...use, forecast: null }, nowMs), nowMs);
}

/**
 * Reports the budgets, charged in the last two hours, that will run out before their period ends.
 */
export async function noteForecasts(
  alerts: AlertBook,
  book: BudgetBook,
  { nowMs, pause }: { readonly nowMs: number; readonly pause: () => Promise<void> },
): Promise<void> {
  let examined = 0;
  for (const account of [...book.recentSpend.active(nowMs)]) {
    if (++examined % accountsPerTurn === 0) await pause();
    if (!book.isCurrent(account)) continue;
    const use = useOf(book, account, nowMs);
    if (use.ratio < forecastRatioMin || use.ratio >= 1) continue;
    const forecast = accountForecast(book, account, nowMs);
    const { endMs } = book.boundsOf(account.budget, nowMs);
    const atMs = forecast?.exhaustsAtMs ?? null;
    if (atMs === null || atMs >= endMs) continue;
    alerts.noteForecast(crossingOf(book, account, { ...use, forecast }, nowMs), nowMs);
  }
}

interface Use {
  readonly spent: MoneySum;
  readonly amountUsd: number;
  readonly ratio: number;
}

function useOf(book: BudgetBook, account: Account, nowMs: number): Use {
  const spent = spentOf(book, account, nowMs);
  const amountUsd = amountUsdOf(book, account, nowMs);
  const spentUsd = spent.microUsd / 1e6 + spent.picoUsd / 1e12;
  return { spent, amountUsd, ratio: spentUsd / amountUsd };
}

interface WatchedUse extends Use {
  readonly forecast: Forecast | null;
}

function crossingOf(
  book: BudgetBook,
  account: Account,
  { spent, amountUsd, ratio, forecast }: WatchedUse,
  nowMs: number,
): Crossing {
  const { budget, child } = account;
  const { scope, subject, periodSeconds, models, rolling } = budget.definition;
  const bounds = book.boundsOf(budget, nowMs);
  const startMs = startOf(budget, bounds, nowMs);
  const lengthMs = periodSeconds * 1000;
  // The period of a rolling budget moves all the time, so a threshold is reported once in each
  // fixed period of the same length.
  const markedMs = rolling === true ? nowMs - (nowMs % lengthMs) : startMs;
  return {
    key: spendKey(budget.id, child),
    startMs: markedMs,
    endMs: rolling === true ? markedMs + lengthMs : bounds.endMs,
    usageRatio: ratio,
    isRateLimit: false,
    describe: () => ({
      type: "budget.threshold",
      scope,
      subject: account.subject,
      ...(child === "" ? {} : { template: subject }),
      ...modelsField(models),
      ...(rolling === undefined ? {} : { rolling }),
      period_label: budgetPeriodLabel(periodSeconds),
      period_seconds: periodSeconds,
      period_start: formatSeconds(startMs),
      period_end: formatSeconds(bounds.endMs),
      amount: amountUsd,
      spent: sumUsd(spent),
      ...(forecast === null ? {} : { forecast: budgetForecast(forecast) }),
    }),
  };
}
