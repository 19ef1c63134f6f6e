/** Reading while more arrives: everything once, in slices, whatever is written in between. */
import fc from "fast-check";
import t from "tap";
import { readChildDays, readDays } from "../../../limiterd/usage/read-days.js";
import { readOrigins } from "../../../limiterd/usage/reports/summarize-usage.js";
import { emptyRollup, rollupToStored } from "../../../limiterd/usage/rollup.js";
import { modelSuffix, originKey, totalPrefix } from "../../../limiterd/usage/rollup-keys.js";
import { restoreUsage } from "../../../limiterd/usage/usage-log.js";
import {
  eachUnstored,
  readRecords,
  readRollups,
  sumDays,
} from "../../../limiterd/usage/usage-reader.js";
import { rollupsPerSlice, unstoredPerSlice } from "../../../shared/bounds.js";
import { dayMs, dayOf } from "../../../shared/time.js";
import { createMemoryStore } from "../../support/memory-store.js";
import { startDaemon } from "../in-memory-daemon.js";
import { labelsOf, noonMs, recordOn } from "../lifecycle/flush-fixture.js";

function open() {
  const store = createMemoryStore();
  const usage = restoreUsage({ store, labelsOf, onDamaged: (error) => void t.fail(error.message) });
  let lsn = 0;
  let yields = 0;
  const reader = {
    store,
    usage,
    yieldToEventLoop: (): Promise<void> => {
      yields++;
      return Promise.resolve();
    },
  };
  return {
    store,
    usage,
    reader,
    get yields() {
      return yields;
    },
    add: (requestId: string, atMs = noonMs) => usage.add(recordOn("/a", { requestId, atMs }), atMs),
    /** Closes the open batch; written: its commit has ended too. */
    async close(written: boolean) {
      const changes = usage.changes(++lsn);
      if (!written) return;
      await store.commit(changes);
      usage.committed(lsn);
    },
    async writeSums() {
      const cells = usage.takeDirty();
      await store.commit(usage.rollups.changes(cells, usage.lastKey));
      usage.rollups.committed(cells);
    },
    async records(fromMs = 0): Promise<string[]> {
      const found: string[] = [];
      await readRecords(reader, { fromMs, lastKey: usage.lastKey }, ({ requestId }) =>
        found.push(requestId),
      );
      return found.sort();
    },
  };
}

t.test(
  "records are handed over once: those on the disk and those on their way, but not those of the open batch",
  async (t) => {
    const log = open();
    t.same(await log.records(), []);
    log.add("open");
    t.same(await log.records(), [], "the open batch alone");
    await log.close(true);
    t.same(await log.records(), ["open"], "the same one on the disk");
    log.add("closed");
    await log.close(false);
    log.add("late");
    t.same(await log.records(), ["closed", "open"]);
  },
);

t.test("records before the moment aren't handed over, nor any that arrive later", async (t) => {
  const log = open();
  for (const [id, atMs] of [
    ["early", noonMs - 1],
    ["sharp", noonMs],
    ["after", noonMs + 1],
  ] as const) {
    log.add(id, atMs);
    await log.close(true);
  }
  log.add("early and open", noonMs - 1);
  log.add("sharp and open", noonMs);
  await log.close(false);
  t.same(await log.records(noonMs), ["after", "sharp", "sharp and open"]);
  const found: string[] = [];
  const { reader } = log;
  const reading = readRecords(
    {
      ...reader,
      async yieldToEventLoop() {
        log.add("during");
        await log.close(true);
      },
    },
    { fromMs: 0, lastKey: log.usage.lastKey },
    ({ requestId }) => found.push(requestId),
  );
  await reading;
  t.equal(found.length, 5);
  t.notOk(found.includes("during"));
});

t.test("a batch that is committed while it is read isn't handed over again", async (t) => {
  const log = open();
  log.add("first");
  await log.close(true);
  log.add("second");
  const changes = log.usage.changes(99);
  const found: string[] = [];
  await readRecords(
    {
      ...log.reader,
      async yieldToEventLoop() {
        await log.store.commit(changes);
        log.usage.committed(99);
      },
    },
    { fromMs: 0, lastKey: log.usage.lastKey },
    ({ requestId }) => found.push(requestId),
  );
  t.same(found.sort(), ["first", "second"]);
});

t.test("one entry of records is read in a turn", async (t) => {
  const log = open();
  for (let i = 0; i < 5; i++) {
    log.add(`r${i}`);
    await log.close(true);
  }
  await log.records();
  t.equal(log.yields, 5);
});

t.test("a damaged record is reported with its table", async (t) => {
  const log = open();
  log.add("a");
  await log.close(true);
  await log.store.commit([{ table: "usage", key: log.usage.lastKey, value: ["?"] }]);
  await t.rejects(log.records(), { name: "StoreUnreadableError", message: /of usage/ });
});

const days = { fromDay: "2026-03-10", toDay: "2026-03-10" };
const ofModels = "m\n/a\n2026-03-10\n";

t.test(
  "sums are handed over once, from memory and from the store, in slices with a turn between them",
  async (t) => {
    const log = open();
    const view = log.usage.rollups.open();
    const read = async (): Promise<Map<string, number>> => {
      const found = new Map<string, number>();
      await readRollups(
        log.reader,
        { prefix: "m\n/a\n", days, view: log.usage.rollups },
        (key, sum) => {
          if (found.has(key)) throw new Error(`${key} twice`);
          found.set(key, sum.requests);
        },
      );
      return found;
    };
    const models = Math.max(rollupsPerSlice, unstoredPerSlice) * 2 + 1;
    for (let i = 0; i < models; i++)
      log.usage.add(recordOn("/a", { model: `m${i}`, totalCost: 1 }), noonMs);
    const inMemory = await read();
    const before = log.yields;
    await log.close(true);
    await log.writeSums();
    t.same(await read(), inMemory, "from the store");
    t.ok(log.yields > before);
    log.usage.add(recordOn("/a", { model: "m0" }), noonMs);
    log.usage.add(recordOn("/a", { model: "m0", atMs: noonMs + 86_400_000 }), noonMs);
    log.usage.add(recordOn("/b", { model: "m0" }), noonMs);
    const now = await read();
    t.equal(now.get(`${ofModels}openai\nm0`), 2, "as it is in memory");
    t.equal(now.size, inMemory.size, "other days and paths aren't there");
    const held: string[] = [];
    await readRollups(log.reader, { prefix: "m\n/a\n", days, view }, (key) => held.push(key));
    t.same(held, [], "a view shows what there was when it was opened");
    view.close();
  },
);

t.test("many sums that the store has never held are read with turns in between", async (t) => {
  for (const [sums, turns] of [
    [unstoredPerSlice - 1, 0],
    [unstoredPerSlice, 1],
    [3 * unstoredPerSlice, 3],
  ] as const) {
    let yields = 0;
    let handed = 0;
    const keys = Array.from({ length: sums }, (_, i) => `k${i}`);
    const { reader } = open();
    await eachUnstored(
      {
        ...reader,
        yieldToEventLoop: () => {
          yields++;
          return Promise.resolve();
        },
      },
      {
        unstoredKeys: () => keys,
        inMemory: (key) =>
          key === "k0" ? undefined : { ...emptyRollup(), requests: key === "k1" ? 0 : 1 },
      },
      () => handed++,
    );
    t.equal(yields, turns, `${sums} sums`);
    t.equal(handed, sums - 2, "those that are gone, or are nothing yet, aren't handed over");
  }
});

t.test("days add up, and one without usage is nothing", async (t) => {
  const log = open();
  for (const [day, count] of [
    [0, 2],
    [2, 3],
    [3, 4],
  ] as const)
    for (let i = 0; i < count; i++)
      log.usage.add(recordOn("/a", { atMs: noonMs + day * 86_400_000 }), noonMs);
  t.equal(sumDays(log.usage, "t\n/\na\n", ["2026-03-10", "2026-03-11", "2026-03-12"]).requests, 5);
});

t.test("a sum that is written while it is read isn't handed over again", async (t) => {
  const log = open();
  log.usage.add(recordOn("/a"), noonMs);
  await log.close(true);
  const cells = log.usage.takeDirty();
  const found: string[] = [];
  const { rollups } = log.usage;
  const view = {
    *unstoredKeys() {
      yield* rollups.unstoredKeys();
      // The store has them before it is read.
      void log.store.commit(rollups.changes(cells, log.usage.lastKey));
    },
    inMemory: (key: string) => rollups.inMemory(key),
  };
  await readRollups(log.reader, { prefix: "t\n/\na\n", days, view }, (key) => found.push(key));
  t.same(found, ["t\n/\na\n2026-03-10"]);
});

const from = Date.parse("2026-01-01T00:00:00Z");

/** A store with one request on each of so many days of these paths, and who reads it. */
async function storedDays(paths: readonly string[], days: number, missing: readonly number[] = []) {
  const store = createMemoryStore();
  const value = rollupToStored({ ...emptyRollup(), requests: 1 }, 1);
  await store.commit(
    paths.flatMap((path) =>
      Array.from({ length: days }, (_, i) => i)
        .filter((i) => !missing.includes(i))
        .map((i) => ({
          table: "rollups" as const,
          key: totalPrefix(path) + dayOf(from + i * dayMs),
          value,
        })),
    ),
  );
  const { usage } = startDaemon([], { store: store.crash() }).state;
  const yields: number[] = [];
  let read = 0;
  const reader = {
    store,
    usage,
    yieldToEventLoop: () => Promise.resolve(void yields.push(read)),
  };
  return { reader, yields, view: usage.rollups.open(), each: () => void read++, read: () => read };
}

t.test("the days of a span are read with both ends, and others have their turn", async (t) => {
  const days = 2 * rollupsPerSlice + 3;
  const { reader, view, yields, each, read } = await storedDays(["/a"], days + 2, [1]);
  const span = { fromMs: from, toMs: from + (days - 1) * dayMs + dayMs / 2 };
  await readDays(reader, view, { prefix: totalPrefix("/a"), span }, each);
  t.equal(read(), days - 1, "one has nothing");
  t.same(yields, [rollupsPerSlice - 1, 2 * rollupsPerSlice - 1]);
});

t.test(
  "the children of a path are read in a row, what they have outside of the span is leapt over, and others have their turn",
  async (t) => {
    const paths = Array.from({ length: 60 }, (_, i) => `/a/u${String(i).padStart(2, "0")}`);
    const table = [
      // Each child's days, the first and the last that are read, and how many keys are looked at.
      { days: 3, fromDay: 1, toDay: 2, keysMax: 300 },
      { days: 3, fromDay: 0, toDay: 0, keysMax: 300 },
      { days: 1, fromDay: 0, toDay: 0, keysMax: 100, looksMax: 9 },
      { days: 1, fromDay: 0, toDay: 30, keysMax: 100 },
      { days: 300, fromDay: 280, toDay: 290, keysMax: 2500 },
      { days: 5, fromDay: 4, toDay: 3, keysMax: 0 },
    ];
    for (const { days, fromDay, toDay, keysMax, looksMax = 130 } of table) {
      const { reader, view, yields, read } = await storedDays([...paths, "/b", "/a"], days);
      let keys = 0;
      let looks = 0;
      const original = reader.store.keys;
      reader.store.keys = (table, range) => {
        looks++;
        const found = original.call(reader.store, table, range);
        keys += found.length;
        return found;
      };
      const span = { fromMs: from + fromDay * dayMs, toMs: from + toDay * dayMs };
      const found: string[] = [];
      await readChildDays(reader, view, { parent: "/a", span }, (child) => found.push(child));
      const each = Math.max(0, Math.min(days - 1, toDay) - fromDay + 1);
      t.same(
        found,
        paths.flatMap((path) => Array.from({ length: each }, () => path.slice(3))),
      );
      t.ok(keys <= keysMax, `${keys} keys`);
      t.ok(looks <= looksMax, `${looks} looks`);
      t.ok(yields.length >= Math.floor(keys / 2 / rollupsPerSlice), `${yields.length} yields`);
      t.equal(read(), 0);
    }
  },
);

t.test("children are read whatever days they have, those that only memory has too", async (t) => {
  const aDay = fc.integer({ min: 0, max: 8 });
  const daysOf = fc.dictionary(
    fc.constantFrom("a", "b", "c d", "é", "~", "a-", "zz"),
    fc.uniqueArray(aDay, { maxLength: 6 }),
  );
  await fc.assert(
    fc.asyncProperty(daysOf, daysOf, aDay, aDay, async (stored, held, first, last) => {
      const store = createMemoryStore();
      const value = rollupToStored({ ...emptyRollup(), requests: 1 }, 1);
      const keysOf = (of: Record<string, number[]>): string[] =>
        Object.entries(of).flatMap(([child, days]) =>
          days.map((day) => totalPrefix(`/a/${child}`) + dayOf(from + day * dayMs)),
        );
      await store.commit(keysOf(stored).map((key) => ({ table: "rollups", key, value })));
      const inMemory = new Map(
        keysOf(held).map((key) => [key, { ...emptyRollup(), requests: 2 }] as const),
      );
      const view = {
        inMemory: (key: string) => inMemory.get(key),
        unstoredKeys: () => [...inMemory.keys()].filter((key) => !keysOf(stored).includes(key)),
      };
      const { usage } = startDaemon([]).state;
      const reader = { store, usage, yieldToEventLoop: () => Promise.resolve() };
      const span = { fromMs: from + first * dayMs, toMs: from + last * dayMs + 7 };
      const found: string[] = [];
      await readChildDays(reader, view, { parent: "/a", span }, (child, { requests }) =>
        found.push(`${child} ${requests}`),
      );
      const expected = Object.keys({ ...stored, ...held }).flatMap((child) =>
        Array.from({ length: 9 }, (_, day) => day)
          .filter((day) => day >= first && day <= last)
          .flatMap((day) =>
            held[child]?.includes(day)
              ? [`${child} 2`]
              : stored[child]?.includes(day)
                ? [`${child} 1`]
                : [],
          ),
      );
      t.same(found.toSorted(), expected.toSorted());
    }),
  );
});

t.test("a damaged daily sum is reported with its key", async (t) => {
  const { reader, view, each } = await storedDays(["/a/b"], 2);
  const key = totalPrefix("/a/b") + dayOf(from + dayMs);
  await reader.store.commit([{ table: "rollups", key, value: ["?"] }]);
  const error = { name: "StoreUnreadableError", message: /b\\n2026-01-02" of rollups/ };
  const span = { fromMs: from, toMs: from + dayMs };
  await t.rejects(readDays(reader, view, { prefix: totalPrefix("/a/b"), span }, each), error);
  await t.rejects(readChildDays(reader, view, { parent: "/a", span }, each), error);
});

t.test("sums by origin are handed over once, those of the window and at or below it", async (t) => {
  const log = open();
  const value = rollupToStored({ ...emptyRollup(), requests: 1 }, 1);
  const originOf = (day: string, userPath: string): string =>
    originKey(day, { userPath, keyId: "" }, modelSuffix("p", "m"));
  const keys = ["2026-03-09", "2026-03-10", "2026-03-11", "2026-03-12"].flatMap((day) =>
    ["/", "/a", "/a/b", "/ab", "/b"].map((path) => originOf(day, path)),
  );
  const damaged = "o\n2026-03-10\n/a\nk";
  await log.store.commit(
    [...keys, damaged].map((key) => ({ table: "rollups" as const, key, value })),
  );
  // In memory alone; and one that is written before the store is read.
  const unstored = [originOf("2026-03-11", "/a/c"), originOf("2026-03-13", "/a"), keys[7]!, "m\n"];
  const view = {
    inMemory: (key: string) =>
      unstored.includes(key) ? { ...emptyRollup(), requests: 2 } : undefined,
    unstoredKeys: () => unstored,
  };
  for (const [userPath, expected] of [
    ["/a", ["10 /a 1", "10 /a/b 2", "11 /a 1", "11 /a/b 1", "11 /a/c 2"]],
    ["/b", ["10 /b 1", "11 /b 1"]],
    ["/c", []],
  ] as const) {
    const found: string[] = [];
    const window = { userPath, fromDay: "2026-03-10", toDay: "2026-03-11" };
    await readOrigins(log.reader, view, window, ({ day, userPath }, { requests }) =>
      found.push(`${day.slice(8)} ${userPath} ${requests}`),
    );
    t.same(found.toSorted(), expected);
  }
  t.ok(log.yields >= 6, "others have their turn after each day");
});

t.test("what memory alone has of other paths is no child's", async (t) => {
  const { reader } = await storedDays([], 0);
  const unstored = ["/a/x", "/b/y", "/a/x/z"].map((path) => totalPrefix(path) + dayOf(from));
  const view = {
    inMemory: () => ({ ...emptyRollup(), requests: 1 }),
    unstoredKeys: () => unstored,
  };
  const found: string[] = [];
  const span = { fromMs: from, toMs: from };
  await readChildDays(reader, view, { parent: "/a", span }, (child) => found.push(child));
  t.same(found, ["x"]);
});

t.test("damaged keys among the children's don't hold the reading up", async (t) => {
  const store = createMemoryStore();
  const value = rollupToStored({ ...emptyRollup(), requests: 1 }, 1);
  const odd = ["t\n/a\nx", "t\n/a\nx\n", "t\n/a\nx\n20", "t\n/a\nx\n2026-01-02~zz", "t\n/a\n"];
  const keys = [...odd, totalPrefix("/a/z") + dayOf(from + dayMs)];
  await store.commit(keys.map((key) => ({ table: "rollups", key, value })));
  const { usage } = startDaemon([]).state;
  const reader = { store, usage, yieldToEventLoop: () => Promise.resolve() };
  const found: string[] = [];
  for (const days of [0, 2]) {
    const span = { fromMs: from, toMs: from + days * dayMs };
    const view = { inMemory: () => undefined, unstoredKeys: () => [] };
    await readChildDays(reader, view, { parent: "/a", span }, (child) => found.push(child));
  }
  t.same(found, ["x", "z"]);
});
