/** What the daemon removes by the clock, seen in its memory and in its store. */
import t from "tap";
import { sweepChildren } from "../../../limiterd/lifecycle/sweep.js";
import { budgetStatuses } from "../../../limiterd/lists/list-budgets.js";
import { journalBytesMax, windowsPerSlice } from "../../../shared/bounds.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import { dayMs } from "../../../shared/time.js";
import { budget, client, hour, noon, spend, spentOf, usd } from "../budgets/budget-fixture.js";
import { wind } from "../clockwork.js";
import { childNames } from "../counters/child-names.js";
import { askFor, pathRule, settleOf, startDaemon, type TestDaemon } from "../in-memory-daemon.js";

const tick = 1000;
const flush = 10_000;
const template: RuleDefinition = { ...pathRule("/users", 60, { requests: 5 }), perChild: true };
const hourly = budget("/users", 3600, 100, { perChild: true });

const keysIn = ({ store }: TestDaemon, table: "spends" | "spendlog" | "journal" | "windows") =>
  [...store.entries(table)].map(({ key }) => key);

async function turns(daemon: TestDaemon, count = 6): Promise<void> {
  for (let turn = 0; turn < count; turn++) await daemon.commit();
}

const spentOn = (daemon: TestDaemon, path: string): unknown[] =>
  spentOf(budgetStatuses(daemon.state, { userPath: path }, [], daemon.nowMs)).map(
    (row) => (row as unknown[])[2],
  );

t.test(
  "a child's account is forgotten when the two periods after its last are over, in memory and in the store, and not before",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noon + 1000, budgets: [hourly] });
    const { ring } = wind(daemon, 0);
    const proxy = client(daemon);
    spend(proxy, "/users/a", usd);
    daemon.nowMs += hour;
    spend(proxy, "/users/b", 2 * usd);
    await turns(daemon);
    ring(flush);
    await turns(daemon);
    const children = (): string[] => [...daemon.state.budgets.find(hourly)!.children.keys()];
    const stored = (): string[] =>
      keysIn(daemon, "spends").map((key) => String(key).split("\n").at(-1)!);
    for (const [atMs, left] of [
      [noon + hour + 1000, ["a", "b"]],
      [noon + 2 * hour - 1, ["a", "b"]],
      [noon + 2 * hour, ["b"]],
      [noon + 3 * hour - 1, ["b"]],
      [noon + 3 * hour, []],
    ] as const) {
      daemon.nowMs = atMs;
      // Two ticks: one finds the end of the children, the next begins anew.
      for (let i = 0; i < 2; i++) {
        ring(tick);
        await turns(daemon);
      }
      t.same([children(), stored()], [left, left], new Date(atMs).toISOString());
    }
    daemon.nowMs = noon + 2000;
    t.same(
      spentOn(daemon, "/users/a"),
      [0],
      "a clock that steps back looks it up: not on a whole day",
    );
  },
);

t.test("the account of a running period stays when others are forgotten", async (t) => {
  const daemon = startDaemon([], {
    nowMs: noon,
    budgets: [budget("/users", 86_400, 1, { perChild: true })],
  });
  const { ring } = wind(daemon, 0);
  const proxy = client(daemon);
  for (let i = 0; i < 2 * windowsPerSlice; i++) spend(proxy, `/users/u${i}`, usd);
  await turns(daemon);
  ring(flush);
  await turns(daemon);
  for (let i = 0; i < 4; i++) {
    ring(tick);
    await turns(daemon);
  }
  t.equal(keysIn(daemon, "spends").length, 2 * windowsPerSlice);
  t.equal(askFor(proxy.peer, ++proxy.id, "/users/u0"), null, "it has spent its dollar");
  t.equal(askFor(proxy.peer, ++proxy.id, `/users/u${2 * windowsPerSlice - 1}`), null);
});

t.test(
  "a tick examines accounts in slices, as many as one has to free room in a minute",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noon, budgets: [hourly] });
    const { ring } = wind(daemon, 0);
    const proxy = client(daemon);
    for (let i = 0; i < 2 * windowsPerSlice + 1; i++) spend(proxy, `/users/u${i}`, 1);
    await turns(daemon);
    const size = (): number => daemon.state.budgets.find(hourly)!.children.size;
    daemon.nowMs += 3 * hour;
    ring(tick);
    t.ok(size() > windowsPerSlice, "not all in one turn");
    await turns(daemon);
    t.equal(size(), 0);
  },
);

t.test("idle children of rules go with the tick, in memory and in the store", async (t) => {
  const daemon = startDaemon([template]);
  const { ring } = wind(daemon, 250);
  const peer = daemon.proxy("p");
  peer.send(settleOf(askFor(peer, 2, "/users/a")!, 1, 1));
  ring(250);
  await turns(daemon);
  t.equal(keysIn(daemon, "windows").length, 1);
  daemon.nowMs += 10 * 60_000;
  for (let i = 0; i < 2; i++) {
    ring(tick);
    await turns(daemon, 20);
  }
  t.same(childNames(daemon.state.book.find(template)!.children), []);
  t.same(keysIn(daemon, "windows"), []);
});

t.test(
  "a child whose window is ahead of a clock that stepped back keeps its counts, and is idle two periods later",
  async (t) => {
    const daemon = startDaemon([template], { nowMs: noon + 365 * dayMs });
    const { ring } = wind(daemon, 250);
    const peer = daemon.proxy("p");
    peer.send(settleOf(askFor(peer, 2, "/users/a")!, 1, 1));
    const left = async (nowMs: number): Promise<unknown> => {
      daemon.nowMs = nowMs;
      for (let i = 0; i < 2; i++) {
        ring(250);
        ring(tick);
        await turns(daemon, 20);
      }
      return [
        childNames(daemon.state.book.find(template)!.children),
        keysIn(daemon, "windows").length,
      ];
    };
    t.same(await left(noon + 1000), [["a"], 1]);
    const again = startDaemon([template], { nowMs: noon + 1000, store: daemon.store.crash() });
    t.equal(
      again.state.book.childOf(again.state.book.find(template)!, "a", noon).window.currentRequests,
      1,
    );
    t.same(await left(noon + 119_999), [["a"], 1]);
    t.same(await left(noon + 120_000), [[], 0]);
  },
);

t.test(
  "a sweep yields after each slice, whether there was something to forget or not",
  async (t) => {
    const daemon = startDaemon([template]);
    const peer = daemon.proxy("p");
    for (let i = 1; i <= 3 * windowsPerSlice; i++)
      peer.send(settleOf(askFor(peer, i + 1, `/users/u${i}`)!, i, 1));
    let pauses = 0;
    const pause = (): Promise<void> => {
      pauses++;
      return Promise.resolve();
    };
    await daemon.snapshot();
    const sizes = new Set<number>();
    const { writer, book } = daemon.state;
    const write = writer.write.bind(writer);
    writer.write = (changes) => {
      sizes.add(changes.length);
      return write(changes);
    };
    await sweepChildren(daemon.state, () => daemon.nowMs, pause);
    t.equal(pauses, 20_000 / windowsPerSlice, "20,000 are examined, a slice at a time");
    daemon.nowMs += 10 * 60_000;
    pauses = 0;
    await sweepChildren(daemon.state, () => daemon.nowMs, pause);
    t.equal(book.childCount, 0);
    t.ok(Math.max(...sizes) <= windowsPerSlice, `slices of ${[...sizes].join(", ")}`);
    t.ok(pauses >= 20_000 / windowsPerSlice - 4);
    pauses = 0;
    await sweepChildren(daemon.state, () => daemon.nowMs, pause);
    t.equal(pauses, 0, "without children there is nothing to do");
  },
);

t.test("one sweep runs at a time, and stale windows go first", async (t) => {
  const before = startDaemon([pathRule("/a", 60, { requests: 5 })]);
  askFor(before.proxy("p"), 2, "/a");
  await before.snapshot();
  const daemon = startDaemon([template], { store: before.store.crash(), loads: false });
  const { ring } = wind(daemon, 0);
  const peer = daemon.proxy("p");
  askFor(peer, 2, "/users/a");
  let paused = 0;
  (daemon.state as { yieldToEventLoop: () => Promise<void> }).yieldToEventLoop = () => {
    paused++;
    return new Promise(() => {});
  };
  await turns(daemon);
  t.same(keysIn(daemon, "windows"), []);
  ring(tick);
  ring(tick);
  await turns(daemon);
  t.equal(paused, 1, "the second didn't begin while the first waits");
});

t.test(
  "a journal that has grown too large is covered by a snapshot, whatever the interval",
  async (t) => {
    const daemon = startDaemon([pathRule("/a", 60, { requests: 1e9 })]);
    const { ring } = wind(daemon, 0);
    const peer = daemon.proxy("p");
    peer.send(settleOf(askFor(peer, 2, "/a")!, 1, 1));
    await turns(daemon);
    ring(tick);
    await turns(daemon);
    t.equal(keysIn(daemon, "journal").length, 1, "a small one stays");
    Object.defineProperty(daemon.state.writer, "journalBytes", {
      value: journalBytesMax,
      configurable: true,
    });
    ring(tick);
    await turns(daemon);
    t.equal(keysIn(daemon, "journal").length, 1, "one at the bound too");
    Object.defineProperty(daemon.state.writer, "journalBytes", { value: journalBytesMax + 1 });
    ring(tick);
    await turns(daemon);
    t.same(keysIn(daemon, "journal"), []);
  },
);

t.test("old records are trimmed by the clock, but not while the store fails", async (t) => {
  const daemon = startDaemon([], { nowMs: noon });
  const { ring } = wind(daemon, 0);
  const proxy = client(daemon);
  spend(proxy, "/a", usd);
  await turns(daemon);
  ring(flush);
  await turns(daemon);
  const records = (): number => [...daemon.store.entries("usage")].length;
  daemon.nowMs += 402 * dayMs;
  daemon.store.broken = true;
  void daemon.state.writer.write([{ table: "settings", key: "x", value: [1] }]);
  await turns(daemon, 1);
  ring(tick);
  t.ok(daemon.state.writer.failing !== null);
  daemon.store.broken = false;
  await turns(daemon);
  t.equal(records(), 1, "nothing was queued for it");
  ring(tick);
  await turns(daemon);
  t.equal(records(), 0);
});

t.test("the log of spends is removed once the accounts' own entries cover it", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets: [budget("/", 86_400, 100)] });
  const { ring } = wind(daemon, 0);
  const proxy = client(daemon);
  for (let i = 0; i < 3; i++) {
    spend(proxy, "/a", usd);
    await turns(daemon);
  }
  t.equal(keysIn(daemon, "spendlog").length, 3);
  ring(flush);
  await turns(daemon);
  t.same(keysIn(daemon, "spendlog"), []);
  spend(proxy, "/a", usd);
  await turns(daemon);
  const after = startDaemon([], {
    nowMs: noon,
    store: daemon.store.crash(),
    budgets: [budget("/", 86_400, 100)],
  });
  t.same(spentOn(after, "/"), [4]);
  await after.flush();
  t.same(keysIn(after, "spendlog"), [], "what an earlier epoch left too");
});

t.test("a store that is gone is noticed at rest, by a commit of nothing", async (t) => {
  const daemon = startDaemon([]);
  const { ring } = wind(daemon, 0);
  for (let turn = 0; turn < 5; turn++) await daemon.commit();
  let commits = 0;
  const { commit } = daemon.store;
  let isInPlace = true;
  Object.assign(daemon.store, {
    isInPlace: () => isInPlace,
    commit(changes: Parameters<typeof commit>[0]) {
      commits++;
      return commit.call(daemon.store, changes);
    },
  });
  ring(1000);
  for (let turn = 0; turn < 3; turn++) await daemon.commit();
  t.equal(commits, 0);
  isInPlace = false;
  ring(1000);
  t.equal(commits, 1);
});
