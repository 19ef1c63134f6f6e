/** The query parameters of GET /v1/usage, in the order in which CONTRACT section 7 checks them. */
import { usageDaysMax } from "../shared/bounds.js";
import { type Failure, invalid } from "../shared/error-code.js";
import { show } from "../shared/checked.js";
import { dayMs, dayOf, parseDay } from "../shared/utc-day.js";

export type UsageWindow =
  | { readonly ok: true; /** Days in UTC, both included. */ readonly startDate: string; readonly endDate: string }
  | { readonly ok: false; readonly failure: Failure };

const daysDefault = 30;

/** The window that a query (without its question mark) asks for; `nowMs` says what today is. */
export function parseUsageQuery(query: string, nowMs: number): UsageWindow {
  const parameters = new URLSearchParams(query);
  // Given twice, a parameter is read as both together, which is no value of its kind.
  const given = (name: string): string | null => (parameters.has(name) ? parameters.getAll(name).join(",") : null);
  const rawDays = given("days");
  const days = rawDays === null ? daysDefault : /^\d+$/.test(rawDays) ? Math.min(Number(rawDays), usageDaysMax) : 0;
  if (days === 0) return wrong(`days must be an integer greater than 0, not ${show(rawDays)}`, "days");
  const start = dateOf("start_date", given("start_date"));
  if (start !== null && typeof start !== "number") return start;
  const end = dateOf("end_date", given("end_date"));
  if (end !== null && typeof end !== "number") return end;
  const today = Math.floor(nowMs / dayMs) * dayMs;
  const endMs = end ?? today;
  const startMs = start ?? endMs - ((end === null ? days : daysDefault) - 1) * dayMs;
  const [startDate, endDate] = [dayOf(startMs), dayOf(endMs)];
  if (startMs > endMs) return wrong(`start_date must not be after end_date: ${startDate} is after ${endDate}`, "start_date");
  const span = (endMs - startMs) / dayMs + 1;
  if (span > usageDaysMax) return wrong(`start_date and end_date must span at most ${usageDaysMax} days, not ${span}`, "start_date");
  return { ok: true, startDate, endDate };
}

function dateOf(name: string, raw: string | null): number | null | UsageWindow {
  if (raw === null) return null;
  // There is no year 0, and the days before it have no such form.
  return (raw.startsWith("0000") ? null : parseDay(raw)) ?? wrong(`${name} must be a date such as 2026-01-31, not ${show(raw)}`, name);
}

function wrong(message: string, param: string): UsageWindow {
  return { ok: false, failure: invalid(message, param) };
}
