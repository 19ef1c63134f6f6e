/** LiteLLM's lengths of time, such as 30d, as the period of a budget. Pure. */
import { periodSecondsMax } from "../../shared/bounds.js";
import { readDuration } from "../text/duration.js";

interface BudgetPeriod {
  /** The fields of a budget in the configuration and the API. */
  readonly period: { readonly period: string } | { readonly period_seconds: number };
  /** What has changed; null if it is the same. */
  readonly note: string | null;
}

const namedPeriods = new Map([
  [3600, "hourly"],
  [86_400, "daily"],
  [604_800, "weekly"],
]);

export function budgetPeriod(value: unknown): BudgetPeriod {
  if (typeof value !== "string" || value.trim() === "")
    return {
      period: { period_seconds: periodSecondsMax },
      note: "a budget that never resets lasts a hundred years",
    };
  const text = value.trim();
  if (/^(?:1mo|30d)$/.test(text))
    return {
      period: { period: "monthly" },
      note: text === "30d" ? "30 days become a calendar month" : null,
    };
  const seconds = readDuration(text);
  if (seconds === null)
    return { period: { period: "monthly" }, note: `${text} isn't known: monthly in its place` };
  const name = namedPeriods.get(seconds);
  return {
    period: name === undefined ? { period_seconds: seconds } : { period: name },
    note: null,
  };
}
