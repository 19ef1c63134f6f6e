import t from "tap";
import type { Change, Entry } from "../../../limiterd/store/store.js";
import { TrafficBook } from "../../../limiterd/usage/traffic-book.js";
import { createMemoryStore } from "../../support/memory-store.js";

const minute = 60_000;
const day = 86_400_000;
const noon = Date.UTC(2026, 10, 29, 12);
const pause = async (): Promise<void> => {};

function report(answered: number, model = "m") {
  return {
    counts: [answered, 1, 0, 0, 0, 0],
    tokens: 10,
    cost: 0.5,
    own_us: [33, answered],
    targets: [
      {
        provider: "p",
        model,
        attempts: answered + 1,
        failures: [0, 1, 0, 0, 0, 0, 0],
        first: [20, answered],
        whole: [40, answered],
        tokens: 100,
        token_ms: 1000,
        last_error: "503 busy",
      },
    ],
  };
}

t.test("a range has points, sums and each target, from memory and from the store", async (t) => {
  const store = createMemoryStore();
  const book = new TrafficBook();
  book.add(store, report(3), noon);
  book.add(store, report(1), noon + minute);
  const expected = {
    step_seconds: 60,
    totals: { requests: { answered: 4, failed: 2 }, tokens: 20, cost: 1 },
    own_ms: { p50: 0.28, p95: 0.28 },
    points: [
      { time: "2026-11-29T12:00:00.000Z", requests: { answered: 3 } },
      { time: "2026-11-29T12:01:00.000Z", requests: { answered: 1 } },
    ],
    targets: [
      {
        target: "p/m",
        attempts: 6,
        failures: { server_error: 2, timeout: 0 },
        error_rate: 1 / 3,
        failing: { from: "2026-11-29T12:00:00.000Z", until: null },
        first_byte_ms: { p50: 29, p95: 29 },
        duration_ms: { p50: 939, p95: 939 },
        tokens_per_second: 100,
        last_error: { at: "2026-11-29T12:01:00.000Z", message: "503 busy" },
      },
    ],
  };
  const now = noon + 2 * minute;
  const range = { fromMs: noon, beforeMs: now };
  const ports = { store, yieldToEventLoop: pause };
  t.match(await book.report(ports, range, now), expected);
  await store.commit(book.changes(store, now));
  const later = new TrafficBook();
  t.match(await later.report(ports, range, now), expected, "after a restart");
  later.add(store, report(1), noon + minute);
  const { points } = await later.report(ports, range, now);
  t.match(points[1], { requests: { answered: 2, failed: 2 } }, "it goes on counting in the minute");
  const hours = await later.report(ports, { fromMs: noon - 7 * day, beforeMs: now }, now);
  t.match(hours, { step_seconds: 3600, totals: { requests: { answered: 5 } } });
});

t.test("since when a target fails is told, and afterwards when most failed", async (t) => {
  const store = createMemoryStore();
  const book = new TrafficBook();
  const well = [40, 1] as const;
  const minutes = [
    [40, 0],
    [19, 1],
    [0, 0],
    well,
    [0, 3],
    ...Array(4).fill(well),
    [0, 0],
    well,
    [9, 1],
    ...Array(5).fill(well),
  ] as const;
  const failingAfter = async (count: number): Promise<unknown> => {
    const range = { fromMs: noon, beforeMs: noon + count * minute };
    const { targets } = await book.report({ store, yieldToEventLoop: pause }, range, noon);
    return targets[0]?.failing;
  };
  for (const [at, [answered, failed]] of minutes.entries()) {
    const [target] = report(answered).targets;
    const failures = [0, failed, 0, 0, 0, 0, 9];
    const targets = [{ ...target!, attempts: answered + failed, failures }];
    book.add(store, { ...report(answered), targets }, noon + at * minute);
    // Most minutes are read from the store.
    await store.commit(book.changes(store, noon + at * minute));
  }
  const from = "2026-11-29T12:01:00.000Z";
  t.equal(await failingAfter(1), null, "faults of requests aren't the target's");
  t.same(await failingAfter(2), { from, until: null }, "from 5% on");
  t.same(await failingAfter(4), { from, until: null }, "a minute that is well ends nothing");
  t.same(await failingAfter(10), { from, until: null }, "nor does one without attempts");
  t.same(await failingAfter(11), { from, until: "2026-11-29T12:05:00.000Z" });
  t.same(await failingAfter(12), { from: "2026-11-29T12:11:00.000Z", until: null });
  t.same(await failingAfter(17), { from, until: "2026-11-29T12:05:00.000Z" }, "the worst time");
});

t.test("cells of older releases, without own times, are read", async (t) => {
  const store = createMemoryStore();
  const { counts, tokens, cost, targets } = report(3);
  const [{ provider, model, attempts, failures, first, whole, token_ms }] = targets as [
    (typeof targets)[number],
  ];
  const target = [provider, model, attempts, failures, first, whole, 100, token_ms];
  const key = `m${String(noon / 1000).padStart(12, "0")}`;
  await store.commit([{ table: "traffic", key, value: [counts, tokens, cost, target] }]);
  const ports = { store, yieldToEventLoop: pause };
  const read = await new TrafficBook().report(
    ports,
    { fromMs: noon, beforeMs: noon + minute },
    noon,
  );
  t.equal(read.own_ms, null);
  t.match(read.targets[0], { target: "p/m", attempts: 4 });
});

t.test("minutes stay for a day, hours for 90 days", async (t) => {
  const store = createMemoryStore();
  const book = new TrafficBook();
  const write = async (nowMs: number): Promise<string[]> => {
    await store.commit(book.changes(store, nowMs));
    return [...store.entries("traffic")].map(({ key }: Entry) => String(key)[0]!);
  };
  book.add(store, report(1), noon);
  t.same(await write(noon), ["h", "m"]);
  t.same(await write(noon + day + 2 * minute), ["h"]);
  t.same(await write(noon + 91 * day), []);
});

t.test("a minute has a bounded number of targets", async (t) => {
  const store = createMemoryStore();
  const book = new TrafficBook();
  for (let i = 0; i < 500; i++) book.add(store, report(1, `m${i}`), noon);
  const { targets } = await book.report(
    { store, yieldToEventLoop: pause },
    { fromMs: noon, beforeMs: noon + minute },
    noon + 1,
  );
  t.equal(targets.length, 201);
  t.equal(targets[0]?.target, "other/other");
});

t.test("a malformed entry is left out, and replaced", async (t) => {
  const store = createMemoryStore();
  const odd: Change = {
    table: "traffic",
    key: `m${String(noon / 1000).padStart(12, "0")}`,
    value: ["x"],
  };
  await store.commit([odd]);
  const book = new TrafficBook();
  const ports = { store, yieldToEventLoop: pause };
  const range = { fromMs: noon, beforeMs: noon + minute };
  t.same((await book.report(ports, range, noon)).points, []);
  book.add(store, report(1), noon);
  t.equal((await book.report(ports, range, noon)).points.length, 1);
});
