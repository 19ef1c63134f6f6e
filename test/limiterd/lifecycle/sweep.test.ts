import t from "tap";
import { sweepChildren, sweepObjects } from "../../../limiterd/lifecycle/sweep.js";
import { StoreFailingError } from "../../../limiterd/store/store.js";
import { settledRetentionMs, windowsPerSlice } from "../../../shared/bounds.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import { childNames } from "../counters/child-names.js";
import { askFor, settleOf, startDaemon } from "../in-memory-daemon.js";

const template: RuleDefinition = {
  scope: "user_path",
  subject: "/users",
  periodSeconds: 60,
  maxRequests: 5,
  maxTokens: null,
  perChild: true,
};

t.test(
  "an idle child is forgotten after two periods, in memory and in the store; a busy one stays",
  async (t) => {
    const daemon = startDaemon([template]);
    const peer = daemon.proxy("p1");
    const settled = askFor(peer, 2, "/users/idle")!;
    peer.send(settleOf(settled, 1, 1));
    askFor(peer, 3, "/users/busy/app");
    await daemon.snapshot();
    const children = (): string[] => childNames(daemon.state.book.find(template)!.children);
    const stored = (): number => [...daemon.store.entries("windows")].length;
    t.same(children(), ["idle", "busy"]);
    t.equal(stored(), 2);
    daemon.nowMs += 119_000;
    await sweepChildren(
      daemon.state,
      () => daemon.nowMs,
      () => Promise.resolve(),
    );
    t.same(children(), ["idle", "busy"], "a second too early");
    daemon.nowMs += 60_000;
    await sweepChildren(
      daemon.state,
      () => daemon.nowMs,
      () => Promise.resolve(),
    );
    await daemon.commit();
    t.same(children(), ["busy"], "its request still runs");
    t.equal(stored(), 1);
  },
);

t.test(
  "a sweep that a failing store holds up leaves what is counted meanwhile alone",
  async (t) => {
    const daemon = startDaemon([template]);
    const peer = daemon.proxy("p1");
    const last = `/users/u${windowsPerSlice + 5}`;
    for (let i = 0; i <= windowsPerSlice + 5; i++)
      peer.send(settleOf(askFor(peer, i + 2, `/users/u${i}`)!, i + 1, 0));
    await daemon.snapshot();
    daemon.nowMs += 180_000;
    daemon.store.broken = true;
    const swept = sweepChildren(
      daemon.state,
      () => daemon.nowMs,
      () => Promise.resolve(),
    );
    await daemon.commit();
    daemon.nowMs += 180_000;
    for (let i = 0; i < 5; i++) peer.send(settleOf(askFor(peer, 9000 + i, last)!, 1000 + i, 0));
    t.equal(askFor(peer, 9100, last), null, "five a minute");
    void daemon.snapshot();
    daemon.store.broken = false;
    await daemon.commit();
    await swept;
    t.equal(askFor(peer, 9101, last), null, "and no sixth after the sweep");
  },
);

t.test("fifty thousand children come and go in bounded memory", async (t) => {
  const daemon = startDaemon([template]);
  const peer = daemon.proxy("p1");
  let most = 0;
  for (let i = 1; i <= 50_000; i++) {
    peer.send(settleOf(askFor(peer, i + 1, `/users/u${i}`)!, i, 0));
    peer.received.length = 0;
    if (i % 1000 !== 0) continue;
    daemon.nowMs += 10_000;
    await daemon.snapshot();
    await sweepChildren(
      daemon.state,
      () => daemon.nowMs,
      () => Promise.resolve(),
    );
    most = Math.max(most, daemon.state.book.find(template)!.children.size);
  }
  t.ok(most < 25_000, `at most ${most} at once`);
});

t.test("a snapshot writes what changed, once", async (t) => {
  const daemon = startDaemon([{ ...template, perChild: false }]);
  const peer = daemon.proxy("p1");
  await daemon.snapshot();
  const windows = (): unknown[] => [...daemon.store.entries("windows")];
  t.same(windows(), []);
  askFor(peer, 2, "/users/a");
  await daemon.snapshot();
  t.equal(windows().length, 1);
  const [before] = windows();
  await daemon.snapshot();
  t.same(windows(), [before], "untouched windows are left alone");
});

t.test("a daemon at rest writes nothing, and still knows when it looked", async (t) => {
  const daemon = startDaemon([{ ...template, perChild: false }]);
  askFor(daemon.proxy("p1"), 2, "/users/a");
  await daemon.snapshot();
  await daemon.snapshot();
  const commits: unknown[] = [];
  const { commit } = daemon.store;
  Object.assign(daemon.store, {
    commit(changes: readonly object[]) {
      commits.push(changes);
      return commit.call(daemon.store, changes as never);
    },
  });
  daemon.nowMs += 5;
  await daemon.snapshot();
  t.same(commits, []);
  t.equal(daemon.state.lastSnapshotAtMs, daemon.nowMs);
});

t.test("a proxy that has left is remembered as long as it may come back", async (t) => {
  const daemon = startDaemon([{ ...template, perChild: false }]);
  const known = (): number => [...daemon.store.entries("proxies")].length;
  const left = daemon.proxy("p1");
  askFor(left, 2, "/users/a");
  left.close();
  daemon.proxy("p2");
  await daemon.snapshot();
  daemon.nowMs += settledRetentionMs - 1;
  askFor(daemon.proxy("p2"), 3, "/users/a");
  await daemon.snapshot();
  t.equal(known(), 2);
  daemon.nowMs += 2;
  askFor(daemon.proxy("p2"), 4, "/users/a");
  await daemon.snapshot();
  t.equal(known(), 1);
});

t.test("owners of expired objects are forgotten, unless the store can't be written", async (t) => {
  const { state } = startDaemon([]);
  const gone = [{ table: "objects", key: "file-1", value: undefined }] as const;
  for (const [failing, expired, written] of [
    [null, gone, [gone]],
    [null, [], []],
    [new StoreFailingError("the disk is full"), gone, []],
  ] as const) {
    const writes: unknown[] = [];
    const asked: number[] = [];
    const objects = {
      expired(nowMs: number) {
        asked.push(nowMs);
        return expired;
      },
    };
    const writer = { failing, write: (changes: unknown) => Promise.resolve(writes.push(changes)) };
    sweepObjects({ ...state, objects, writer } as unknown as typeof state, 7);
    t.same([writes, asked], [written, failing === null ? [7] : []]);
  }
});
