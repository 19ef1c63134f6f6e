/** Crossings are marked once, alerts are kept until they are delivered, and both are bounded. */
import t from "tap";
import {
  AlertBook,
  type AlertDestination,
  alertKeptMs,
  alertLeaseMs,
  type Crossing,
} from "../../../limiterd/alerts/alert-book.js";
import type { Change } from "../../../limiterd/store/store.js";
import { createMemoryStore, type MemoryStore } from "../../support/memory-store.js";

const nowMs = Date.UTC(2026, 10, 29);
const day = 86_400_000;

function destination(id: string, at: readonly number[], rest = {}): AlertDestination {
  return { id, at, forecast: true, rateLimits: false, ...rest };
}

function crossing(usageRatio: number, rest: Partial<Crossing> = {}): Crossing {
  return {
    key: "/team\n",
    startMs: nowMs - day / 2,
    endMs: nowMs + day / 2,
    usageRatio,
    isRateLimit: false,
    describe: () => ({
      type: "budget.threshold",
      scope: "user_path",
      subject: "/team",
      period_label: "daily",
      period_seconds: 86_400,
      period_start: "2026-11-28T12:00:00Z",
      period_end: "2026-11-29T12:00:00Z",
    }),
    ...rest,
  };
}

/** A book whose changes are committed to a store, as the writer does. */
class Kept {
  readonly store: MemoryStore;
  readonly book: AlertBook;
  #lsn = 1;

  constructor(
    destinations: readonly AlertDestination[],
    { store = createMemoryStore(), max }: { store?: MemoryStore; max?: number } = {},
  ) {
    this.store = store;
    this.book = new AlertBook(destinations, max);
    void this.write(this.book.restore(store));
  }

  write(changes: readonly Change[]): Promise<void> {
    return this.store.commit(changes);
  }

  async commit(): Promise<void> {
    const lsn = this.#lsn++;
    await this.write(this.book.changes(lsn));
    this.book.committed(lsn);
  }

  /** Takes and delivers all alerts of a destination. */
  async deliver(id = "a", atMs = nowMs): Promise<(number | string | undefined)[]> {
    const delivered: (number | string | undefined)[] = [];
    for (;;) {
      const { alert, removed } = this.book.take(id, atMs);
      await this.write(removed);
      if (alert === null) return delivered;
      delivered.push(alert.threshold ?? alert.type);
      await this.write(this.book.report({ destination: id, id: alert.id, reason: null }, atMs));
    }
  }
}

t.test("each threshold is reported once in a period, to those who want it", async (t) => {
  const kept = new Kept([destination("a", [0.5, 0.8, 1]), destination("b", [1])]);
  for (const ratio of [0.2, 0.5, 0.5, 0.79, 0.9, 0.85, 0.9]) kept.book.note(crossing(ratio), nowMs);
  await kept.commit();
  t.same(await kept.deliver(), [0.5, 0.8]);
  t.same(await kept.deliver("b"), []);
  kept.book.note(crossing(1.2), nowMs);
  await kept.commit();
  t.same([await kept.deliver(), await kept.deliver("b")], [[1], [1]]);
  const next = { startMs: nowMs + day / 2, endMs: nowMs + 1.5 * day };
  kept.book.note(crossing(0.6, next), nowMs + day);
  await kept.commit();
  t.same(await kept.deliver("a", nowMs + day), [0.5], "the next period begins again");
});

t.test("a jump over several thresholds reports each", async (t) => {
  const kept = new Kept([destination("a", [0.5, 0.8, 1])]);
  kept.book.note(crossing(3), nowMs);
  await kept.commit();
  t.same(await kept.deliver(), [0.5, 0.8, 1]);
});

t.test("rounding doesn't hide a threshold", async (t) => {
  const kept = new Kept([destination("a", [0.8])]);
  kept.book.note(crossing((0.1 + 0.2) * (8 / 3)), nowMs);
  kept.book.note(crossing(0.7999999), nowMs);
  await kept.commit();
  t.same(await kept.deliver(), [0.8]);
});

t.test("nothing is sent before it is on the disk, and a restart sends nothing again", async (t) => {
  const destinations = [destination("a", [0.5, 0.8])];
  const kept = new Kept(destinations);
  kept.book.note(crossing(0.6), nowMs);
  t.equal(kept.book.take("a", nowMs).alert, null);
  const lost = new Kept(destinations, { store: kept.store });
  t.equal(lost.book.size, 0, "a crash before the commit loses the spend too");
  await kept.commit();
  const restarted = new Kept(destinations, { store: kept.store });
  restarted.book.note(crossing(0.7), nowMs);
  await restarted.commit();
  const first = kept.book.take("a", nowMs).alert;
  t.same(restarted.book.take("a", nowMs).alert, first, "with the same id");
  await restarted.write(
    restarted.book.report({ destination: "a", id: first!.id, reason: null }, nowMs),
  );
  const again = new Kept(destinations, { store: kept.store });
  again.book.note(crossing(0.7), nowMs);
  await again.commit();
  t.same(await again.deliver(), []);
  again.book.note(crossing(0.8), nowMs);
  await again.commit();
  t.same(await again.deliver(), [0.8]);
});

t.test("the same crossing has the same id on each host, another one another", async (t) => {
  const idOf = async (...[ratio, rest, at]: [number, Partial<Crossing>?, number?]) => {
    const kept = new Kept([destination("a", [at ?? 0.5])]);
    kept.book.note(crossing(ratio, rest), nowMs);
    await kept.commit();
    return kept.book.take("a", nowMs).alert!.id;
  };
  t.equal(await idOf(0.5), await idOf(0.6));
  const ids = [
    await idOf(0.8),
    await idOf(0.8, { key: "/other\n" }),
    await idOf(0.8, { startMs: 7 }),
    await idOf(0.8, {}, 0.8),
  ];
  t.equal(new Set(ids).size, ids.length);
});

t.test("a proxy has one alert at a time; another one gets it after half a minute", async (t) => {
  const kept = new Kept([destination("a", [0.5, 0.8])]);
  kept.book.note(crossing(0.9), nowMs);
  await kept.commit();
  const first = kept.book.take("a", nowMs).alert;
  t.equal(kept.book.take("a", nowMs + alertLeaseMs - 1).alert, null);
  t.same(kept.book.take("a", nowMs + alertLeaseMs).alert, first);
  t.equal(kept.book.take("unknown", nowMs).alert, null);
});

t.test("failures are tried again, ever less often, and hold up nothing else", async (t) => {
  const kept = new Kept([destination("a", [0.5]), destination("b", [0.5])]);
  kept.book.note(crossing(0.5), nowMs);
  kept.book.note(crossing(0.5, { key: "/second\n" }), nowMs);
  await kept.commit();
  const first = kept.book.take("a", nowMs).alert!;
  const fail = (id: string, atMs: number) =>
    kept.book.report({ destination: "a", id, reason: "it answered 500" }, atMs);
  fail(first.id, nowMs);
  t.match(kept.book.list()[0], { waiting: 2, failing: "it answered 500" });
  t.equal(kept.book.take("a", nowMs + 4_999).alert, null);
  const second = kept.book.take("a", nowMs + 5_000).alert!;
  t.same(second, first, "the oldest first");
  fail(first.id, nowMs + 5_000);
  t.not(kept.book.take("a", nowMs + 14_999).alert?.id, first.id);
  t.same(await kept.deliver("b"), [0.5, 0.5], "the other destination isn't touched");
  let atMs = nowMs + 60_000;
  let attempts = 0;
  for (; atMs < nowMs + day; atMs += 1000) {
    const { alert } = kept.book.take("a", atMs);
    if (alert === null) continue;
    attempts++;
    fail(alert.id, atMs);
  }
  t.ok(attempts > 40 && attempts < 100, `${attempts} attempts at two alerts in a day`);
  t.same(await kept.deliver("a", nowMs + alertKeptMs + 1), []);
  t.equal(kept.book.counts.dropped, 2);
  t.same(
    [...kept.store.entries("alerts")].filter(({ key }) => String(key).startsWith("wait")),
    [],
  );
});

t.test("a clock that is set back holds up nothing", async (t) => {
  const kept = new Kept([destination("a", [0.5])]);
  kept.book.note(crossing(0.5), nowMs);
  await kept.commit();
  const { id } = kept.book.take("a", nowMs).alert!;
  kept.book.report({ destination: "a", id, reason: "x" }, nowMs);
  t.equal(kept.book.take("a", nowMs - day).alert!.id, id);
});

t.test("100,000 children fill the queue and no more; the rest is noticed later", async (t) => {
  const kept = new Kept([destination("a", [0.8])], { max: 100 });
  for (let i = 0; i < 1000; i++) kept.book.note(crossing(0.9, { key: `/c\n${i}` }), nowMs);
  await kept.commit();
  t.equal(kept.book.size, 100);
  t.equal((await kept.deliver()).length, 100);
  for (let i = 0; i < 1000; i++) kept.book.note(crossing(0.9, { key: `/c\n${i}` }), nowMs);
  await kept.commit();
  t.equal((await kept.deliver()).length, 100);
});

t.test(
  "a forecast is reported once in a period, and rate limits where they are wanted",
  async (t) => {
    const kept = new Kept([
      destination("a", [0.8], { rateLimits: true }),
      destination("b", [0.8], { forecast: false }),
    ]);
    kept.book.noteForecast(crossing(0.3), nowMs);
    kept.book.noteForecast(crossing(0.4), nowMs);
    kept.book.note(crossing(0.9, { key: "rule x", isRateLimit: true }), nowMs);
    await kept.commit();
    t.same(await kept.deliver(), ["budget.forecast", 0.8]);
    t.same(await kept.deliver("b"), []);
  },
);

t.test("marks of past periods go, and alerts of destinations that are gone", async (t) => {
  const kept = new Kept([destination("a", [0.5])]);
  kept.book.note(crossing(0.5), nowMs);
  await kept.commit();
  await kept.write(kept.book.sweep(nowMs, 10));
  t.equal([...kept.store.entries("alerts")].length, 2);
  await kept.write(kept.book.sweep(nowMs + day, 10));
  t.equal([...kept.store.entries("alerts")].length, 1);
  const other = new Kept([destination("z", [0.5])], { store: kept.store });
  await Promise.resolve();
  t.equal(other.book.size, 0);
  t.equal([...kept.store.entries("alerts")].length, 0);
});

t.test("what no book wrote ends the start", async (t) => {
  for (const [key, value] of [
    ["mark x", ["no"]],
    ["wait a x", ["a", 1, { id: 5 }]],
    ["other", []],
  ] as const) {
    const store = createMemoryStore();
    await store.commit([{ table: "alerts", key, value }]);
    t.throws(() => new AlertBook([]).restore(store), { name: "StoreUnreadableError" });
  }
});
