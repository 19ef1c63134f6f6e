import t from "tap";
import { RecordDays } from "../../../limiterd/usage/record-days.js";
import type { Rollups } from "../../../limiterd/usage/rollups.js";
import {
  restoreUsage,
  rollupProgressChange,
  storedRollupProgress,
  UsageLog,
} from "../../../limiterd/usage/usage-log.js";
import { readRecords } from "../../../limiterd/usage/usage-reader.js";
import { recordsFromStored, type UsageRecord } from "../../../limiterd/usage/usage-records.js";
import { rollupRecordsMax, rollupsDirtyMax } from "../../../shared/bounds.js";
import { createMemoryStore } from "../../support/memory-store.js";
import { exactly } from "../../support/patterns/exactly.js";
import { ask, refusal, startDaemon } from "../in-memory-daemon.js";
import { noonMs, recordsIn, spend, usageOf } from "./usage-fixture.js";

const midnightMs = Date.parse("2026-03-01T00:00:00Z");

function recordAt(atMs: number, requestId: string): UsageRecord {
  return {
    atMs,
    requestId,
    userPath: "/team",
    provider: "openai",
    model: "gpt-4o",
    estimated: false,
    endpoint: "/v1/chat/completions",
    providerType: "openai",
    status: 200,
    inputTokens: 1,
    outputTokens: 1,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    inputCost: 1,
    outputCost: 1,
    totalCost: 2,
    cacheHit: false,
    rewriteTokensSaved: 0,
    rewriteCostSaved: null,
    latencyMs: 1,
    firstByteMs: 1,
    requestedModel: "",
    session: "",
    details: null,
    atMost: null,
    keyId: "",
  };
}

t.test(
  "a batch that was opened before a moment is found by a reader of the time since, for the records that ended after it",
  async (t) => {
    const store = createMemoryStore();
    const usage = restoreUsage({
      store,
      labelsOf: () => [],
      onDamaged: (error) => t.fail(error.message),
    });
    // The store failed over midnight, so one batch gathered all of it; a clock that steps back
    // changes nothing.
    for (const [afterMs, id] of [
      [-90_000, "before"],
      [70_000, "after"],
      [-5, "back"],
    ] as const)
      usage.add(recordAt(midnightMs + afterMs, id), midnightMs + afterMs);
    await store.commit(usage.changes(1));
    usage.committed(1);
    const found: string[] = [];
    await readRecords(
      { store, usage, yieldToEventLoop: () => Promise.resolve() },
      { fromMs: midnightMs, lastKey: usage.lastKey },
      ({ requestId }) => found.push(requestId),
    );
    t.same(found, ["after"]);
  },
);

/** A log over sums of which so many are dirty. */
function logging(before: { readonly lastKey?: number; readonly replayed?: number } = {}) {
  const added: string[] = [];
  const rollups = {
    dirtyCount: 0,
    add: ({ requestId }: UsageRecord) => void added.push(requestId),
    takeDirty: () => [],
  };
  const usage = new UsageLog(rollups as unknown as Rollups, {
    lastKey: 0,
    rolledUpKey: 0,
    replayed: 0,
    ...before,
    days: new RecordDays([]),
  });
  let due = 0;
  usage.onFlushDue(() => due++);
  const add = (id: string): void => usage.add(recordAt(midnightMs, id), midnightMs);
  return { usage, rollups, added, add, due: () => due };
}

t.test("a batch has the next key, and one without records has none", async (t) => {
  const { usage, added, add } = logging({ lastKey: 7 });
  t.same(usage.changes(20), []);
  t.equal(usage.lastKey, 7);
  t.match(usage.open, { key: 8, records: { length: 0 } });
  add("a");
  add("b");
  t.same(added, ["a", "b"]);
  t.match(usage.open, exactly({ key: 8, records: [{ requestId: "a" }, { requestId: "b" }] }));
  t.same(usage.unwritten(), []);
  const [record, day, ...rest] = usage.changes(21);
  t.match(record, { table: "usage", key: 8 });
  t.match(recordsFromStored(record!.value!), exactly([{ requestId: "a" }, { requestId: "b" }]));
  t.match(day, { table: "days", key: 8 });
  t.same(rest, []);
  t.equal(usage.lastKey, 8);
  t.match(usage.open, { key: 9, records: { length: 0 } });
  t.same(usage.changes(22), []);
  add("c");
  t.match(
    usage.changes(23).map(({ table, key }) => [table, key]),
    exactly([["usage", 9]]),
  );
});

t.test("a record is unwritten until the commit of its batch, and of no earlier one", async (t) => {
  const { usage, add } = logging();
  for (const lsn of [5, 6, 8]) {
    add(`in ${lsn}`);
    usage.changes(lsn);
  }
  const left = (): number[] => usage.unwritten().map(({ key }) => key);
  t.same(left(), [1, 2, 3]);
  for (const [lsn, keys] of [
    [4, [1, 2, 3]],
    [5, [2, 3]],
    [7, [3]],
    [8, []],
    [9, []],
  ] as const) {
    usage.committed(lsn);
    t.same(left(), keys, `${lsn}`);
  }
});

t.test(
  "sums are to be written at a number of records, or of sums, and until then not",
  async (t) => {
    const { usage, rollups, add, due } = logging({ replayed: rollupRecordsMax - 2 });
    add("a");
    t.equal(due(), 0);
    add("b");
    t.equal(due(), 1);
    add("c");
    t.equal(due(), 2, "until they are taken");
    t.same(usage.takeDirty(), []);
    add("d");
    t.equal(due(), 2);
    rollups.dirtyCount = rollupsDirtyMax - 1;
    add("e");
    t.equal(due(), 2);
    rollups.dirtyCount++;
    add("f");
    t.equal(due(), 3);
  },
);

t.test("a repeated settle adds nothing, before and after a crash", async (t) => {
  const daemon = startDaemon([], { nowMs: noonMs });
  const peer = daemon.proxy("p");
  spend(peer, 1, "/a");
  spend(peer, 1, "/a");
  await daemon.commit();
  spend(peer, 1, "/a");
  t.match(await usageOf(daemon, "/a"), { total_requests: 1 });
  const next = startDaemon([], { store: daemon.store.crash(), nowMs: noonMs });
  const again = next.proxy("p");
  spend(again, 1, "/a");
  spend(again, 2, "/a");
  await next.commit();
  t.match(await usageOf(next, "/a"), { total_requests: 2 });
  t.equal(recordsIn(next.store).length, 2);
});

t.test(
  "what wasn't acknowledged is gone completely after a crash, and counts once when it is sent again",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noonMs });
    const peer = daemon.proxy("p");
    spend(peer, 1, "/a");
    await daemon.commit();
    spend(peer, 2, "/a/b");
    const next = startDaemon([], { store: daemon.store.crash(), nowMs: noonMs });
    t.match(
      await usageOf(next, "/"),
      { total_requests: 1 },
      "neither the record nor a part of its sums",
    );
    t.equal(recordsIn(next.store).length, 1);
    const again = next.proxy("p");
    for (const seq of [1, 2]) spend(again, seq, seq === 1 ? "/a" : "/a/b");
    await next.commit();
    t.match(await usageOf(next, "/"), { total_requests: 2 });
    t.match(await usageOf(next, "/a/b"), { total_requests: 1 });
  },
);

t.test(
  "while commits fail everything is kept; when they work again it is written once, and a crash in between loses no more than what was never acknowledged",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noonMs });
    const peer = daemon.proxy("p");
    spend(peer, 1, "/a");
    await daemon.commit();
    daemon.store.broken = true;
    for (let seq = 2; seq <= 40; seq++) {
      spend(peer, seq, seq % 2 === 0 ? "/a" : "/b");
      await daemon.commit();
    }
    t.match(await usageOf(daemon, "/"), { total_requests: 40 }, "told all the same");
    t.match(
      await refusal(ask(daemon, "usage.export", {})),
      {
        status: 503,
        code: "usage_status_failed",
        message: /the store can't be written \(the disk is broken\)/,
      },
      "an export, which is of what is on the disk, is refused at once",
    );
    const crashed = startDaemon([], { store: daemon.store.crash(), nowMs: noonMs });
    t.match(await usageOf(crashed, "/"), { total_requests: 1 });
    t.same(
      peer.received.filter(({ kind }) => kind === "settled"),
      [{ kind: "settled", seq: 1 }],
    );
    daemon.store.broken = false;
    for (let i = 0; i < 4; i++) await daemon.commit();
    t.same(peer.received.filter(({ kind }) => kind === "settled").at(-1), {
      kind: "settled",
      seq: 40,
    });
    const next = startDaemon([], { store: daemon.store.crash(), nowMs: noonMs });
    t.match(await usageOf(next, "/"), { total_requests: 40 });
    t.match(await usageOf(next, "/a"), { total_requests: 21 });
    t.equal(recordsIn(next.store).length, 40);
  },
);

t.test("a start reads the records behind those that all sums hold, and no others", async (t) => {
  const daemon = startDaemon([], { nowMs: noonMs });
  const peer = daemon.proxy("p");
  for (let seq = 1; seq <= 4; seq++) {
    spend(peer, seq, "/a");
    await daemon.commit();
  }
  const keys = [...daemon.store.entries("usage")].map(({ key }) => Number(key));
  t.equal(keys.length, 4);
  for (const [rolledUpKey, replayed] of [
    [0, 4],
    [keys[0]!, 3],
    [keys[2]!, 1],
    [keys[3]!, 0],
  ] as const) {
    const store = createMemoryStore();
    // The records alone, without their sums.
    await store.commit([
      ...[...daemon.store.entries("usage")].map((entry) => ({ table: "usage", ...entry }) as const),
      rollupProgressChange(rolledUpKey),
    ]);
    t.equal(storedRollupProgress(store), rolledUpKey);
    const usage = restoreUsage({ store, labelsOf: () => [], onDamaged: t.fail });
    t.equal(usage.rolledUpKey, rolledUpKey);
    t.equal(usage.lastKey, keys[3]);
    const sums = usage.takeDirty().map(({ sum }) => sum.requests);
    t.equal(Math.max(0, ...sums), replayed);
  }
});

t.test("a mark or a record that can't be read ends the start", async (t) => {
  t.equal(storedRollupProgress(createMemoryStore()), 0);
  for (const change of [
    { table: "marks", key: "rolled_up", value: ["7"] },
    { table: "marks", key: "rolled_up", value: [-1] },
    { table: "usage", key: 3, value: ["?"] },
  ] as const) {
    const store = createMemoryStore();
    await store.commit([change]);
    t.throws(() => restoreUsage({ store, labelsOf: () => [], onDamaged: t.fail }), {
      name: "StoreUnreadableError",
      message: new RegExp(` of ${change.table} `),
    });
  }
});
