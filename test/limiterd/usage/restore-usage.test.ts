import t from "tap";
import {
  restoreUsage,
  rollupProgressChange,
  storedRollupProgress,
} from "../../../limiterd/usage/restore-usage.js";
import { createMemoryStore } from "../../support/memory-store.js";
import { ask, refusal, startDaemon } from "../in-memory-daemon.js";
import { noonMs, recordsIn, spend, usageOf } from "./usage-fixture.js";

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
