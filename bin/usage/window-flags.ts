/**
 * The flags `--days`, `--from` and `--to`, which select the UTC days of `sluice usage` by the rules
 * of GET /v1/usage (docs/reference/http-api.md). Pure: now is an argument.
 */
import { usageDaysMax } from "../../shared/bounds.js";
import { dayMs, dayOf, daysBetween, parseDay } from "../../shared/time.js";
import type { ArgumentProblem, FromArguments } from "../session/command-failure.js";

/** The flags as typed. */
export interface WindowFlags {
  readonly days?: string;
  readonly from?: string;
  readonly to?: string;
  /** A month, `2026-02`; true for the current one. */
  readonly month?: string | true;
}

/** UTC dates, `YYYY-MM-DD`, both inclusive. */
export interface ReportWindow {
  readonly startDate: string;
  readonly endDate: string;
}

/** Like `ReportWindow`; null for an open side. */
export interface OpenWindow {
  readonly startDate: string | null;
  readonly endDate: string | null;
}

const daysDefault = 30;

/**
 * The window of the summary, or all problems. `--days` beside a date is refused, though the API
 * ignores it: a user who types both expects something else.
 */
export function windowFromFlags(flags: WindowFlags, nowMs: number): FromArguments<ReportWindow> {
  if (flags.month !== undefined) return monthFromFlags(flags, flags.month, nowMs);
  const problems: ArgumentProblem[] = [];
  const lastDays = daysFrom(flags, problems);
  const open = openWindow(flags, problems);
  if (problems.length > 0) return { ok: false, problems };
  const endDate = open.endDate ?? dayOf(nowMs);
  const startDate = open.startDate ?? dayOf(startOf(endDate) - (lastDays - 1) * dayMs);
  // The default start is never after the end: only a given start beside the default end can be.
  if (startDate > endDate)
    problems.push({ message: `--from must not be after today, ${endDate}`, param: "--from" });
  const days = dayCount({ startDate, endDate });
  if (days > usageDaysMax)
    problems.push({
      message: `--from and --to may span at most ${usageDaysMax} days, not ${days}`,
      param: "--from",
    });
  return problems.length > 0
    ? { ok: false, problems }
    : { ok: true, value: { startDate, endDate } };
}

/** A calendar month in UTC, up to today. */
function monthFromFlags(
  { days, from, to }: WindowFlags,
  typed: string | true,
  nowMs: number,
): FromArguments<ReportWindow> {
  const today = dayOf(nowMs);
  const month = typed === true ? today.slice(0, 7) : typed.trim();
  const problem =
    days !== undefined || from !== undefined || to !== undefined
      ? "--month can't be combined with --days, --from and --to"
      : !isDate(`${month}-01`)
        ? `--month must be a month such as 2026-02, not ${JSON.stringify(typed)}`
        : month > today.slice(0, 7)
          ? `--month must not be after this month, ${today.slice(0, 7)}`
          : null;
  if (problem !== null) return { ok: false, problems: [{ message: problem, param: "--month" }] };
  const [year = 0, number = 0] = month.split("-").map(Number);
  const last = dayOf(Date.UTC(year, number, 0));
  return { ok: true, value: { startDate: `${month}-01`, endDate: last < today ? last : today } };
}

/**
 * The window of an export: a side without a date is open, and any length is allowed, because
 * records are fetched page by page.
 */
export function openWindowFromFlags(flags: WindowFlags): FromArguments<OpenWindow> {
  const problems: ArgumentProblem[] = [];
  const value = openWindow(flags, problems);
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value };
}

/** Every day of the window, in order. */
export function daysOf({ startDate, endDate }: ReportWindow): readonly string[] {
  return daysBetween(startDate, endDate);
}

function dayCount({ startDate, endDate }: ReportWindow): number {
  return (startOf(endDate) - startOf(startDate)) / dayMs + 1;
}

/** The value of `--days`, or the default. More than a year is cut to one, as in the API. */
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

/** A day of the form `YYYY-MM-DD`. There is no year 0. */
function isDate(text: string): boolean {
  return !text.startsWith("0000") && parseDay(text) !== null;
}

function startOf(date: string): number {
  return Date.parse(`${date}T00:00:00Z`);
}
