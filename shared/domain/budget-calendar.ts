/**
 * The calendar of a budget (docs/budgets.md, "Which calendar"): its time zone, the day on which its
 * months begin, whether it is rolling, and its rollover. The calendar isn't part of the budget's
 * identity. One list of fields for the API, the files, the command line and the store.
 */

import { bad, type Checked, good, isAbsent, isCount, show } from "../checked.js";
import { formatPercent } from "../text/percent.js";
import { numberAdvice } from "../text/written-number.js";
import { parseTimeZone } from "./time-zone.js";

export const dailySeconds = 86_400;
export const weeklySeconds = 604_800;
/** The number is thirty days, but the period is the calendar month. */
export const monthlySeconds = 2_592_000;
/** Ninety days; stands for a quarter of the calendar, as `monthlySeconds` does for a month. */
export const quarterlySeconds = 7_776_000;
export const yearlySeconds = 31_536_000;
/** Stands for a session: each session of an agent has the amount for itself. */
export const perSession = 0;
/** How long the spend of a session counts. */
export const sessionSeconds = weeklySeconds;

export interface BudgetCalendar {
  /** Absent to use the zone of the reset anchors, by default UTC. */
  readonly timeZone?: string;
  /** The day of the month, 1 to 31, on which it begins; absent to use the reset anchors. */
  readonly anchorDay?: number;
  /** The period has no fixed end: at any time, the spend of the last `periodSeconds` counts. */
  readonly rolling?: true;
  /** The share of a period's remaining amount that is added to the next period. */
  readonly rollover?: number;
}

/** The fields in bodies, files and list items. */
export interface CalendarFields {
  readonly time_zone?: string;
  readonly anchor_day?: number;
  readonly rolling?: true;
  readonly rollover?: number;
}

export const calendarFields = ["time_zone", "anchor_day", "rolling", "rollover"] as const;

/** Shorter rolling periods would have slices of less than a second. */
const rollingSecondsMin = 60;

const withMonths: ReadonlySet<number> = new Set([monthlySeconds, quarterlySeconds, yearlySeconds]);
const withDays: ReadonlySet<number> = new Set([dailySeconds, weeklySeconds, ...withMonths]);

type Fields = Readonly<Record<string, unknown>>;

/** Checks the fields together, for a budget of this period. `path` prefixes their names. */
export function parseCalendar(
  fields: Fields,
  periodSeconds: number,
  path = "",
): Checked<BudgetCalendar> {
  if (periodSeconds === perSession) return noCalendar(fields, path);
  const rolling = parseRolling(fields["rolling"], periodSeconds, `${path}rolling`);
  if (!rolling.ok) return rolling;
  const isRolling = rolling.value.rolling === true;
  const clash = (field: string, why: string): Checked<never> =>
    bad(`${path}${field} can't be combined with rolling: ${why}`, `${path}${field}`);
  const { time_zone: zone, anchor_day: day, rollover: share } = fields;
  let calendar: BudgetCalendar = rolling.value;
  if (!isAbsent(zone)) {
    const param = `${path}time_zone`;
    const timeZone = parseTimeZone(zone, param);
    if (!timeZone.ok) return timeZone;
    if (isRolling) return clash("time_zone", "a rolling period begins at no time of the day");
    if (!withDays.has(periodSeconds))
      return bad(
        `${param} is for daily, weekly, monthly, quarterly and yearly budgets: other periods begin at multiples of their length since 1970`,
        param,
      );
    calendar = { ...calendar, timeZone: timeZone.value };
  }
  if (!isAbsent(day)) {
    const param = `${path}anchor_day`;
    if (!isCount(day, 1) || day > 31)
      return bad(
        `${param} must be a day of the month from 1 to 31, not ${show(day)}${numberAdvice(day)}`,
        param,
      );
    if (isRolling) return clash("anchor_day", "a rolling period begins on no day");
    if (!withMonths.has(periodSeconds))
      return bad(
        `${param} is for monthly, quarterly and yearly budgets: other periods have no day of the month`,
        param,
      );
    calendar = { ...calendar, anchorDay: day };
  }
  if (!isAbsent(share)) {
    const param = `${path}rollover`;
    if (typeof share !== "number" || !(share >= 0 && share <= 1))
      return bad(
        `${param} must be a share from 0 to 1, such as 0.5, not ${show(share)}${numberAdvice(share)}`,
        param,
      );
    if (isRolling && share > 0)
      return clash("rollover", "a rolling period has no end at which something is left");
    if (share > 0) calendar = { ...calendar, rollover: share };
  }
  return good(calendar);
}

function noCalendar(fields: Fields, path: string): Checked<BudgetCalendar> {
  const none: Fields = { rolling: false, rollover: 0 };
  const unexpected = calendarFields.find(
    (name) => !isAbsent(fields[name]) && fields[name] !== none[name],
  );
  return unexpected === undefined
    ? good({})
    : bad(
        `${path}${unexpected} can't be combined with the period session: what a session has spent counts for ${sessionSeconds / dailySeconds} days`,
        `${path}${unexpected}`,
      );
}

function parseRolling(
  value: unknown,
  periodSeconds: number,
  param: string,
): Checked<{ readonly rolling?: true }> {
  if (isAbsent(value) || value === false) return good({});
  if (value !== true) return bad(`${param} must be true or false, not ${show(value)}`, param);
  return periodSeconds < rollingSecondsMin
    ? bad(`${param} needs a period of at least ${rollingSecondsMin} seconds`, param)
    : good({ rolling: true });
}

/** The fields of a body or a list item; those that aren't set are absent. */
export function calendarBody({
  timeZone,
  anchorDay,
  rolling,
  rollover,
}: BudgetCalendar): CalendarFields {
  return {
    ...(timeZone === undefined ? {} : { time_zone: timeZone }),
    ...(anchorDay === undefined ? {} : { anchor_day: anchorDay }),
    ...(rolling === undefined ? {} : { rolling }),
    ...(rollover === undefined ? {} : { rollover }),
  };
}

/** Whether both have the same periods; their rollovers may differ. */
export function hasSamePeriods(a: BudgetCalendar, b: BudgetCalendar): boolean {
  return a.timeZone === b.timeZone && a.anchorDay === b.anchorDay && a.rolling === b.rolling;
}

export function isSameCalendar(a: BudgetCalendar, b: BudgetCalendar): boolean {
  return hasSamePeriods(a, b) && a.rollover === b.rollover;
}

/** In messages and lists: `rolling 30d`, `rolling 90m`. */
export function rollingLabel(periodSeconds: number): string {
  const units = [
    [86_400, "d"],
    [3600, "h"],
    [60, "m"],
  ] as const;
  const [seconds, unit] = units.find(([size]) => periodSeconds % size === 0) ?? [1, "s"];
  return `rolling ${periodSeconds / seconds}${unit}`;
}

/** `[timeZone, anchorDay, rolling, rollover]` with nulls; undefined if none is set. */
export function calendarToStored(calendar: BudgetCalendar): readonly unknown[] | undefined {
  const { timeZone, anchorDay, rolling, rollover } = calendar;
  if (
    timeZone === undefined &&
    anchorDay === undefined &&
    rolling === undefined &&
    rollover === undefined
  )
    return undefined;
  return [timeZone ?? null, anchorDay ?? null, rolling ?? null, rollover ?? null];
}

/** Null for what `calendarToStored` never returns for this period. */
export function calendarFromStored(value: unknown, periodSeconds: number): BudgetCalendar | null {
  if (value === undefined) return {};
  if (!Array.isArray(value) || value.length !== calendarFields.length) return null;
  const fields = Object.fromEntries(calendarFields.map((name, i) => [name, value[i] as unknown]));
  const parsed = parseCalendar(fields, periodSeconds);
  return parsed.ok && calendarToStored(parsed.value) !== undefined ? parsed.value : null;
}

/** The calendar of a list item or a body in words; `rolling` is in its period's label. */
export function calendarWords({
  time_zone: zone,
  anchor_day: day,
  rollover,
}: Readonly<Record<string, unknown>>): readonly string[] {
  return [
    ...(typeof zone === "string" ? [zone] : []),
    ...(typeof day === "number" ? [`from day ${day}`] : []),
    ...(typeof rollover === "number" ? [`carries over ${formatPercent(rollover, 2, 0)}`] : []),
  ];
}
