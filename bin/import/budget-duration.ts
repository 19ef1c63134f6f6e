/** LiteLLM's lengths of time, such as 30d, as the period of a budget. Pure. */
import { periodSecondsMax } from "../../shared/bounds.js";
import { readDuration } from "../text/duration.js";

interface BudgetPeriod {
  /** The fields of a budget in the configuration and the API. */
  readonly period: { readonly period: string } | { readonly period_seconds: number };
  /** What has changed; null if it is the same. */
  readonly note: string | null;
}

const named = new Map([
  [3600, "hourly"],
  [86_400, "daily"],
  [604_800, "weekly"],
]);

export function budgetPeriod(given: unknown): BudgetPeriod {
  if (typeof given !== "string" || given.trim() === "")
    return {
      period: { period_seconds: periodSecondsMax },
      note: "a budget that never resets lasts a hundred years",
    };
  const text = given.trim();
  if (/^(?:1mo|30d)$/.test(text))
    return {
      period: { period: "monthly" },
      note: text === "30d" ? "30 days become a calendar month" : null,
    };
  const seconds = readDuration(text);
  if (seconds === null)
    return { period: { period: "monthly" }, note: `${text} isn't known: monthly in its place` };
  const name = named.get(seconds);
  return {
    period: name === undefined ? { period_seconds: seconds } : { period: name },
    note: null,
  };
}
