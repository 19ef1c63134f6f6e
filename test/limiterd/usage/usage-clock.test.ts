/**
 * Usage and budgets under a clock that stands where calendars have their edges: the last
 * millisecond of days, months and leap days, the anchors of periods; that steps back over them; and
 * through crashes. Everything that a daemon tells is compared with a list of what was spent and a
 * calendar that is read day by day.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { budgetStatuses } from "../../../limiterd/lists/list-budgets.js";
import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import { defaultAnchors } from "../../../shared/domain/reset-anchors.js";
import { dayMs, dayOf } from "../../../shared/time.js";
import { startsAround } from "../../support/calendar.js";
import {
  ask,
  executed,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
  target,
} from "../in-memory-daemon.js";

const hourMs = 3_600_000;
const anchors = {
  ...defaultAnchors,
  daily_reset_hour: 6,
  daily_reset_minute: 30,
  weekly_reset_weekday: 0,
  weekly_reset_hour: 12,
  monthly_reset_day: 31,
  monthly_reset_hour: 18,
  monthly_reset_minute: 45,
};
const labels = {
  3600: "hourly",
  86400: "daily",
  604800: "weekly",
  2592000: "monthly",
} as const;
const periods = [3600, 86_400, 604_800, 2_592_000] as const;
const budgets: readonly BudgetDefinition[] = periods.flatMap((periodSeconds) => [
  { scope: "user_path" as const, subject: "/", periodSeconds, amountUsd: 1e6, perChild: false },
  { scope: "user_path" as const, subject: "/team", periodSeconds, amountUsd: 1e6, perChild: true },
]);
const edges = [
  "2028-02-28T23:59:59.999Z",
  "2028-02-29T23:59:59.999Z",
  "2028-02-29T18:44:59.999Z",
  "2027-02-28T18:44:59.999Z",
  "2027-02-28T23:59:59.999Z",
  "2026-12-31T23:59:59.999Z",
  "2027-04-30T18:44:59.999Z",
  "2100-02-28T23:59:59.999Z",
  "2027-01-31T18:44:59.999Z",
  "2026-11-22T11:59:59.999Z",
];

type Step =
  | {
      readonly kind: "spend";
      readonly path: string;
      readonly agoMs: number;
      readonly micros: number;
    }
  | { readonly kind: "edge"; readonly periodSeconds: number; readonly beforeMs: number }
  | { readonly kind: "on"; readonly byMs: number }
  | { readonly kind: "crash" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("spend" as const),
      path: fc.constantFrom("/", "/team", "/team/a", "/team/a/x", "/team/b", "/teams"),
      agoMs: fc.constantFrom(0, 0, 1, 999, hourMs),
      micros: fc.integer({ min: 1, max: 3_000_000 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("edge" as const),
      periodSeconds: fc.constantFrom(...periods),
      beforeMs: fc.constantFrom(0, 0, 1),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("on" as const),
      byMs: fc.oneof(
        fc.constantFrom(1, -1, -1000),
        fc.integer({ min: -2 * hourMs, max: 2 * hourMs }),
      ),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "crash" as const }) },
);

interface Spent {
  readonly path: string;
  readonly atMs: number;
  readonly micros: number;
}

/** By period and day: walking through the calendar takes its time. */
const known = new Map<string, readonly number[]>();

/** The bounds of the period that holds a moment. */
function periodAt(
  periodSeconds: number,
  atMs: number,
): { readonly startMs: number; readonly endMs: number } {
  const day = `${periodSeconds} ${dayOf(atMs)}`;
  const starts = known.get(day) ?? startsAround(periodSeconds, anchors, atMs);
  known.set(day, starts);
  return {
    startMs: Math.max(...starts.filter((start) => start <= atMs)),
    endMs: Math.min(...starts.filter((start) => start > atMs)),
  };
}

const isUnder = (path: string, other: string): boolean =>
  path === "/" || other === path || other.startsWith(`${path}/`);
const microsOf = (spent: readonly Spent[]): number =>
  spent.reduce((sum, { micros }) => sum + micros, 0);
const usd = (micros: number): number => micros / 1e6;
const seconds = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

async function compare(daemon: TestDaemon, spent: readonly Spent[]): Promise<void> {
  const { nowMs } = daemon;
  for (const path of ["/team/a/x", "/teams"]) {
    const expected = periods.flatMap((periodSeconds) => {
      const { startMs, endMs } = periodAt(periodSeconds, nowMs);
      const within = spent.filter(({ atMs }) => atMs >= startMs && atMs < endMs);
      const item = (subject: string): object => ({
        subject,
        period_label: labels[periodSeconds],
        spent: usd(microsOf(within.filter((one) => isUnder(subject, one.path)))),
        period_start: seconds(startMs),
        period_end: seconds(endMs),
        resets_in_seconds: Math.ceil((endMs - nowMs) / 1000),
      });
      return path === "/teams" ? [item("/")] : [item("/"), item("/team/a")];
    });
    const found = budgetStatuses(daemon.state, { userPath: path }, [], nowMs).map(
      ({ subject, period_label, spent: cost, period_start, period_end, resets_in_seconds }) => ({
        subject,
        period_label,
        spent: cost,
        period_start,
        period_end,
        resets_in_seconds,
      }),
    );
    const inOrder = (items: readonly object[]): string[] =>
      items.map((item) => JSON.stringify(item)).sort();
    assert.deepEqual(
      inOrder(found),
      inOrder(expected),
      `${path} at ${new Date(nowMs).toISOString()}`,
    );
  }
  const window = { start_date: dayOf(nowMs - 40 * dayMs), end_date: dayOf(nowMs + dayMs) };
  const days = new Map<string, number>();
  for (const { atMs } of spent)
    if (dayOf(atMs) >= window.start_date && dayOf(atMs) <= window.end_date)
      days.set(dayOf(atMs), (days.get(dayOf(atMs)) ?? 0) + 1);
  const { groups } = (await ask(daemon, "usage.summary", {
    user_path: "/",
    ...window,
    by: "day",
  })) as { groups: { key: string; requests: number; total_cost: number }[] };
  assert.deepEqual(
    groups.map(({ key, requests }) => [key, requests]),
    [...days].sort(),
  );
  for (const atMs of [nowMs, nowMs - dayMs, nowMs + 1]) {
    const day = { start_date: dayOf(atMs), end_date: dayOf(atMs) };
    const of = spent.filter((one) => dayOf(one.atMs) === day.start_date);
    const { usage } = (await ask(daemon, "usage.status", { user_path: "/", ...day })) as {
      usage: Record<string, number>;
    };
    assert.deepEqual(
      [usage["total_requests"], usage["total_cost"]],
      [of.length, usd(microsOf(of))],
      day.start_date,
    );
    const { records } = (await ask(daemon, "usage.export", day)) as { records: { time: string }[] };
    assert.deepEqual(
      records.map(({ time }) => Date.parse(time)).sort(),
      of.map((one) => one.atMs).sort(),
      `the records of ${day.start_date}`,
    );
  }
}

t.test(
  "at the edges of days, months, leap days and anchors, under a clock that steps back, every sum is what the calendar says",
  async (t) => {
    const met = { edges: 0, back: 0, crashes: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...edges),
        fc.array(step, { minLength: 5, maxLength: 40, size: "max" }),
        async (from, steps) => {
          const begin = Date.parse(from);
          let daemon = startDaemon([], { nowMs: begin - 1000 * hourMs, budgets });
          await ask(daemon, "budgets.put-settings", anchors);
          daemon.nowMs = begin;
          let latestMs = begin;
          let peer: TestPeer = daemon.proxy("p");
          let seq = 0;
          const spent: Spent[] = [];
          const move = (toMs: number): void => {
            // Two periods before the latest are kept, and the shortest period is an hour.
            const nowMs = Math.max(toMs, latestMs - 2 * hourMs);
            if (nowMs < daemon.nowMs) met.back++;
            daemon.nowMs = nowMs;
            latestMs = Math.max(latestMs, nowMs);
          };
          for (const one of steps) {
            if (one.kind === "on") move(daemon.nowMs + one.byMs);
            else if (one.kind === "edge") {
              met.edges++;
              move(periodAt(one.periodSeconds, daemon.nowMs).endMs - one.beforeMs);
            } else if (one.kind === "spend") {
              const cost = one.micros * 1_000_000;
              const lease = {
                lease: 0,
                userPath: one.path,
                admittedAtMs: 0,
                lsn: 0,
                target,
                targetAtMs: 0,
                targetLsn: 0,
                submission: false,
              };
              peer.send({
                ...settleOf(lease, ++seq, 0, { ended: one.agoMs }),
                record: executed({ inputCost: cost, outputCost: 0, totalCost: cost }),
              });
              spent.push({ path: one.path, atMs: daemon.nowMs - one.agoMs, micros: one.micros });
            } else {
              met.crashes++;
              await daemon.commit();
              daemon = startDaemon([], {
                store: daemon.store.crash(),
                nowMs: daemon.nowMs,
                budgets,
              });
              peer = daemon.proxy("p");
            }
            await compare(daemon, spent);
          }
        },
      ),
      { seed: 11, numRuns: 40 },
    );
    t.ok(met.edges > 200 && met.back > 60 && met.crashes > 40, JSON.stringify(met));
  },
);
