/**
 * When the periods of budgets begin and end (docs/budgets.md): in UTC, from the reset anchors.
 * Pure. Not here: the spend of a period (`account-periods.ts`).
 */
import { dailySeconds, monthlySeconds, weeklySeconds } from "../../shared/domain/budget.js";
import type { ResetAnchors } from "../../shared/domain/reset-anchors.js";

/** Milliseconds since the epoch; the end belongs to the next period. */
export interface PeriodBounds {
  readonly startMs: number;
  readonly endMs: number;
}

/** An empty period, in place of one that isn't calculated yet. */
export const unknownBounds: PeriodBounds = { startMs: 0, endMs: 0 };

const dayMs = 86_400_000;
/** The weekday of 1 January 1970: a Thursday. */
const epochWeekday = 4;

/**
 * The period that contains `atMs`. Periods of an hour and of other lengths without anchors are
 * aligned to the epoch.
 */
export function periodBounds(
  periodSeconds: number,
  anchors: ResetAnchors,
  atMs: number,
): PeriodBounds {
  switch (periodSeconds) {
    case dailySeconds:
      return aligned(
        dayMs,
        timeOfDayMs(anchors.daily_reset_hour, anchors.daily_reset_minute),
        atMs,
      );
    case weeklySeconds: {
      const daysOn = (anchors.weekly_reset_weekday - epochWeekday + 7) % 7;
      return aligned(
        7 * dayMs,
        daysOn * dayMs + timeOfDayMs(anchors.weekly_reset_hour, anchors.weekly_reset_minute),
        atMs,
      );
    }
    case monthlySeconds:
      return month(anchors, atMs);
    default:
      return aligned(periodSeconds * 1000, 0, atMs);
  }
}

function timeOfDayMs(hour: number, minute: number): number {
  return (hour * 60 + minute) * 60_000;
}

function aligned(lengthMs: number, offsetMs: number, atMs: number): PeriodBounds {
  const startMs = Math.floor((atMs - offsetMs) / lengthMs) * lengthMs + offsetMs;
  return { startMs, endMs: startMs + lengthMs };
}

function month(anchors: ResetAnchors, atMs: number): PeriodBounds {
  const at = new Date(atMs);
  const year = at.getUTCFullYear();
  const index = at.getUTCMonth();
  const anchorMs = monthAnchorMs(anchors, year, index);
  if (atMs < anchorMs) return { startMs: monthAnchorMs(anchors, year, index - 1), endMs: anchorMs };
  return { startMs: anchorMs, endMs: monthAnchorMs(anchors, year, index + 1) };
}

/**
 * The time of a month's anchor; its day is at most the month's last. An index outside 0…11 is a
 * month of another year.
 */
function monthAnchorMs(anchors: ResetAnchors, year: number, index: number): number {
  const lastDay = new Date(Date.UTC(year, index + 1, 0)).getUTCDate();
  return Date.UTC(
    year,
    index,
    Math.min(anchors.monthly_reset_day, lastDay),
    anchors.monthly_reset_hour,
    anchors.monthly_reset_minute,
  );
}
