/** The forecast of an account of a budget in its running period, and its form in the API. */
import type { AccountForecast, BudgetForecast } from "../../shared/api/budget-item.js";
import {
  type Forecast,
  type ForecastQuestion,
  forecastFromMs,
  forecastOf,
} from "../../shared/domain/forecast.js";
import { sumUsd } from "../../shared/domain/money.js";
import { formatSeconds } from "../../shared/time.js";
import { type Account, startOf } from "./budget-account.js";
import type { BudgetBook } from "./budget-book.js";
import { isRolling } from "./budget-period.js";
import { amountUsdOf, spentOf } from "./judge-budgets.js";

/**
 * The forecast; null while too little is known, and for a rolling budget or a session, which have
 * no end.
 */
export function accountForecast(
  book: BudgetBook,
  account: Account,
  nowMs: number,
): Forecast | null {
  const question = questionOf(book, account, nowMs);
  return question === null ? null : forecastOf(question);
}

/**
 * The API's fields: the forecast, or the time from which there will be one; empty if there will be
 * none.
 */
export function forecastFields(book: BudgetBook, account: Account, nowMs: number): AccountForecast {
  const question = questionOf(book, account, nowMs);
  if (question === null) return {};
  const forecast = forecastOf(question);
  if (forecast !== null) return { forecast: budgetForecast(forecast) };
  const fromMs = forecastFromMs(question);
  return fromMs === null ? {} : { forecast_from: formatSeconds(fromMs) };
}

/**
 * What the forecast is computed from; null for a rolling budget or a session. The recent spend of
 * other hosts isn't known: if they have spent from this account, the forecast uses the pace of the
 * whole period.
 */
function questionOf(book: BudgetBook, account: Account, nowMs: number): ForecastQuestion | null {
  const { budget } = account;
  if (isRolling(budget.definition)) return null;
  const bounds = book.boundsOf(budget, nowMs);
  const others = book.others?.spentIn(account, bounds.startMs) ?? null;
  return {
    nowMs,
    startMs: startOf(budget, bounds, nowMs),
    endMs: bounds.endMs,
    amountUsd: amountUsdOf(book, account, nowMs),
    spentUsd: sumUsd(spentOf(book, account, nowMs)),
    recent: others === null ? book.recentSpend.recentPace(account, nowMs) : null,
  };
}

/** As the API shows it: money to the micro-dollar, times in whole seconds. */
export function budgetForecast(forecast: Forecast): BudgetForecast {
  const { basis, basisSeconds, usdPerHour, exhaustsAtMs, projectedUsd } = forecast;
  return {
    rate_usd_per_hour: roundedUsd(usdPerHour),
    exhausts_at: exhaustsAtMs === null ? null : formatSeconds(exhaustsAtMs),
    projected_usd: roundedUsd(projectedUsd),
    basis,
    basis_seconds: basisSeconds,
  };
}

function roundedUsd(usd: number): number {
  return Math.round(usd * 1e6) / 1e6;
}
