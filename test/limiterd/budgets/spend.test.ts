import t from "tap";
import { type Budget, startOf } from "../../../limiterd/budgets/budget-account.js";
import {
  addPeriod,
  emptyPeriod,
  findPeriod,
  isFull,
  type Spends,
  spendsFromStored,
  spendsToStored,
} from "../../../limiterd/budgets/spend.js";

const starts = (spends: Spends): number[] => spends.map(({ startMs }) => startMs);

t.test("three periods are kept, in order; the oldest other one makes room", async (t) => {
  const spends: Spends = [];
  for (const [startMs, kept, dropped] of [
    [20, [20], undefined],
    [10, [10, 20], undefined],
    [30, [10, 20, 30], undefined],
    [40, [20, 30, 40], 10],
    [35, [30, 35, 40], 20],
    [5, [5, 35, 40], 30],
  ] as const) {
    t.equal(addPeriod(spends, emptyPeriod(startMs))?.startMs, dropped);
    t.same(starts(spends), kept);
  }
  t.equal(findPeriod(spends, 35), spends[1]);
  t.equal(findPeriod(spends, 36), undefined);
  t.same(
    [4, 5, 6].map((startMs) => isFull(spends, startMs)),
    [true, false, false],
  );
  t.notOk(isFull(spends.slice(1), 1));
});

t.test("what was written is read as it was, and nothing else", async (t) => {
  const flat = [-5, 1, 2, 3, 10, 999_999_999, 999_999, 0];
  const spends = spendsFromStored(flat)!;
  t.same(spends, [
    { startMs: -5, spent: { microUsd: 1, picoUsd: 2 }, requests: 3 },
    { startMs: 10, spent: { microUsd: 999_999_999, picoUsd: 999_999 }, requests: 0 },
  ]);
  t.same(spendsToStored(spends), flat);
  const many = (count: number) => Array.from({ length: count }, (_, i) => [i, 0, 0, 0]).flat();
  t.ok(spendsFromStored(many(33)), "as many as a rolling budget keeps");
  for (const wrong of [
    [],
    flat.slice(1),
    many(34),
    flat.with(2, 1_000_000),
    flat.with(6, 1_000_000),
    flat.with(4, -5),
    flat.with(4, -6),
    ...flat.flatMap((_, i) =>
      ["1", 0.5, null, i % 4 === 0 ? Number.NaN : -1].map((x) => (flat as unknown[]).with(i, x)),
    ),
  ])
    t.equal(spendsFromStored(wrong), null, JSON.stringify(wrong));
});

t.test("a period begins with the calendar, or with a reset in it", async (t) => {
  const bounds = { startMs: 100, endMs: 200 };
  for (const [resetAtMs, nowMs, startMs] of [
    [null, 150, 100],
    [99, 150, 100],
    [100, 150, 100],
    [101, 150, 101],
    [150, 150, 150],
    [151, 150, 100],
  ] as const)
    t.equal(
      startOf({ resetAtMs, definition: { periodSeconds: 100 } } as Budget, bounds, nowMs),
      startMs,
      `reset at ${resetAtMs}`,
    );
});
