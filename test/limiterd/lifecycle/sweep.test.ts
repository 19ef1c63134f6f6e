import t from "tap";
import { windowKey } from "../../../limiterd/counters/window.js";
import { denialChange } from "../../../limiterd/keys/jwt-denials.js";
import {
  removeStaleWindows,
  sweepChildren,
  sweepDenials,
  sweepObjects,
  sweepSpends,
} from "../../../limiterd/lifecycle/sweep.js";
import { StoreFailingError } from "../../../limiterd/store/store.js";
import { settledRetentionMs, windowsPerSlice } from "../../../shared/bounds.js";
import { type RuleDefinition, ruleId } from "../../../shared/domain/rule.js";
import { budget, client, spend } from "../budgets/budget-fixture.js";
import { childNames } from "../counters/child-names.js";
import { askFor, pathRule, settleOf, startDaemon, type TestDaemon } from "../in-memory-daemon.js";

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

t.test("one that has left is forgotten though nothing of it was written yet", async (t) => {
  const daemon = startDaemon([]);
  daemon.proxy("p1").close();
  daemon.nowMs += settledRetentionMs + 1;
  daemon.proxy("p2");
  await daemon.snapshot();
  t.same(
    [...daemon.store.entries("proxies")].map(({ key }) => key),
    ["p2"],
  );
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
      removeExpired(nowMs: number) {
        asked.push(nowMs);
        return expired;
      },
    };
    const writer = { failing, write: (changes: unknown) => Promise.resolve(writes.push(changes)) };
    sweepObjects({ ...state, objects, writer } as unknown as typeof state, 7);
    t.same([writes, asked], [written, failing === null ? [7] : []]);
  }
});

/** How many changes each write has. */
function countWrites({ state: { writer } }: TestDaemon): number[] {
  const written: number[] = [];
  const write = writer.write.bind(writer);
  writer.write = (changes) => {
    written.push(changes.length);
    return write(changes);
  };
  return written;
}

t.test("a window that was stale at the start is removed unless it counts by now", async (t) => {
  const plain = pathRule("/plain", 60, { requests: 5 });
  const daemon = startDaemon([template, plain]);
  askFor(daemon.proxy("p1"), 2, "/users/again");
  await daemon.commit();
  const stale = [
    windowKey(ruleId(template), ""),
    windowKey(ruleId(template), "gone"),
    windowKey(ruleId(plain), "child"),
    windowKey("user_path\n/gone\n60", ""),
    windowKey("user_path\n/gone\n60", "child"),
  ];
  const counting = [windowKey(ruleId(template), "again"), windowKey(ruleId(plain), "")];
  const all = [...stale, ...counting];
  const value = [0, 0, 1, 0, 1, 1];
  await daemon.store.commit(all.map((key) => ({ table: "windows", key, value })));
  await removeStaleWindows(daemon.state, all);
  t.same([...daemon.store.entries("windows")].map(({ key }) => key).sort(), counting.sort());
});

t.test("stale windows are removed in slices that are full, and what is left", async (t) => {
  for (const [count, slices] of [
    [0, []],
    [windowsPerSlice, [windowsPerSlice]],
    [2 * windowsPerSlice + 1, [windowsPerSlice, windowsPerSlice, 1]],
  ] as const) {
    const daemon = startDaemon([]);
    const keys = Array.from({ length: count }, (_, i) => windowKey(`user_path\n/r${i}\n60`, ""));
    await daemon.store.commit(
      keys.map((key) => ({ table: "windows", key, value: [0, 0, 1, 0, 1, 1] })),
    );
    const written = countWrites(daemon);
    await removeStaleWindows(daemon.state, keys);
    t.same(written, slices);
    t.equal([...daemon.store.entries("windows")].length, 0);
  }
});

t.test(
  "an expired denial is removed from memory and store, and the proxies learn of it",
  async (t) => {
    const daemon = startDaemon([]);
    const { state, store, nowMs } = daemon;
    const { received } = daemon.proxy("p1");
    const denial = (value: string, expiresAtMs: number | null) =>
      ({ claim: "sub", value, issuer: null, deniedAtMs: nowMs, expiresAtMs }) as const;
    const [over, later, ever] = [
      denial("over", nowMs + 1000),
      denial("later", nowMs + 1001),
      denial("ever", null),
    ];
    for (const each of [over, later, ever]) state.denials.put(each);
    await store.commit([over, later, ever].map(denialChange));
    await daemon.commit();
    const before = received.length;
    sweepDenials(state, nowMs + 999);
    t.equal(state.denials.size, 3);
    sweepDenials(state, nowMs + 1000);
    await daemon.commit();
    t.same([...state.denials.all()], [later, ever]);
    t.same(
      received.slice(before),
      [
        {
          kind: "event",
          name: "jwts_denied",
          value: { denied: [], allowed: [over], complete: false },
        },
      ],
      "once",
    );
    t.same([...store.entries("denials")].map(({ value }) => value[1]).sort(), ["ever", "later"]);
  },
);

t.test("a sweep of accounts that finds none to forget yields after each slice", async (t) => {
  for (const [accounts, slices] of [
    [0, 0],
    [1, 1],
    [windowsPerSlice, 1],
    [windowsPerSlice + 1, 2],
  ] as const) {
    const daemon = startDaemon([], { budgets: [budget("/users", 3600, 1, { perChild: true })] });
    const proxy = client(daemon);
    for (let i = 0; i < accounts; i++) spend(proxy, `/users/u${i}`, 1);
    await daemon.commit();
    let yields = 0;
    (daemon.state as { yieldToEventLoop: () => Promise<void> }).yieldToEventLoop = async () => {
      yields++;
    };
    await sweepSpends(daemon.state, () => daemon.nowMs);
    t.equal(yields, slices, `${accounts} accounts`);
  }
});
