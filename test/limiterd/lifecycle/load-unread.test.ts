import t from "tap";
import { spendKey } from "../../../limiterd/budgets/stored-budget.js";
import { windowKey } from "../../../limiterd/counters/window.js";
import {
  loadAccounts,
  loadRules,
  loadWindows,
  readSlices,
} from "../../../limiterd/lifecycle/load-unread.js";
import { StoreUnreadableError } from "../../../limiterd/store/store.js";
import { ruleId } from "../../../shared/domain/rule.js";
import { createMemoryStore } from "../../support/memory-store.js";
import { budget, client, hour, noon, spend, usd } from "../budgets/budget-fixture.js";
import { askFor, pathRule, startDaemon, type TestDaemon } from "../in-memory-daemon.js";

const template = { ...pathRule("/users", 60, { requests: 9 }), perChild: true };

/** After a restart, with the windows of five children and one of a rule that is gone. */
async function restarted(): Promise<TestDaemon> {
  const before = startDaemon([template, pathRule("/gone", 60, { requests: 9 })]);
  const peer = before.proxy("p");
  for (let i = 0; i < 5; i++) askFor(peer, i + 2, `/users/${i}`);
  askFor(peer, 9, "/gone");
  await before.snapshot();
  const store = before.store.crash();
  await store.commit([{ table: "rules", key: "user_path\n/gone\n60", value: undefined }]);
  return startDaemon([template], { store, loads: false });
}

t.test("all windows are loaded, some per turn, and the stale ones are reported", async (t) => {
  const daemon = await restarted();
  const { book } = daemon.state;
  const seen: number[] = [];
  (daemon.state as { yieldToEventLoop: () => Promise<void> }).yieldToEventLoop = async () => {
    seen.push(book.childCount);
    // Requests go on meanwhile.
    if (seen.length === 2) askFor(daemon.proxy("p"), 2, "/users/4");
  };
  t.same(await loadWindows(daemon.state, 2), [windowKey("user_path\n/gone\n60", "")]);
  t.same(seen, [0, 1, 4, 5]);
  t.equal(book.unread, null);
  t.equal(book.find(template)!.children.copy("4")!.window.currentRequests, 2);
});

t.test("a daemon that stops reads no further, and doesn't take the rest for nothing", async (t) => {
  const daemon = await restarted();
  daemon.state.isStopping = true;
  t.same(await loadWindows(daemon.state, 2), []);
  t.not(daemon.state.book.unread, null);
});

t.test("a damaged window is an error, met by need or in its turn", async (t) => {
  const daemon = await restarted();
  const key = windowKey(ruleId(template), "3");
  await daemon.store.commit([{ table: "windows", key, value: ["damaged"] }]);
  t.throws(() => askFor(daemon.proxy("p"), 2, "/users/3"), StoreUnreadableError);
  await t.rejects(loadWindows(daemon.state, 500), StoreUnreadableError);
});

const hourly = budget("/team", 3600, 1, { perChild: true });

/** After a restart, with the accounts of five children and one of a budget that is gone. */
async function withAccounts(): Promise<TestDaemon> {
  const before = startDaemon([], { nowMs: noon, budgets: [hourly, budget("/", 3600, 9)] });
  before.nowMs += 5 * hour;
  const proxy = client(before);
  for (let i = 0; i < 5; i++) spend(proxy, `/team/${i}`, 0.1 * usd);
  await before.commit();
  await before.flush();
  const store = before.store.crash();
  return startDaemon([], { nowMs: before.nowMs, budgets: [hourly], store, loads: false });
}

t.test("all accounts are loaded, some per turn, and the stale ones are reported", async (t) => {
  const daemon = await withAccounts();
  const { budgets } = daemon.state;
  const { children } = budgets.find(hourly)!;
  const seen: number[] = [];
  (daemon.state as { yieldToEventLoop: () => Promise<void> }).yieldToEventLoop = async () => {
    seen.push(children.size);
    // Behind those of its earlier life.
    if (seen.length === 2) spend({ ...client(daemon), seq: 9 }, "/team/4", 0.1 * usd);
  };
  t.same(await loadAccounts(daemon.state, 2), [spendKey("user_path\n/\n3600", "")]);
  t.same(seen, [0, 1, 4, 5]);
  t.equal(budgets.find(hourly)!.loadSpend, null);
  t.equal(daemon.state.accountsLoading, false);
  t.equal(children.get("4")!.spends[0]!.spent.microUsd, 200_000);
});

t.test("a daemon that stops reads no further account", async (t) => {
  const daemon = await withAccounts();
  daemon.state.isStopping = true;
  t.same(await loadAccounts(daemon.state, 2), []);
  t.equal(daemon.state.accountsLoading, true);
  t.not(
    daemon.state.budgets.find(hourly)!.loadSpend,
    null,
    "what is left in the store still counts",
  );
});

t.test("a damaged account is an error, met by need or in its turn", async (t) => {
  const daemon = await withAccounts();
  const key = spendKey("user_path\n/team\n3600", "3");
  await daemon.store.commit([{ table: "spends", key, value: ["damaged"] }]);
  t.throws(() => spend({ ...client(daemon), seq: 9 }, "/team/3", 1), StoreUnreadableError);
  await t.rejects(loadAccounts(daemon.state), StoreUnreadableError);
});

t.test("rules are taken into memory some in a turn, others have theirs before each", async (t) => {
  const rules = Array.from({ length: 5 }, (_, i) => pathRule(`/r${i}`, 60, { requests: 9 }));
  const store = startDaemon(rules).store.crash();
  const daemon = startDaemon(rules, { store, loads: false });
  const { ruleSet } = daemon.state.book;
  const read: number[] = [];
  let taken = 0;
  const { take } = ruleSet;
  ruleSet.take = (entry) => {
    taken++;
    take.call(ruleSet, entry);
  };
  (daemon.state as { yieldToEventLoop: () => Promise<void> }).yieldToEventLoop = async () =>
    void read.push(taken);
  await loadRules(daemon.state, 2);
  t.same(read, [0, 2, 4]);
  t.ok(ruleSet.isRead);
});

t.test("a daemon that stops reads no further rule, and knows that there are others", async (t) => {
  const rules = Array.from({ length: 5 }, (_, i) => pathRule(`/r${i}`, 60, { requests: 9 }));
  const store = startDaemon(rules).store.crash();
  const { state } = startDaemon(rules, { store, loads: false });
  let turns = 0;
  (state as { yieldToEventLoop: () => Promise<void> }).yieldToEventLoop = async () => {
    state.isStopping = ++turns > 1;
  };
  await loadRules(state, 2);
  const { ruleSet } = state.book;
  t.same([ruleSet.isRead, ruleSet.inMemory.size, ruleSet.size], [false, 2, 5]);
});

t.test(
  "every entry is handed out once, whatever the slices and what comes meanwhile",
  async (t) => {
    const keys = ["", "\u0000", "a", "a\u0000", "a\nb", "a\u{1f600}", "é"];
    for (let perSlice = 1; perSlice <= keys.length + 1; perSlice++) {
      const store = createMemoryStore();
      await store.commit(keys.map((key) => ({ table: "windows", key, value: [key] })));
      const read: unknown[] = [];
      let turns = 0;
      const next = async (): Promise<boolean> => {
        turns++;
        if (turns === 2) await store.commit([{ table: "windows", key: "", value: ["late"] }]);
        return true;
      };
      const done = await readSlices(store, "windows", { perSlice, next }, ({ key }) => {
        read.push(key);
      });
      t.equal(done, true);
      t.same(read.sort(), [...keys].sort());
      t.equal(turns, Math.floor(keys.length / perSlice) + 1);
    }
    const none = { perSlice: 5, next: async () => false };
    t.equal(await readSlices(createMemoryStore(), "windows", none, () => {}), false);
  },
);
