/** The accounts of templates with many children, removed while others come back. */
import t from "tap";
import { removeSpends, spendKeys } from "../../../limiterd/budgets/remove-spends.js";
import { budgetChange } from "../../../limiterd/budgets/stored-budget.js";
import { windowsPerSlice } from "../../../shared/bounds.js";
import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import { startDaemon, type TestDaemon } from "../in-memory-daemon.js";
import {
  accountsIn,
  admin,
  budget,
  client,
  hour,
  noon,
  restarted,
  spend,
  spentBy,
  usd,
} from "./budget-fixture.js";

/** The last slice holds one account. */
const children = windowsPerSlice + 1;
const template = {
  subject: "/users",
  budget_key: { period: "daily" },
  amount: 100,
  per_child: true,
};
const key = { subject: "/users", budget_key: { period: "daily" } };

/** A store with a template whose children have spent a dollar each. */
const store = await (async () => {
  const daemon = startDaemon([], { nowMs: noon });
  const proxy = client(daemon);
  await admin(daemon, proxy, "budgets.put", template);
  for (let i = 0; i < children; i++) spend(proxy, `/users/u${i}`, usd);
  const flushed = daemon.flush();
  for (let turn = 0; turn < 20; turn++) await daemon.commit();
  await flushed;
  return daemon.store;
})();

/** A daemon on that store, and the sizes of its commits. */
function begin(budgets: readonly BudgetDefinition[] | null = null) {
  const disk = store.crash();
  const sizes: number[] = [];
  const { commit } = disk;
  disk.commit = (changes) => {
    sizes.push(changes.length);
    return commit.call(disk, changes);
  };
  const daemon = startDaemon([], { nowMs: noon, store: disk, budgets });
  return { daemon, proxy: { ...client(daemon), seq: children }, sizes };
}

t.test(
  "whatever is done to a template with many children, it is written in slices, and its sums are right before and after a crash",
  async (t) => {
    const operations: readonly (readonly [
      AdminOp,
      object,
      laterMs: number,
      left: number,
      spent: unknown,
    ])[] = [
      ["budgets.delete", key, 1, 0, undefined],
      ["budgets.put", { ...template, per_child: false }, 1, 1, children],
      ["budgets.reset-one", { subject: "/users", period: "daily" }, 1, children, 0],
      ["budgets.put-settings", { daily_reset_hour: 13 }, 1, children, 1],
      ["budgets.put-settings", { daily_reset_hour: 13 }, 2 * hour, 0, 0],
    ];
    for (const [op, body, laterMs, left, spent] of operations) {
      const { daemon, proxy, sizes } = begin();
      t.equal(accountsIn(daemon), children);
      daemon.nowMs += laterMs;
      await admin(daemon, proxy, op, body);
      t.equal(accountsIn(daemon), left, op);
      t.ok(Math.max(...sizes) <= windowsPerSlice, `${op}: ${sizes.join()}`);
      t.equal(spentBy(daemon, "/users/u7"), spent, op);
      t.equal(spentBy(await restarted(daemon), "/users/u7"), spent, `${op}, after a crash`);
    }
  },
);

t.test("accounts that are there again keep their entries, wherever a crash comes", async (t) => {
  const last = `/users/u${children - 1}`;
  const seen: string[] = [];
  for (let commits = 1; commits <= 9; commits++) {
    const { daemon, proxy } = begin();
    await daemon.commit();
    daemon.store.commitsLeft = commits;
    proxy.peer.send({ kind: "admin", id: ++proxy.id, op: "budgets.delete", body: key });
    proxy.peer.send({ kind: "admin", id: ++proxy.id, op: "budgets.put", body: template });
    spend(proxy, last, 2 * usd);
    spend(proxy, "/users/new", 4 * usd);
    for (let turn = 0; turn < 40; turn++) await daemon.commit();
    const after = await restarted(daemon);
    seen.push(["/users/u1", last, "/users/new"].map((path) => spentBy(after, path)).join());
  }
  // The daemon that died hadn't deleted the budget yet, or had, or had made it again.
  const order = ["1,1,0", ",,", "1,1,0", "1,3,4"];
  t.same(
    seen
      .filter((sums, i) => i === 0 || sums !== seen[i - 1])
      .filter((sums) => !order.includes(sums)),
    [],
  );
  t.equal(seen.at(-1), "1,3,4");
});

t.test("what is spent while former accounts go counts once, wherever a crash comes", async (t) => {
  const last = `/users/u${children - 1}`;
  for (let commits = 1; commits <= 14; commits++) {
    const { daemon, proxy } = begin();
    await daemon.commit();
    daemon.store.commitsLeft = commits;
    proxy.peer.send({ kind: "admin", id: ++proxy.id, op: "budgets.delete", body: key });
    proxy.peer.send({ kind: "admin", id: ++proxy.id, op: "budgets.put", body: template });
    for (let turn = 0; turn < 12; turn++) {
      const committed = daemon.commit();
      // Its batch is open when the next slice is made.
      spend(proxy, last, usd);
      await committed;
    }
    const after = await restarted(daemon);
    const settles = after.state.proxies.get("p", noon).settledSeq;
    if (after.state.budgets.budgets.size > 0)
      t.equal(spentBy(after, last), 1 + settles - children, `after ${commits} commits`);
  }
});

t.test("a start removes what a withdrawn budget had spent in slices", async (t) => {
  const { daemon, sizes } = begin();
  const [made] = daemon.state.budgets.sorted();
  await daemon.store.commit([budgetChange({ ...made!, source: "config" })]);
  const withdrawn = startDaemon([], { nowMs: noon, store: daemon.store, budgets: [] });
  for (let turn = 0; turn < 20; turn++) await withdrawn.commit();
  t.equal(accountsIn(withdrawn), 0);
  t.ok(Math.max(...sizes) <= windowsPerSlice, sizes.join());
});

t.test("the sweep leaves a budget that was made again alone", async (t) => {
  const { daemon, proxy } = begin();
  const { budgets } = daemon.state;
  budgets.forgetIdle(noon, 1);
  await admin(daemon, proxy, "budgets.delete", key);
  await admin(daemon, proxy, "budgets.put", template);
  t.same(budgets.forgetIdle(noon + 100 * hour, 5), [], "it goes on in the children of the first");
  t.equal(budgets.find(budget("/users", 86_400, 1))!.children.size, children);
});

t.test("what was charged before is on the disk before what builds on it", async (t) => {
  /** The tables of each commit from now on, after one request has been settled. */
  const commitsOf = async (
    run: (daemon: TestDaemon, proxy: ReturnType<typeof client>) => void,
  ): Promise<readonly ReadonlySet<string>[]> => {
    const daemon = startDaemon([], { nowMs: noon, budgets: [budget("/users", 86_400, 100)] });
    const proxy = client(daemon);
    await daemon.commit();
    const { store } = daemon;
    const { commit } = store;
    const commits: Set<string>[] = [];
    store.commit = (changes) => {
      commits.push(new Set(changes.map(({ table }) => table)));
      return commit.call(store, changes);
    };
    spend(proxy, "/users/a", usd);
    run(daemon, proxy);
    for (let turn = 0; turn < 20; turn++) await daemon.commit();
    return commits;
  };
  const own = { subject: "/users", budget_key: { period: "daily" } };
  const operation =
    (op: AdminOp, body: object) =>
    (_: TestDaemon, { peer }: ReturnType<typeof client>) =>
      void peer.send({ kind: "admin", id: 99, op, body });
  for (const [name, table, run] of [
    ["put", "budgets", operation("budgets.put", { ...own, amount: 7 })],
    ["delete", "budgets", operation("budgets.delete", own)],
    ["reset-one", "resets", operation("budgets.reset-one", own)],
    ["reset", "resets", operation("budgets.reset", { confirmation: "reset" })],
    ["put-settings", "settings", operation("budgets.put-settings", { daily_reset_hour: 3 })],
    [
      "an account that stays",
      "spends",
      ({ state }: TestDaemon) =>
        void removeSpends(
          state,
          [...state.budgets.budgets.values()].flatMap((of) => [...spendKeys(of)]),
        ),
    ],
  ] as const) {
    const commits = await commitsOf(run);
    const recorded = commits.findIndex((tables) => tables.has("usage"));
    const built = commits.findIndex((tables) => tables.has(table));
    t.ok(recorded !== -1 && built !== -1, `${name}: both are written`);
    t.ok(recorded <= built, `${name}: ${recorded}, not after ${built}`);
  }
});
