/** The calendar as people read it, by text and day by day: for tests of what computes it. */
import { readFileSync } from "node:fs";
import type { BudgetPeriod } from "../../limiterd/budgets/budget-period.js";
import { budgetGrammar } from "../../shared/domain/budget.js";
import { namedPeriod } from "../../shared/domain/limit-key.js";
import { defaultAnchors, type ResetAnchors } from "../../shared/domain/reset-anchors.js";
import { offsetsOf } from "../../shared/domain/time-zone.js";

/** The calendar by text: a day exists when its date survives being parsed and printed. */
function dayExists(date: string): boolean {
  const ms = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(date);
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

/**
 * All starts of a period's kind, in seconds as a budget has it, around a moment, found by looking
 * at every day: slow, and without arithmetic on lengths.
 */
export function startsAround(periodSeconds: number, anchors: ResetAnchors, atMs: number): number[] {
  const starts: number[] = [];
  for (let days = -70; days <= 70; days++) {
    const date = new Date(atMs + days * 86_400_000).toISOString().slice(0, 10);
    const weekday = new Date(`${date}T00:00:00Z`).getUTCDay();
    const [year, month, day] = date.split("-").map(Number) as [number, number, number];
    const isLast = !dayExists(`${year}-${two(month)}-${two(day + 1)}`);
    if (periodSeconds === 3600)
      for (let hour = 0; hour < 24; hour++) starts.push(Date.parse(`${date}T${two(hour)}:00:00Z`));
    if (periodSeconds === 86_400)
      starts.push(
        Date.parse(
          `${date}T${two(anchors.daily_reset_hour)}:${two(anchors.daily_reset_minute)}:00Z`,
        ),
      );
    if (periodSeconds === 604_800 && weekday === anchors.weekly_reset_weekday)
      starts.push(
        Date.parse(
          `${date}T${two(anchors.weekly_reset_hour)}:${two(anchors.weekly_reset_minute)}:00Z`,
        ),
      );
    const isAnchorDay =
      day === anchors.monthly_reset_day || (isLast && day < anchors.monthly_reset_day);
    if (periodSeconds === 2_592_000 && isAnchorDay)
      starts.push(
        Date.parse(
          `${date}T${two(anchors.monthly_reset_hour)}:${two(anchors.monthly_reset_minute)}:00Z`,
        ),
      );
  }
  return starts;
}

interface PeriodCase {
  readonly name: string;
  readonly period: BudgetPeriod;
  readonly anchors: ResetAnchors;
  readonly atMs: number;
  readonly startMs: number;
  readonly endMs: number;
}

/** The worked cases of the docs, which Python's zoneinfo has computed. */
export function readPeriodCases(): readonly PeriodCase[] {
  const file = "docs/examples/budget-periods.json";
  const cases = JSON.parse(readFileSync(file, "utf8")) as readonly {
    readonly about: string;
    readonly time_zone: string;
    readonly period: string;
    readonly anchor_day?: number;
    readonly weekday?: number;
    readonly time?: string;
    readonly at: string;
    readonly start: string;
    readonly end: string;
  }[];
  return cases.map(
    ({ about, time_zone, period, anchor_day, weekday = 1, time = "00:00", ...at }) => {
      const [hour, minute] = time.split(":").map(Number) as [number, number];
      return {
        name: `${about}: ${time_zone}, ${period}, ${at.at}`,
        period: {
          periodSeconds: namedPeriod(budgetGrammar, period)!,
          timeZone: time_zone,
          ...(anchor_day === undefined ? {} : { anchorDay: anchor_day }),
        },
        anchors: {
          ...defaultAnchors,
          ...{ daily_reset_hour: hour, daily_reset_minute: minute, weekly_reset_weekday: weekday },
        },
        atMs: Date.parse(at.at),
        startMs: Date.parse(at.start),
        endMs: Date.parse(at.end),
      };
    },
  );
}

/** The changes of a zone's offset within a year of a moment, to the minute. */
export function changesOf(timeZone: string, aroundMs: number): readonly number[] {
  const offsetAt = offsetsOf(timeZone);
  const stepMs = 7 * 86_400_000;
  const firstMs = Math.floor(aroundMs / 60_000) * 60_000;
  const changes: number[] = [];
  for (let ms = firstMs; ms < firstMs + 53 * stepMs; ms += stepMs) {
    let [before, after] = [ms, ms + stepMs];
    if (offsetAt(before) === offsetAt(after)) continue;
    while (after - before > 60_000) {
      const middle = before + Math.floor((after - before) / 120_000) * 60_000;
      if (offsetAt(middle) === offsetAt(ms)) before = middle;
      else after = middle;
    }
    changes.push(after);
  }
  return changes;
}
