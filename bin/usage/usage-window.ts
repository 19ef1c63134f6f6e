/**
 * Which UTC days `sluice usage` looks at, by the rules of GET /v1/usage (CONTRACT section 7). Pure:
 * now is an argument.
 */
import { usageDaysMax } from "../../shared/bounds.js";
import { dayMs, dayOf, parseDay } from "../../shared/utc-day.js";
import type { ArgumentProblem, FromArguments } from "../session/command-failure.js";

/** The flags as they were typed. */
export interface WindowFlags {
  readonly days?: string;
  readonly from?: string;
  readonly to?: string;
}

/** UTC dates, `YYYY-MM-DD`, both inclusive. */
export interface UsageWindow {
  readonly startDate: string;
  readonly endDate: string;
}

/** As `UsageWindow`, null where a side is open. */
export interface OpenWindow {
  readonly startDate: string | null;
  readonly endDate: string | null;
}

const daysDefault = 30;

/**
 * The window of the summary, or every problem. Beside dates, `--days` is refused, not passed over
 * as the API does: whoever types both means something else.
 */
export function windowFromFlags(flags: WindowFlags, nowMs: number): FromArguments<UsageWindow> {
  const problems: ArgumentProblem[] = [];
  const days = daysFrom(flags, problems);
  const open = openWindow(flags, problems);
  if (problems.length > 0) return { ok: false, problems };
  const endDate = open.endDate ?? dayOf(nowMs);
  const startDate = open.startDate ?? dayOf(startOf(endDate) - (days - 1) * dayMs);
  // The default start is never after the end: only a start that was given can be, beside an end
  // that was not.
  if (startDate > endDate)
    problems.push({ message: `--from must not be after today, ${endDate}`, param: "--from" });
  if (dayCount({ startDate, endDate }) > usageDaysMax)
    problems.push({
      message: `--from and --to may span at most ${usageDaysMax} days, not ${dayCount({ startDate, endDate })}`,
      param: "--from",
    });
  return problems.length > 0
    ? { ok: false, problems }
    : { ok: true, value: { startDate, endDate } };
}

/**
 * The window of an export: without a date that side is open, and any length is good, for records
 * come page by page.
 */
export function openWindowFromFlags(flags: WindowFlags): FromArguments<OpenWindow> {
  const problems: ArgumentProblem[] = [];
  const value = openWindow(flags, problems);
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value };
}

/** Every day of the window, in order. */
export function daysOf({ startDate, endDate }: UsageWindow): readonly string[] {
  return Array.from({ length: dayCount({ startDate, endDate }) }, (_, day) =>
    dayOf(startOf(startDate) + day * dayMs),
  );
}

function dayCount({ startDate, endDate }: UsageWindow): number {
  return (startOf(endDate) - startOf(startDate)) / dayMs + 1;
}

/** More than a year of days is cut to one, as in the API. */
function daysFrom({ days, from, to }: WindowFlags, problems: ArgumentProblem[]): number {
  if (days === undefined) return daysDefault;
  if (!/^\d+$/.test(days) || Number(days) < 1)
    problems.push({
      message: `--days must be an integer greater than 0, not ${JSON.stringify(days)}`,
      param: "--days",
    });
  if (from !== undefined || to !== undefined)
    problems.push({ message: "--days can't be combined with --from and --to", param: "--days" });
  return Math.min(Number(days), usageDaysMax);
}

function openWindow({ from, to }: WindowFlags, problems: ArgumentProblem[]): OpenWindow {
  for (const [flag, text] of [
    ["--from", from],
    ["--to", to],
  ] as const) {
    if (text !== undefined && !isDate(text))
      problems.push({
        message: `${flag} must be a date such as 2026-02-28, not ${JSON.stringify(text)}`,
        param: flag,
      });
  }
  if (problems.length === 0 && from !== undefined && to !== undefined && from > to)
    problems.push({
      message: `--from must not be after --to: ${from} is after ${to}`,
      param: "--from",
    });
  return { startDate: from ?? null, endDate: to ?? null };
}

/** There is no year 0, and the days before it have no such form. */
function isDate(text: string): boolean {
  return !text.startsWith("0000") && parseDay(text) !== null;
}

function startOf(date: string): number {
  return Date.parse(`${date}T00:00:00Z`);
}
