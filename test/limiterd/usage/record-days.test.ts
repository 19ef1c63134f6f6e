/** Records under clocks that are ahead, behind and right again. */
import fc from "fast-check";
import t from "tap";
import { RecordDays, storedRecordDays } from "../../../limiterd/usage/record-days.js";
import { labelPrefix, totalPrefix } from "../../../limiterd/usage/rollup-keys.js";
import { createUsageTrimmer } from "../../../limiterd/usage/trim-usage.js";
import { restoreUsage } from "../../../limiterd/usage/usage-log.js";
import { batchesIn } from "../../../limiterd/usage/usage-reader.js";
import {
  batchesPerTrim,
  recordLatenessMs,
  rollupDaysMin,
  sumsPerTrim,
} from "../../../shared/bounds.js";
import { dayOf } from "../../../shared/time.js";
import { createMemoryStore } from "../../support/memory-store.js";
import { ask, startDaemon } from "../in-memory-daemon.js";
import { dayMs, noonMs, recordOn, recordsIn, spend } from "./usage-fixture.js";

const retentionDays = 30;
const noLabels = (): readonly string[] => [];

/** Records on a store, under a clock that is set. */
function open(store = createMemoryStore()) {
  const usage = restoreUsage({ store, labelsOf: noLabels, onDamaged: () => {} });
  const trimmer = createUsageTrimmer(store, usage.days, retentionDays);
  let lsn = usage.lastKey;
  return {
    store,
    usage,
    async write(records: readonly { readonly atMs: number; readonly nowMs: number }[]) {
      for (const { atMs, nowMs: recordedMs } of records)
        usage.add(recordOn("/a", { atMs, requestId: `r${atMs}` }), recordedMs);
      await store.commit(usage.changes(++lsn));
      usage.committed(lsn);
    },
    read(fromMs: number | null, beforeMs: number | null): number[] {
      const ranges = usage.days.keysOf({ fromMs, beforeMs }, usage.lastKey + 1);
      return [...batchesIn(store, ranges)]
        .flatMap(({ records }) => records.map(({ atMs }) => atMs))
        .filter((atMs) => atMs >= (fromMs ?? -Infinity) && atMs < (beforeMs ?? Infinity));
    },
    async trim(atMs: number) {
      for (;;) {
        const changes = trimmer.next(atMs, usage.lastKey);
        if (changes.length === 0) return;
        await store.commit(changes);
      }
    },
    runs: (): readonly (readonly unknown[])[] =>
      [...store.entries("days")].map(({ key, value }) => [key, ...value]),
  };
}

const day = (ms: number): number => Math.floor(ms / dayMs);

t.test(
  "a record that came as late as it may is found by the moment at which it ended",
  async (t) => {
    const midnight = (day(noonMs) + 1) * dayMs;
    const { write, read } = open();
    await write([{ atMs: midnight, nowMs: midnight + recordLatenessMs }]);
    t.same(read(midnight, midnight + 1), [midnight]);
    t.same(read(null, midnight), []);
  },
);

t.test(
  "whatever the clock did, an export of some days has their records, and retention removes what is old",
  async (t) => {
    const year = 365 * dayMs;
    for (const { clock, stepsMs } of [
      { clock: "right", stepsMs: [0, 1000, 2000] },
      { clock: "a day ahead, and back", stepsMs: [0, dayMs, 1000, 2000] },
      { clock: "a week ahead, and back", stepsMs: [0, 7 * dayMs, 1000, dayMs] },
      { clock: "a year ahead, and back", stepsMs: [0, year, 1000, dayMs, 2 * dayMs] },
      { clock: "a year behind, and right again", stepsMs: [0, -year, 1000, 2000] },
      { clock: "ahead twice", stepsMs: [0, year, 1000, year + 1000, 2000] },
      { clock: "in 1970", stepsMs: [-noonMs, 0, 1000] },
    ]) {
      const daemon = startDaemon([], { nowMs: noonMs });
      const peer = daemon.proxy("p");
      const atMs = stepsMs.map((step) => noonMs + step);
      for (const [i, nowMs] of atMs.entries()) {
        daemon.nowMs = nowMs;
        spend(peer, i + 1, `/n${i}`);
        await daemon.commit();
      }
      await daemon.flush();
      for (const date of new Set(atMs.map(dayOf))) {
        const { records } = await ask(daemon, "usage.export", { start_date: date, end_date: date });
        t.same(
          (records as { user_path: string }[]).map(({ user_path: path }) => path),
          atMs.flatMap((ms, i) => (dayOf(ms) === date ? [`/n${i}`] : [])),
          `${clock}: ${date}`,
        );
      }
      const until = await ask(daemon, "usage.export", { end_date: dayOf(noonMs + 2 * dayMs) });
      t.equal(
        (until["records"] as unknown[]).length,
        atMs.filter((ms) => ms < noonMs + 3 * dayMs).length,
        `${clock}: all that is later is there, too`,
      );
      const { store, usage } = daemon.state;
      const trimmer = createUsageTrimmer(store, usage.days, retentionDays);
      const laterMs = noonMs + (retentionDays + 10) * dayMs;
      for (let i = 0; i < 3; i++) await store.commit(trimmer.next(laterMs, usage.lastKey));
      t.same(
        recordsIn(daemon.store).map((record) => record.atMs),
        atMs.filter((ms) => ms > laterMs),
        `${clock}: retention`,
      );
    }
  },
);

t.test("records are numbered one after the other, whatever the clock says", async (t) => {
  const log = open();
  for (const nowMs of [noonMs, noonMs + 365 * dayMs, noonMs, 0])
    await log.write([{ atMs: nowMs, nowMs }]);
  t.same(
    [...log.store.entries("usage")].map(({ key }) => key),
    [1, 2, 3, 4],
  );
  const today = day(noonMs);
  t.same(log.runs(), [
    [1, today - 7, today],
    [2, today + 358, today + 365],
    [3, today - 7, today],
    [4, -7, 0],
  ]);
});

t.test("around midnight, and for late records, no new run begins", async (t) => {
  const log = open();
  const midnight = noonMs + dayMs / 2;
  for (const nowMs of [noonMs, midnight, midnight - 1, midnight + 1, midnight - 1])
    await log.write([
      { atMs: nowMs, nowMs },
      { atMs: nowMs - 6 * dayMs, nowMs },
    ]);
  t.equal(log.runs().length, 2);
});

interface Step {
  readonly byMs: number;
  readonly lateMs: readonly number[];
  readonly crash: boolean;
}

const step: fc.Arbitrary<Step> = fc.record({
  byMs: fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 0, max: dayMs }) },
    { weight: 1, arbitrary: fc.constantFrom(-1, -dayMs, -400 * dayMs, 400 * dayMs) },
    { weight: 1, arbitrary: fc.integer({ min: -20 * dayMs, max: 20 * dayMs }) },
  ),
  lateMs: fc.array(fc.constantFrom(0, 0, 1, dayMs, 7 * dayMs), { minLength: 1, maxLength: 3 }),
  crash: fc.boolean(),
});

t.test(
  "under any clock each record is found by its day, and removed when it is old and not before",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 25 }),
        fc.integer({ min: -50, max: 500 }),
        async (steps, laterDays) => {
          let nowMs = noonMs;
          let log = open();
          const written: { readonly atMs: number; readonly nowMs: number }[] = [];
          for (const { byMs, lateMs, crash } of steps) {
            // A batch may be open while the clock steps.
            const records = lateMs.map((late, i) => {
              if (i <= 1) nowMs = Math.max(7 * dayMs, nowMs + byMs / 2);
              return { atMs: Math.floor(nowMs) - late, nowMs: Math.floor(nowMs) };
            });
            await log.write(records);
            written.push(...records);
            if (crash) log = open(log.store.crash());
          }
          const all = written.map(({ atMs }) => atMs);
          const sorted = (list: readonly number[]): string => [...list].sort().join();
          for (const ms of [...all, nowMs])
            for (const [fromMs, beforeMs] of [
              [ms, ms + dayMs],
              [ms - dayMs, ms],
              [ms, null],
              [null, ms],
            ] as const) {
              const expected = all.filter(
                (atMs) => atMs >= (fromMs ?? -Infinity) && atMs < (beforeMs ?? Infinity),
              );
              if (sorted(log.read(fromMs, beforeMs)) !== sorted(expected)) return false;
            }
          const laterMs = nowMs + laterDays * dayMs;
          await log.trim(laterMs);
          const left = new Set(log.read(null, null));
          const oldestMs = laterMs - retentionDays * dayMs;
          const lastOf = Math.max(...written.map((record) => record.nowMs));
          return (
            all.every((atMs) => atMs < oldestMs || left.has(atMs)) &&
            (lastOf >= oldestMs - 2 * dayMs || left.size === 0)
          );
        },
      ),
      { seed: 7, numRuns: 300 },
    );
  },
);

const daysAgo = (days: number): string => dayOf(noonMs - days * dayMs);

t.test("a damaged run is reported with its table", async (t) => {
  for (const value of [[], [1], ["1", 2], [1, 2.5]]) {
    const store = createMemoryStore();
    await store.commit([{ table: "days", key: 1, value }]);
    t.throws(() => storedRecordDays(store), { name: "StoreUnreadableError" });
  }
});

t.test("sums are walked through once a day, some at a time, and the old ones go", async (t) => {
  for (const [retentionDays, keptDays] of [
    [30, rollupDaysMin],
    [rollupDaysMin + 1, rollupDaysMin + 1],
  ] as const)
    for (const count of [0, sumsPerTrim - 1, sumsPerTrim, 2 * sumsPerTrim - 1, 2 * sumsPerTrim]) {
      const store = createMemoryStore();
      const keys = Array.from({ length: count }, (_, i) => {
        const day = daysAgo(i % 2 === 0 ? keptDays : keptDays + 1);
        return `${i % 3 === 0 ? labelPrefix(`l${i}`) : totalPrefix(`/p${i}`)}${day}`;
      });
      await store.commit(keys.map((key) => ({ table: "rollups", key, value: [1] })));
      const trimmer = createUsageTrimmer(store, new RecordDays([]), retentionDays);
      const removed: unknown[] = [];
      const turn = async (atMs: number): Promise<number> => {
        const changes = trimmer.next(atMs, 0);
        removed.push(...changes.map(({ key }) => key));
        await store.commit(changes);
        return changes.length;
      };
      for (let turns = 0; turns < 4; turns++)
        t.ok((await turn(noonMs)) <= Math.ceil(sumsPerTrim / 2) + 1, `${count}: one turn`);
      const old = keys.filter((key) => key.endsWith(daysAgo(keptDays + 1)));
      t.same(removed.sort(), old.sort(), `${count} sums, kept for ${keptDays} days`);
      await store.commit(old.map((key) => ({ table: "rollups", key, value: [1] })));
      t.equal(await turn(noonMs), 0, "not again on this day");
      if (count === 0) continue;
      t.ok((await turn(noonMs + dayMs)) > 0, "but on the next");
    }
});

t.test(
  "records go by their runs, so many batches at a call, and none that isn't summed",
  async (t) => {
    const today = Math.floor(noonMs / dayMs);
    const run = (firstKey: number, ago: number) => ({
      firstKey,
      fromDay: today - ago,
      toDay: today - ago,
    });
    const store = createMemoryStore();
    const last = batchesPerTrim + 30;
    const keys = Array.from({ length: last }, (_, i) => i + 1);
    await store.commit(keys.map((key) => ({ table: "usage", key, value: [] })));
    const days = new RecordDays([run(1, 40), run(11, 31), run(last - 9, 30)]);
    const trimmer = createUsageTrimmer(store, days, 30);
    const next = async (rolledUpKey: number): Promise<string[]> => {
      const changes = trimmer.next(noonMs, rolledUpKey);
      await store.commit(changes);
      return changes.map(({ table, key }) => `${table} ${key}`);
    };
    t.same(await next(0), []);
    t.same(
      await next(5),
      keys.slice(0, 5).map((key) => `usage ${key}`),
      "up to what is summed",
    );
    t.same(await next(10), [...keys.slice(5, 10).map((key) => `usage ${key}`), "days 1"]);
    const rest = keys.slice(10, last - 10);
    t.same(
      await next(last),
      rest.slice(0, batchesPerTrim).map((key) => `usage ${key}`),
      "so many at a call",
    );
    t.same(await next(last), [
      ...rest.slice(batchesPerTrim).map((key) => `usage ${key}`),
      "days 11",
    ]);
    t.same(await next(last), [], "a day that is kept stays whole");
    t.equal([...store.entries("usage")].length, 10);
  },
);
