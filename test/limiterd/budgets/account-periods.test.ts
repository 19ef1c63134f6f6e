import t from "tap";
import { AccountPeriods } from "../../../limiterd/budgets/account-periods.js";
import { type Account, newAccount } from "../../../limiterd/budgets/budget-account.js";
import { unknownBounds } from "../../../limiterd/budgets/budget-period.js";
import type { UsageRecord } from "../../../limiterd/usage/usage-records.js";
import { sumUsd } from "../../../shared/domain/money.js";
import { defaultAnchors } from "../../../shared/domain/reset-anchors.js";

const hourMs = 3_600_000;

/** An account of an hourly budget that was created at `sinceMs`. */
function hourly(sinceMs: number): Account {
  return newAccount(
    {
      id: "hourly",
      definition: {
        scope: "user_path",
        subject: "/a",
        periodSeconds: 3600,
        amountUsd: 1,
        perChild: false,
      },
      amount: { microUsd: 1_000_000, picoUsd: 0 },
      source: "manual",
      createdAtMs: 0,
      updatedAtMs: 0,
      sinceMs,
      sinceKey: 0,
      resetAtMs: null,
      isBackfilling: false,
      generation: 0,
      resets: [],
      own: null,
      children: new Map(),
      loadSpend: null,
      bounds: unknownBounds,
      previousStartMs: 0,
      declaredAt: null,
      raises: null,
      held: null,
    },
    "",
  );
}

/** A dollar that was spent by a request that ended then. */
const dollar = (atMs: number): UsageRecord =>
  ({ atMs, totalCost: 1_000_000_000_000 }) as UsageRecord;

t.test("a record counts in the period in which it ended, however late it arrives", async (t) => {
  const periods = new AccountPeriods(() => null, defaultAnchors);
  const account = hourly(-1);
  const nowMs = 10.5 * hourMs;
  const spent = (): number[] => account.spends.map(({ spent }) => sumUsd(spent));
  t.ok(periods.charge(account, dollar(nowMs), nowMs));
  t.ok(periods.charge(account, dollar(nowMs - hourMs), nowMs));
  t.ok(periods.charge(account, dollar(nowMs - hourMs), nowMs));
  t.ok(periods.charge(account, dollar(nowMs - 2 * hourMs), nowMs));
  t.same(spent(), [1, 2, 1]);
  t.equal(sumUsd(periods.runningPeriod(account, nowMs).spent), 1);
  t.notOk(periods.charge(account, dollar(nowMs - 3 * hourMs), nowMs), "three periods are kept");
  t.same(spent(), [1, 2, 1]);
});

t.test("a running period that isn't known is looked up from when it began", async (t) => {
  const asked: (readonly [fromMs: number, toMs: number])[] = [];
  const found = { spent: { microUsd: 7_000_000, picoUsd: 0 }, requests: 3 };
  const periods = new AccountPeriods((_, fromMs, toMs) => {
    asked.push([fromMs, toMs]);
    return found;
  }, defaultAnchors);
  const account = hourly(10.4 * hourMs);
  const nowMs = 10.5 * hourMs;
  t.equal(sumUsd(periods.runningPeriod(account, nowMs).spent), 7);
  t.equal(periods.runningPeriod(account, nowMs + 1).requests, 3);
  t.same(asked, [[10 * hourMs, nowMs]], "once");
  t.equal(periods.runningPeriod(account, nowMs + hourMs).requests, 0, "it saw this one begin");
  t.equal(asked.length, 1);
});

t.test("after a reset, records that ended before it don't count", async (t) => {
  const periods = new AccountPeriods(() => null, defaultAnchors);
  const account = hourly(-1);
  account.budget.own = account;
  const nowMs = 10.5 * hourMs;
  periods.charge(account, dollar(nowMs - hourMs), nowMs);
  account.budget.resetAtMs = nowMs + 2;
  t.notOk(periods.charge(account, dollar(nowMs + 1), nowMs + 3));
  t.ok(periods.charge(account, dollar(nowMs + 3), nowMs + 3));
  t.same(
    account.spends.map(({ spent }) => sumUsd(spent)),
    [1, 1],
  );
});

t.test(
  "a period that is dropped for a new one is looked up when the clock steps back",
  async (t) => {
    const asked: (readonly [fromMs: number, toMs: number])[] = [];
    const periods = new AccountPeriods((_, fromMs, toMs) => {
      asked.push([fromMs, toMs]);
      return { spent: { microUsd: 5_000_000, picoUsd: 0 }, requests: 5 };
    }, defaultAnchors);
    const account = hourly(-1);
    for (const hour of [8, 9, 10, 11])
      periods.charge(account, dollar(hour * hourMs), hour * hourMs);
    t.same(asked, []);
    t.equal(account.budget.sinceMs, 8 * hourMs + 1, "all of a period that began then was seen");
    t.notOk(
      periods.charge(account, dollar(8 * hourMs), 11 * hourMs),
      "it is too old for a late one",
    );
    t.equal(periods.runningPeriod(account, 8.5 * hourMs).requests, 5);
    t.same(asked, [[8 * hourMs, 8.5 * hourMs]]);
  },
);

t.test("a record that is too late to be kept has its period looked up from then on", async (t) => {
  const asked: (readonly [fromMs: number, toMs: number])[] = [];
  const periods = new AccountPeriods((_, fromMs, toMs) => {
    asked.push([fromMs, toMs]);
    return null;
  }, defaultAnchors);
  const account = hourly(-1);
  for (const hour of [9, 10, 11]) periods.charge(account, dollar(hour * hourMs), hour * hourMs);
  t.notOk(periods.charge(account, dollar(8.5 * hourMs), 11 * hourMs));
  t.equal(account.budget.sinceMs, 8 * hourMs + 1);
  periods.runningPeriod(account, 8.6 * hourMs);
  t.same(asked, [[8 * hourMs, 8.6 * hourMs]]);
});

t.test("at an edge a record belongs to what begins there", async (t) => {
  const nowMs = 10.5 * hourMs;
  const [none, resetMs] = [null, 10.25 * hourMs];
  const table: readonly (readonly [number, number | null, number, readonly number[]])[] = [
    [10 * hourMs, none, nowMs, [10]],
    [10 * hourMs - 1, none, nowMs, [9]],
    [11 * hourMs - 1, none, nowMs, [10]],
    [11 * hourMs, none, nowMs, [11]],
    [resetMs, resetMs, nowMs, [10]],
    [resetMs - 1, resetMs, nowMs, []],
    [resetMs - 1, resetMs, resetMs, []],
    [resetMs - 1, resetMs, resetMs - 1, [10]],
    [9.5 * hourMs, resetMs, nowMs, [9]],
    [resetMs, resetMs + hourMs, nowMs, [10]],
  ];
  for (const [atMs, resetAtMs, chargedMs, hours] of table) {
    const periods = new AccountPeriods(() => null, defaultAnchors);
    const account = hourly(-1);
    account.budget.resetAtMs = resetAtMs;
    const what = `${atMs / hourMs}, reset at ${resetAtMs}, at ${chargedMs / hourMs}`;
    t.equal(periods.charge(account, dollar(atMs), chargedMs), hours.length > 0, what);
    t.same(
      account.spends.map(({ startMs }) => startMs / hourMs),
      hours,
      what,
    );
  }
});

t.test("what a budget knows since when never moves back", async (t) => {
  const periods = new AccountPeriods(() => null, defaultAnchors);
  const nowMs = 10.5 * hourMs;
  for (const [sinceMs, isKept, thenMs] of [
    [8 * hourMs, true, 8 * hourMs],
    [8 * hourMs + 1, false, 8 * hourMs + 1],
    [9.5 * hourMs, false, 9.5 * hourMs],
  ] as const) {
    const account = hourly(sinceMs);
    t.equal(periods.charge(account, dollar(8.5 * hourMs), nowMs), isKept, `${sinceMs}`);
    t.equal(account.budget.sinceMs, thenMs);
  }
  const full = hourly(-1);
  for (const hour of [8, 9, 10]) periods.charge(full, dollar(hour * hourMs), nowMs);
  full.budget.sinceMs = 9.5 * hourMs;
  t.notOk(periods.charge(full, dollar(7 * hourMs), nowMs));
  periods.charge(full, dollar(11 * hourMs), 11 * hourMs);
  t.equal(full.spends[0]!.startMs, 9 * hourMs);
  t.equal(full.budget.sinceMs, 9.5 * hourMs);
});
