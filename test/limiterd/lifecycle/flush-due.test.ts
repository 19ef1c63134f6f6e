import t from "tap";
import { startTimers } from "../../../limiterd/lifecycle/start-timers.js";
import { createUsageTrimmer } from "../../../limiterd/usage/trim-usage.js";
import { restoreUsage, rollupProgressChange } from "../../../limiterd/usage/usage-log.js";
import { rollupRecordsMax, rollupsDirtyMax } from "../../../shared/bounds.js";
import { dayMs } from "../../../shared/time.js";
import { createMemoryStore } from "../../support/memory-store.js";
import { startDaemon } from "../in-memory-daemon.js";
import { labelsOf, noonMs, recordOn, settleOne } from "./flush-fixture.js";

t.test("a start reads the records since the sums were last written, and no others", async (t) => {
  const daemon = startDaemon([], { nowMs: noonMs });
  const peer = daemon.proxy("p");
  for (let seq = 1; seq <= 20; seq++) {
    settleOne(peer, seq);
    await daemon.commit();
    if (seq === 17) await daemon.flush();
  }
  const store = daemon.store.crash();
  const { range } = store;
  let read = 0;
  store.range = (table, keys) => {
    const found = range.call(store, table, keys);
    if (table === "usage") read += found.length;
    return found;
  };
  const usage = restoreUsage({ store, labelsOf, onDamaged: (error) => t.fail(error.message) });
  t.equal(read, 3);
  t.equal(usage.rollups.find("t\n\n\n2026-03-10")!.requests, 20);
  t.equal(usage.lastKey, daemon.state.usage.lastKey);
  await store.commit([{ ...rollupProgressChange(0), value: ["?"] }]);
  t.throws(() => restoreUsage({ store, labelsOf, onDamaged: () => {} }), {
    name: "StoreUnreadableError",
    message: /of marks/,
  });
});

t.test(
  "a record is never trimmed before its sums are written, however old it is by the clock",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noonMs });
    const peer = daemon.proxy("p");
    const trimmer = createUsageTrimmer(daemon.store, daemon.state.usage.days, 30);
    const years = noonMs + 1000 * dayMs;
    settleOne(peer, 1);
    await daemon.flush();
    settleOne(peer, 2);
    await daemon.commit();
    const trimmed = trimmer
      .next(years, daemon.state.usage.rolledUpKey)
      .filter(({ table }) => table === "usage");
    t.equal(trimmed.length, 1, "the second waits");
    await daemon.store.commit(trimmed);
    t.equal(
      startDaemon([], { store: daemon.store.crash(), nowMs: years }).state.usage.rollups.find(
        "t\n/\na\n2026-03-10",
      )!.requests,
      2,
    );
    await daemon.flush();
    t.equal(
      trimmer.next(years, daemon.state.usage.rolledUpKey).filter(({ table }) => table === "usage")
        .length,
      1,
    );
    const later = startDaemon([], { store: daemon.store.crash(), nowMs: noonMs });
    t.ok(
      later.state.usage.lastKey >= daemon.state.usage.lastKey,
      "and no number is given out twice",
    );
  },
);

t.test(
  "sums are written after a while, immediately when there are many, and at a stop, whatever the flush interval",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noonMs });
    const set = new Map<object, { readonly ms: number; readonly run: () => void }>();
    const add = (ms: number, run: () => void): (() => void) => {
      const key = {};
      set.set(key, { ms, run });
      return () => set.delete(key);
    };
    const ports = {
      nowMs: () => daemon.nowMs,
      every: add,
      after: add,
      onBroken: () => {},
      onMissing: () => {},
      onFill: () => {},
      closeListener: () => Promise.resolve(),
    };
    let much = (): void => {};
    daemon.state.usage.onFlushDue = (run) => {
      much = run;
    };
    const timers = startTimers(daemon.state, ports, {
      flushIntervalMs: 0,
      usageRetentionDays: 400,
      auditRetentionDays: 365,
      storeBytesMax: null,
      usageFlushMs: 5000,
    });
    const ring = async (ms: number): Promise<void> => {
      for (const timer of [...set.values()]) if (timer.ms === ms) timer.run();
      for (let turns = 0; turns < 3; turns++) await daemon.commit();
    };
    const peer = daemon.proxy("p");
    const { usage } = daemon.state;
    const stored = (): number =>
      daemon.store.keys("rollups", { from: "", before: "~", limit: Infinity }).length;
    settleOne(peer, 1);
    await ring(1000);
    t.equal(stored(), 0);
    await ring(5000);
    t.equal(stored(), 5);
    t.equal(usage.rolledUpKey, usage.lastKey);
    const { commit } = daemon.store;
    daemon.store.commit = () => Promise.reject(new Error("nothing is written while nothing comes"));
    await daemon.flush();
    daemon.store.commit = commit;
    settleOne(peer, 2);
    await daemon.commit();
    t.not(usage.rolledUpKey, usage.lastKey);
    much();
    for (let turns = 0; turns < 3; turns++) await daemon.commit();
    t.equal(usage.rolledUpKey, usage.lastKey);
    settleOne(peer, 3);
    t.equal(await timers.stop(), true);
    t.equal(usage.rolledUpKey, usage.lastKey);
    t.equal(set.size, 0);
  },
);

t.test(
  "a flush is due when so many records have arrived, or have changed so many sums",
  async (t) => {
    const usage = restoreUsage({
      store: createMemoryStore(),
      labelsOf,
      onDamaged: (error) => t.fail(error.message),
    });
    let calls = 0;
    usage.onFlushDue(() => calls++);
    for (let i = 0; i < rollupRecordsMax; i++) usage.add(recordOn("/a"), noonMs);
    t.equal(calls, 1);
    usage.takeDirty();
    // Each path and all but the root above it are two sums of their own, and its origin is one.
    for (let i = 0; i < rollupsDirtyMax / 21; i++)
      usage.add(recordOn(`/b${i}/3/4/5/6/7/8/9/10/11`), noonMs);
    t.equal(calls, 2);
  },
);
