/**
 * Accounts that lie in the store after a start: read when they are needed, never charged from zero.
 */
import t from "tap";
import { freshAccount } from "../../../limiterd/budgets/budget-account.js";
import { loadAccount } from "../../../limiterd/lifecycle/load-unread.js";
import { sweepSpends } from "../../../limiterd/lifecycle/sweep.js";
import { budgetStatuses } from "../../../limiterd/lists/list-budgets.js";
import {
  admin,
  ask,
  budget,
  client,
  hour,
  noon,
  spend,
  spentOf,
  usd,
} from "../budgets/budget-fixture.js";
import { startDaemon, type TestDaemon } from "../in-memory-daemon.js";

const hourly = budget("/team", 3600, 1, { perChild: true });
const all = budget("/", 3600, 100);

/**
 * After a restart: `/team/a` has spent 0.6 dollars in the store, `/team/b` 0.2, and some in the
 * log.
 */
async function restarted(logged = false, budgets = [hourly, all]): Promise<TestDaemon> {
  const before = startDaemon([], { nowMs: noon, budgets: [hourly, all] });
  before.nowMs += 5 * hour;
  const proxy = client(before);
  spend(proxy, "/team/a", 0.6 * usd);
  spend(proxy, "/team/b", 0.2 * usd);
  await before.commit();
  await before.flush();
  if (logged) spend(proxy, "/team/a", 0.1 * usd);
  await before.commit();
  return startDaemon([], {
    nowMs: before.nowMs,
    budgets,
    store: before.store.crash(),
    loads: false,
  });
}

const childrenOf = ({ state }: TestDaemon) => state.budgets.find(hourly)!.children;
const statuses = ({ state, nowMs }: TestDaemon, path: string): unknown[] =>
  spentOf(budgetStatuses(state, { userPath: path }, [], nowMs));

t.test("an account is read when a request, a look or a charge first meets it", async (t) => {
  for (const logged of [false, true]) {
    const daemon = await restarted(logged);
    t.same([...childrenOf(daemon).keys()], logged ? ["a"] : [], "but for those of the log");
    // Its numbers are behind those of its earlier life.
    const proxy = { ...client(daemon), seq: 9 };
    t.equal(ask(proxy, "/team/a"), "admitted");
    t.same(statuses(daemon, "/team/a"), [
      ["/", "hourly", logged ? 0.9 : 0.8],
      ["/team/a", "hourly", logged ? 0.7 : 0.6],
    ]);
    spend(proxy, "/team/a", 0.4 * usd);
    t.match(ask(proxy, "/team/a"), logged ? /1\.1 of 1/ : /1 of 1/);
    spend(proxy, "/team/new", 0.1 * usd);
    t.same([...childrenOf(daemon).keys()], ["a", "new"], "the other one lies in the store");
    t.same(statuses(daemon, "/team/b"), [
      ["/", "hourly", logged ? 1.4 : 1.3],
      ["/team/b", "hourly", 0.2],
    ]);
  }
});

t.test("accounts in the store from before a reset don't count", async (t) => {
  const daemon = await restarted(true);
  const proxy = client(daemon);
  await admin(daemon, proxy, "budgets.reset", { confirmation: "reset" });
  t.same(statuses(daemon, "/team/b"), [
    ["/", "hourly", 0],
    ["/team/b", "hourly", 0],
  ]);
  t.same(statuses(daemon, "/team/a")[1], ["/team/a", "hourly", 0]);
});

t.test("an account that is loaded late changes none that counts already", async (t) => {
  const daemon = await restarted();
  const { budgets, store } = daemon.state;
  spend({ ...client(daemon), seq: 9 }, "/team/a", 0.1 * usd);
  const id = budgets.find(hourly)!.id;
  const stored = budgets.find(hourly)!.loadSpend!("a")!;
  t.equal(loadAccount(budgets, `${id}\na`, stored), true);
  t.same(statuses(daemon, "/team/a")[1], ["/team/a", "hourly", 0.7]);
  t.equal(loadAccount(budgets, `${id}\nc`, stored), true);
  t.same(statuses(daemon, "/team/c")[1], ["/team/c", "hourly", 0.6]);
  t.equal(loadAccount(budgets, "user_path\n/gone\n3600\na", stored), false, "no such budget");
  t.equal(loadAccount(budgets, `${id}\n`, stored), false, "the own account of a template");
  t.equal([...store.entries("spends")].length, 3);
});

t.test("for a recreated budget nothing in the store counts", async (t) => {
  const plain = { ...hourly, perChild: false };
  const daemon = await restarted(false, [plain, all]);
  t.equal(daemon.state.budgets.find(plain)!.loadSpend, null);
  const again = daemon.store.crash();
  const back = startDaemon([], {
    nowMs: daemon.nowMs,
    budgets: [hourly],
    store: again,
    loads: false,
  });
  const { budgets } = back.state;
  const stored = { recordKey: 1, spends: [] };
  t.equal(loadAccount(budgets, `${budgets.find(hourly)!.id}\nb`, stored), false);
});

t.test("while accounts are read none is forgotten, and no budget made or cleared", async (t) => {
  const daemon = await restarted();
  const { state } = daemon;
  const proxy = client(daemon);
  t.equal(state.accountsLoading, true);
  t.equal(ask(proxy, "/team/a"), "admitted");
  freshAccount(childrenOf(daemon).get("a")!);
  void sweepSpends(state, () => daemon.nowMs + 99 * hour);
  t.equal(childrenOf(daemon).size, 1);
  const key = { user_path: "/team", period: "hourly" };
  for (const [op, body] of [
    ["budgets.put", { ...key, amount: 5 }],
    ["budgets.delete", key],
    ["budgets.put-settings", { daily_reset_hour: 1 }],
  ] as const)
    t.match(await admin(daemon, proxy, op, body), { status: 503, message: /is loading/ }, op);
  state.accountsLoading = false;
  void sweepSpends(state, () => daemon.nowMs + 99 * hour);
  t.equal(childrenOf(daemon).size, 0);
});
