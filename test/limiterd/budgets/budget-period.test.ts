import fc from "fast-check";
import t from "tap";
import {
  periodBounds as boundsIn,
  countedFrom,
  countsUntil,
  keptPeriodsMax,
  type PeriodBounds,
} from "../../../limiterd/budgets/budget-period.js";
import {
  anchorFields,
  defaultAnchors,
  type ResetAnchors,
} from "../../../shared/domain/reset-anchors.js";
import { TimeZones } from "../../../shared/domain/time-zone.js";
import { changesOf, readPeriodCases, startsAround } from "../../support/calendar.js";

const zones = new TimeZones();

function periodBounds(periodSeconds: number, anchors: ResetAnchors, atMs: number): PeriodBounds {
  return boundsIn({ periodSeconds }, anchors, atMs, zones);
}

const hourly = 3600;
const daily = 86_400;
const weekly = 604_800;
const monthly = 2_592_000;

function bounds(periodSeconds: number, anchors: Partial<ResetAnchors>, at: string): string {
  const { startMs, endMs } = periodBounds(
    periodSeconds,
    { ...defaultAnchors, ...anchors },
    Date.parse(at),
  );
  return `${new Date(startMs).toISOString().slice(0, 19)} ${new Date(endMs).toISOString().slice(0, 19)}`;
}

t.test("periods begin and end where the table says", async (t) => {
  const table: readonly (readonly [
    string,
    number,
    Partial<ResetAnchors>,
    at: string,
    expected: string,
  ])[] = [
    [
      "the last millisecond of a day",
      daily,
      {},
      "2026-11-21T23:59:59.999Z",
      "2026-11-21T00:00:00 2026-11-22T00:00:00",
    ],
    [
      "the first of the next",
      daily,
      {},
      "2026-11-22T00:00:00.000Z",
      "2026-11-22T00:00:00 2026-11-23T00:00:00",
    ],
    [
      "a day with an anchor, before it",
      daily,
      { daily_reset_hour: 6, daily_reset_minute: 30 },
      "2026-11-21T06:29:59.999Z",
      "2026-11-20T06:30:00 2026-11-21T06:30:00",
    ],
    [
      "a day with an anchor, at it",
      daily,
      { daily_reset_hour: 6, daily_reset_minute: 30 },
      "2026-11-21T06:30:00Z",
      "2026-11-21T06:30:00 2026-11-22T06:30:00",
    ],
    [
      "the clock's hour, whatever the anchors",
      hourly,
      { daily_reset_minute: 30 },
      "2026-11-21T23:59:59.999Z",
      "2026-11-21T23:00:00 2026-11-22T00:00:00",
    ],
    [
      "a week begins on Monday",
      weekly,
      {},
      "2026-11-22T23:59:59.999Z",
      "2026-11-16T00:00:00 2026-11-23T00:00:00",
    ],
    [
      "and the next one too",
      weekly,
      {},
      "2026-11-23T00:00:00Z",
      "2026-11-23T00:00:00 2026-11-30T00:00:00",
    ],
    [
      "a week from Sunday noon",
      weekly,
      { weekly_reset_weekday: 0, weekly_reset_hour: 12 },
      "2026-11-22T11:59:59.999Z",
      "2026-11-15T12:00:00 2026-11-22T12:00:00",
    ],
    [
      "a week from Thursday, the weekday of the epoch",
      weekly,
      { weekly_reset_weekday: 4 },
      "2026-11-19T00:00:00Z",
      "2026-11-19T00:00:00 2026-11-26T00:00:00",
    ],
    [
      "a month of 30 days",
      monthly,
      {},
      "2026-11-30T23:59:59.999Z",
      "2026-11-01T00:00:00 2026-12-01T00:00:00",
    ],
    [
      "the turn of the year",
      monthly,
      {},
      "2026-12-31T23:59:59.999Z",
      "2026-12-01T00:00:00 2027-01-01T00:00:00",
    ],
    [
      "February of a leap year",
      monthly,
      {},
      "2028-02-29T12:00:00Z",
      "2028-02-01T00:00:00 2028-03-01T00:00:00",
    ],
    [
      "day 31 in February: its last day",
      monthly,
      { monthly_reset_day: 31 },
      "2027-02-28T00:00:00Z",
      "2027-02-28T00:00:00 2027-03-31T00:00:00",
    ],
    [
      "day 31 before the end of February",
      monthly,
      { monthly_reset_day: 31 },
      "2027-02-27T23:59:59.999Z",
      "2027-01-31T00:00:00 2027-02-28T00:00:00",
    ],
    [
      "day 31 in February of a leap year",
      monthly,
      { monthly_reset_day: 31 },
      "2028-02-29T00:00:00Z",
      "2028-02-29T00:00:00 2028-03-31T00:00:00",
    ],
    [
      "day 30 is day 28 in February and 30 again in March",
      monthly,
      { monthly_reset_day: 30 },
      "2027-03-29T23:59:59Z",
      "2027-02-28T00:00:00 2027-03-30T00:00:00",
    ],
    [
      "day 29 in a February that has none",
      monthly,
      { monthly_reset_day: 29 },
      "2027-02-28T10:00:00Z",
      "2027-02-28T00:00:00 2027-03-29T00:00:00",
    ],
    [
      "2100 is no leap year",
      monthly,
      { monthly_reset_day: 31 },
      "2100-02-28T00:00:00Z",
      "2100-02-28T00:00:00 2100-03-31T00:00:00",
    ],
    [
      "2000 was one",
      monthly,
      { monthly_reset_day: 31 },
      "2000-02-28T23:59:59Z",
      "2000-01-31T00:00:00 2000-02-29T00:00:00",
    ],
    [
      "a month from the 15th at 18:45, at the turn of the year",
      monthly,
      { monthly_reset_day: 15, monthly_reset_hour: 18, monthly_reset_minute: 45 },
      "2027-01-15T18:44:59.999Z",
      "2026-12-15T18:45:00 2027-01-15T18:45:00",
    ],
    [
      "another length, from the epoch",
      300,
      { daily_reset_minute: 1 },
      "2026-11-21T10:07:31Z",
      "2026-11-21T10:05:00 2026-11-21T10:10:00",
    ],
    [
      "three days, from the epoch",
      259_200,
      {},
      "1970-01-04T00:00:00Z",
      "1970-01-04T00:00:00 1970-01-07T00:00:00",
    ],
  ];
  for (const [name, periodSeconds, anchors, at, expected] of table)
    t.equal(bounds(periodSeconds, anchors, at), expected, name);
});

const anyAnchors = fc.record(
  Object.fromEntries(anchorFields.map(({ name, min, max }) => [name, fc.integer({ min, max })])),
) as unknown as fc.Arbitrary<ResetAnchors>;

t.test("bounds agree with a calendar that is walked day by day", async () => {
  const moments = fc.integer({ min: Date.parse("1999-01-01"), max: Date.parse("2105-01-01") });
  fc.assert(
    fc.property(
      fc.constantFrom(hourly, daily, weekly, monthly),
      anyAnchors,
      moments,
      fc.boolean(),
      (periodSeconds, anchors, moment, atBorder) => {
        const around = startsAround(periodSeconds, anchors, moment);
        // Borders are where mistakes are: half of the moments are one, or the millisecond before
        // it.
        const border = around[moment % around.length]!;
        const atMs =
          atBorder && Math.abs(border - moment) < 30 * 86_400_000 ? border - (moment % 2) : moment;
        const startMs = Math.max(...around.filter((start) => start <= atMs));
        const endMs = Math.min(...around.filter((start) => start > atMs));
        const found = periodBounds(periodSeconds, anchors, atMs);
        if (found.startMs !== startMs || found.endMs !== endMs)
          throw new Error(
            `${new Date(atMs).toISOString()}: ${JSON.stringify(found)} is not ${startMs} to ${endMs}`,
          );
      },
    ),
    { numRuns: 400 },
  );
});

t.test("periods touch each other without a gap, whatever their length", async () => {
  fc.assert(
    fc.property(
      fc.constantFrom(60, 300, hourly, daily, weekly, monthly, 7_777_777),
      anyAnchors,
      fc.integer({ min: 0, max: 4_102_444_800_000 }),
      (periodSeconds, anchors, atMs) => {
        const { startMs, endMs } = periodBounds(periodSeconds, anchors, atMs);
        if (!(startMs <= atMs && atMs < endMs)) throw new Error("a period holds its moment");
        if (periodBounds(periodSeconds, anchors, endMs).startMs !== endMs)
          throw new Error("the next period begins where this one ends");
        if (periodBounds(periodSeconds, anchors, startMs - 1).endMs !== startMs)
          throw new Error("the one before ends where this one begins");
      },
    ),
  );
});

t.test("periods in a time zone are those of Python's zoneinfo", async (t) => {
  for (const { name, period, anchors, atMs, startMs, endMs } of readPeriodCases())
    t.strictSame(boundsIn(period, anchors, atMs, zones), { startMs, endMs }, name);
});

/** Local time as text, by another function than the periods use. */
function localText(zone: string): (ms: number) => string {
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone: zone,
    dateStyle: "short",
    timeStyle: "medium",
  });
  return (ms) => format.format(ms);
}

t.test("in every zone periods tile the time, and days begin at midnight", async () => {
  const all = Intl.supportedValuesOf("timeZone");
  const lengths = [daily, weekly, monthly, 7_776_000, 31_536_000];
  fc.assert(
    fc.property(
      fc.record({
        timeZone: fc.constantFrom(...all),
        moment: fc.integer({ min: Date.parse("2000-01-01"), max: Date.parse("2040-01-01") }),
        periodSeconds: fc.constantFrom(...lengths),
        anchorDay: fc.integer({ min: 1, max: 31 }),
        nearChange: fc.boolean(),
      }),
      ({ timeZone, moment, periodSeconds, anchorDay, nearChange }) => {
        const local = localText(timeZone);
        const changes = nearChange ? changesOf(timeZone, moment) : [];
        const instants = changes.length === 0 ? [moment] : changes.flatMap(aroundChange);
        for (const atMs of instants) {
          const period = periodSeconds > weekly ? { periodSeconds, anchorDay } : { periodSeconds };
          const at = (ms: number) => boundsIn({ ...period, timeZone }, defaultAnchors, ms, zones);
          const { startMs, endMs } = at(atMs);
          const where = `${timeZone} ${periodSeconds} ${new Date(atMs).toISOString()}`;
          if (!(startMs <= atMs && atMs < endMs)) throw new Error(`${where} isn't in its period`);
          if (at(endMs).startMs !== endMs) throw new Error(`${where}: a gap or overlap at its end`);
          if (at(startMs - 1).endMs !== startMs) throw new Error(`${where}: another end before`);
          const midnight = `${local(startMs).slice(0, 10)} 00:00:00`;
          if (local(startMs) < midnight) throw new Error(`${where} begins before midnight`);
          // The first instant of the day: it wasn't that day at any time before.
          for (const beforeMs of [1000, 60_000, 1_800_000, 3_600_000, 7_200_000])
            if (local(startMs - beforeMs) >= midnight)
              throw new Error(`${where} begins after midnight: ${local(startMs)}`);
        }
      },
    ),
    { numRuns: 150 },
  );
});

/** Instants at which mistakes would be. */
function aroundChange(ms: number): readonly number[] {
  const hour = 3_600_000;
  return [-24 * hour, -hour, -1, 0, 1, hour, 24 * hour].map((after) => ms + after);
}

t.test("a rolling budget counts its length, and at most a thirtieth more", async () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 60, max: 100_000_000 }),
      fc.integer({ min: 0, max: 4_102_444_800_000 }),
      (periodSeconds, atMs) => {
        const period = { periodSeconds, rolling: true } as const;
        const at = (ms: number) => boundsIn(period, defaultAnchors, ms, zones);
        const bounds = at(atMs);
        const untilMs = countsUntil(period, bounds.startMs);
        const lengthMs = periodSeconds * 1000;
        const sliceMs = bounds.endMs - bounds.startMs;
        if (sliceMs > lengthMs / 30 + 1000) throw new Error(`a slice of ${sliceMs} ms`);
        if (untilMs - bounds.endMs < lengthMs) throw new Error("it stops counting too early");
        if (untilMs - bounds.startMs > lengthMs + 2 * sliceMs) throw new Error("too late");
        const counts = (nowMs: number) => bounds.startMs >= countedFrom(period, at(nowMs));
        if (!counts(untilMs - 1) || counts(untilMs)) throw new Error("not until then");
        const slices = (bounds.startMs - countedFrom(period, bounds)) / sliceMs;
        if (slices + 1 > keptPeriodsMax(period) - 2)
          throw new Error(`${slices} slices aren't kept`);
      },
    ),
  );
});
