/**
 * The flags `--days`, `--month`, `--from`, `--to` and `--last` of reports, which select UTC days by
 * the rules of GET /v1/usage (docs/reference/http-api.md), or a range with times. Pure: now is an
 * argument.
 */
import { hourlyDaysMax, usageDaysMax } from "../../shared/bounds.js";
import { dayMs, dayOf, daysBetween, formatSeconds, parseDay } from "../../shared/time.js";
import type { ArgumentProblem, ParsedArguments } from "../session/command-failure.js";
import {
  examples,
  hasTime,
  type RangeFlags,
  rangeFromFlags,
  rangeQuery,
  type TimeRange,
} from "../session/range-flags.js";

/** The flags as typed. */
export interface WindowFlags extends RangeFlags {
  readonly days?: string;
  /** A month, `2026-02`; true for the current one. */
  readonly month?: string | true;
}

/** UTC dates, `YYYY-MM-DD`, both inclusive. */
export interface ReportWindow {
  readonly startDate: string;
  readonly endDate: string;
  /** A range with times, which is in these days. */
  readonly range?: TimeRange;
}

/** The window as the parameters of the admin API. */
export function windowQuery({ startDate, endDate, range }: ReportWindow): object {
  return range === undefined
    ? { start_date: startDate, end_date: endDate }
    : rangeQuery(range, ["start", "end"]);
}

/** `2026-02-01 to 2026-02-28 (UTC)`. */
export function windowText({ startDate, endDate, range }: ReportWindow): string {
  if (range === undefined) return `${startDate} to ${endDate} (UTC)`;
  const { fromMs, beforeMs } = range;
  const [from, to = "now"] = [fromMs, ...(beforeMs === null ? [] : [beforeMs])].map((ms) =>
    formatSeconds(ms).replace("T", " ").replace(":00Z", "Z"),
  );
  return `${from} to ${to}`;
}

/** Like `ReportWindow`; null for an open side. */
export interface OpenWindow {
  readonly startDate: string | null;
  readonly endDate: string | null;
  readonly range?: TimeRange;
}

const daysDefault = 30;

/**
 * The window of the summary, or all problems. `--days` beside a date is refused, though the API
 * ignores it: a user who types both expects something else.
 */
export function windowFromFlags(
  flags: WindowFlags,
  nowMs: number,
  { takesTimes = false }: WindowOptions = {},
): ParsedArguments<ReportWindow> {
  if (flags.month !== undefined) return monthFromFlags(flags, flags.month, nowMs);
  if (takesTimes && isRange(flags)) return rangeOfReport(flags, nowMs);
  const problems: ArgumentProblem[] = [];
  const lastDays = daysFrom(flags, problems);
  const open = openWindow(flags, takesTimes, problems);
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

/** Whether a report may be of a range with times; otherwise it is of days. */
interface WindowOptions {
  readonly takesTimes?: boolean;
}

function isRange({ from, to, last }: WindowFlags): boolean {
  return last !== undefined || hasTime(from) || hasTime(to);
}

/** A range with times, which only records have. */
function rangeOfReport(flags: WindowFlags, nowMs: number): ParsedArguments<ReportWindow> {
  const range = rangeFromFlags(flags, { nowMs, seconds: dayMs / 1000 });
  const problems: ArgumentProblem[] = range.ok ? [] : [...range.problems];
  const [param, endName] = flags.last === undefined ? ["--from", "--to"] : ["--last", "now"];
  if (flags.days !== undefined)
    problems.push({ message: `--days can't be combined with ${param}`, param: "--days" });
  if (!range.ok) return { ok: false, problems };
  const { fromMs } = range.value;
  const beforeMs = range.value.beforeMs ?? nowMs;
  if (beforeMs - fromMs > hourlyDaysMax * dayMs)
    problems.push({
      message: `${param} may be at most ${hourlyDaysMax} days before ${endName} if a time is given: of longer ranges give the days, by --from and --to or --days`,
      param,
    });
  const days = { startDate: dayOf(fromMs), endDate: dayOf(Math.max(fromMs, beforeMs - 1)) };
  return problems.length > 0
    ? { ok: false, problems }
    : { ok: true, value: { ...days, range: range.value } };
}

/** A calendar month in UTC, up to today. */
function monthFromFlags(
  { days, from, to, last: range }: WindowFlags,
  text: string | true,
  nowMs: number,
): ParsedArguments<ReportWindow> {
  const today = dayOf(nowMs);
  const month = text === true ? today.slice(0, 7) : text.trim();
  const problem =
    (days ?? from ?? to ?? range) !== undefined
      ? "--month can't be combined with --days, --from, --to and --last"
      : !isDate(`${month}-01`)
        ? `--month must be a month such as 2026-02, not ${JSON.stringify(text)}`
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
export function openWindowFromFlags(
  flags: WindowFlags,
  nowMs: number,
  { takesTimes = false }: WindowOptions = {},
): ParsedArguments<OpenWindow> {
  if (takesTimes && isRange(flags)) {
    const range = rangeFromFlags(flags, { nowMs, seconds: nowMs / 1000 });
    return range.ok
      ? { ok: true, value: { startDate: null, endDate: null, range: range.value } }
      : range;
  }
  const problems: ArgumentProblem[] = [];
  const value = openWindow(flags, takesTimes, problems);
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

function openWindow(
  { from, to }: WindowFlags,
  times: boolean,
  problems: ArgumentProblem[],
): OpenWindow {
  const expected = times ? `day or a time such as ${examples}` : "date such as 2026-02-28";
  for (const [flag, text] of [
    ["--from", from],
    ["--to", to],
  ] as const) {
    if (text !== undefined && !isDate(text))
      problems.push({
        message: `${flag} must be a ${expected}, not ${JSON.stringify(text)}`,
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
