/**
 * When the periods of budgets begin and end (docs/budgets.md): in the budget's time zone, from the
 * reset anchors. Pure. Not here: the spend of a period (`account-periods.ts`).
 */
import type { BudgetDefinition } from "../../shared/domain/budget.js";
import {
  dailySeconds,
  monthlySeconds,
  perSession,
  quarterlySeconds,
  sessionSeconds,
  weeklySeconds,
  yearlySeconds,
} from "../../shared/domain/budget-calendar.js";
import type { ResetAnchors } from "../../shared/domain/reset-anchors.js";
import { instantOf, type TimeZones } from "../../shared/domain/time-zone.js";
import { periodsMax, slicesMax } from "./spend.js";

/** Milliseconds since the epoch; the end belongs to the next period. */
export interface PeriodBounds {
  readonly startMs: number;
  readonly endMs: number;
}

/** An empty period, in place of one that isn't calculated yet. */
export const unknownBounds: PeriodBounds = { startMs: 0, endMs: 0 };

/** The fields of a budget that determine its periods. */
export type BudgetPeriod = Pick<
  BudgetDefinition,
  "periodSeconds" | "timeZone" | "anchorDay" | "rolling"
>;

const dayMs = 86_400_000;
/** The weekday of 1 January 1970: a Thursday. */
const epochWeekday = 4;
/** How many slices the length of a rolling budget has. */
const slicesPerPeriod = 30;

/**
 * Whether a budget has no fixed periods: at any time, the spend of the last `lengthSeconds` counts.
 */
export function isRolling({ periodSeconds, rolling }: BudgetPeriod): boolean {
  return rolling === true || periodSeconds === perSession;
}

/** The length of the period; for sessions, how long spend counts. */
export function lengthSeconds({ periodSeconds }: Pick<BudgetPeriod, "periodSeconds">): number {
  return periodSeconds === perSession ? sessionSeconds : periodSeconds;
}

/**
 * A rolling budget counts whole slices: a cost counts for the length of the period, and for up to
 * one slice more.
 */
function sliceMs(period: BudgetPeriod): number {
  return Math.ceil(lengthSeconds(period) / slicesPerPeriod) * 1000;
}

/** The length of all slices that count before the running one. */
function earlierMs(period: BudgetPeriod): number {
  return Math.ceil((lengthSeconds(period) * 1000) / sliceMs(period)) * sliceMs(period);
}

/**
 * From when on spend counts: from the start of the running period, or of a rolling budget's first
 * slice that counts.
 */
export function countedFrom(period: BudgetPeriod, { startMs }: PeriodBounds): number {
  return isRolling(period) ? startMs - earlierMs(period) : startMs;
}

/** When the slice of a rolling budget that began at `startMs` stops counting. */
export function countsUntil(period: BudgetPeriod, startMs: number): number {
  return startMs + sliceMs(period) + earlierMs(period);
}

/** How many periods an account of a budget keeps. */
export function keptPeriodsMax(period: BudgetPeriod): number {
  return isRolling(period) ? slicesMax : periodsMax;
}

/** Periods of a calendar, numbered, by their local starts. */
interface Calendar {
  startOf(index: number): number;
  /** The index of the period of a local time, or of a neighbouring period. */
  near(localMs: number): number;
}

/**
 * The period that contains `atMs`; for a rolling budget its slice. Periods of an hour and of other
 * lengths without anchors are aligned to the epoch.
 */
export function periodBounds(
  period: BudgetPeriod,
  anchors: ResetAnchors,
  atMs: number,
  zones: TimeZones,
): PeriodBounds {
  const { periodSeconds, timeZone = anchors.time_zone ?? "UTC" } = period;
  if (isRolling(period)) return alignedBounds(sliceMs(period), atMs);
  const calendar = calendarOf(period, anchors);
  if (calendar === null) return alignedBounds(periodSeconds * 1000, atMs);
  const offsetAt = zones.offsetsOf(timeZone);
  const startAt = (index: number): number => instantOf(calendar.startOf(index), offsetAt);
  let index = calendar.near(atMs + offsetAt(atMs));
  let startMs = startAt(index);
  while (startMs > atMs) startMs = startAt(--index);
  for (;;) {
    const endMs = startAt(++index);
    if (endMs > atMs) return { startMs, endMs };
    startMs = endMs;
  }
}

/** Null for lengths that aren't those of a calendar, such as an hour. */
function calendarOf({ periodSeconds, anchorDay }: BudgetPeriod, anchors: ResetAnchors) {
  switch (periodSeconds) {
    case dailySeconds:
      return days(1, timeOfDayMs(anchors.daily_reset_hour, anchors.daily_reset_minute));
    case weeklySeconds: {
      const daysAfterEpoch = (anchors.weekly_reset_weekday - epochWeekday + 7) % 7;
      const timeMs = timeOfDayMs(anchors.weekly_reset_hour, anchors.weekly_reset_minute);
      return days(7, daysAfterEpoch * dayMs + timeMs);
    }
    case monthlySeconds:
      return months(1, anchors, anchorDay);
    case quarterlySeconds:
      return months(3, anchors, anchorDay);
    case yearlySeconds:
      return months(12, anchors, anchorDay);
    default:
      return null;
  }
}

function timeOfDayMs(hour: number, minute: number): number {
  return (hour * 60 + minute) * 60_000;
}

function alignedBounds(lengthMs: number, atMs: number): PeriodBounds {
  const startMs = Math.floor(atMs / lengthMs) * lengthMs;
  return { startMs, endMs: startMs + lengthMs };
}

function days(count: number, offsetMs: number): Calendar {
  const lengthMs = count * dayMs;
  return {
    startOf: (index) => index * lengthMs + offsetMs,
    near: (localMs) => Math.floor((localMs - offsetMs) / lengthMs),
  };
}

/**
 * Periods of some months, numbered from year 0. They begin on the anchor's day, or on the last day
 * of a shorter month.
 */
function months(
  count: number,
  anchors: ResetAnchors,
  anchorDay = anchors.monthly_reset_day,
): Calendar {
  return {
    startOf(index) {
      // Counted from 2000: `Date.UTC` reads years below 100 as 19xx.
      const month = index * count - 12 * 2000;
      const lastDay = new Date(Date.UTC(2000, month + 1, 0)).getUTCDate();
      return Date.UTC(
        2000,
        month,
        Math.min(anchorDay, lastDay),
        anchors.monthly_reset_hour,
        anchors.monthly_reset_minute,
      );
    },
    near(localMs) {
      const local = new Date(localMs);
      return Math.floor((local.getUTCFullYear() * 12 + local.getUTCMonth()) / count);
    },
  };
}
