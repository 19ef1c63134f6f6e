/** Operations on very many budgets and accounts: when they are answered, and how written. */
import t from "tap";
import { limitsPerTurn, windowsPerSlice } from "../../../../shared/bounds.js";
import type { BudgetDefinition } from "../../../../shared/domain/budget.js";
import type { AdminOp } from "../../../../shared/wire/admin-op.js";
import type { MemoryStore } from "../../../support/memory-store.js";
import {
  accountsIn,
  admin,
  budget,
  client,
  listed,
  noon,
  restarted,
  spend,
  spentBy,
  usd,
} from "../../budgets/budget-fixture.js";
import { askFor, startDaemon } from "../../in-memory-daemon.js";

const template = {
  subject: "/users",
  budget_key: { period: "daily" },
  amount: 100,
  per_child: true,
};

/** How many changes each commit has held since. Each takes a turn of the event loop. */
function watched(store: MemoryStore): number[] {
  const sizes: number[] = [];
  const { commit } = store;
  store.commit = async (changes) => {
    sizes.push(changes.length);
    await commit.call(store, changes);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return sizes;
}

/** A store in which so many children have spent a dollar each today. */
async function spentStore(children: number, budgets: readonly BudgetDefinition[] = []) {
  const daemon = startDaemon([], { nowMs: noon, budgets });
  const proxy = client(daemon);
  for (let turn = 0; turn < 10; turn++) await daemon.commit();
  for (let i = 0; i < children; i++) spend(proxy, `/users/u${i}`, usd);
  const flushed = daemon.flush();
  for (let turn = 0; turn < 20; turn++) await daemon.commit();
  await flushed;
  return daemon.store;
}

t.test(
  "a template that is made is answered once what its children have spent counts; that is written behind the answer, and looked up again after a crash before",
  async (t) => {
    const children = 3 * windowsPerSlice;
    const daemon = startDaemon([], { nowMs: noon, store: (await spentStore(children)).crash() });
    const sizes = watched(daemon.store);
    t.same(await admin(daemon, client(daemon), "budgets.put", template), {});
    t.equal(spentBy(daemon, "/users/u7"), 1);
    t.ok(accountsIn(daemon) < children, "it isn't written yet");
    const crashed = await restarted(daemon);
    t.equal(spentBy(crashed, `/users/u${children - 1}`), 1);
    await daemon.state.accountsWritten;
    t.equal(accountsIn(daemon), children);
    t.equal(daemon.state.budgets.sorted()[0]!.isBackfilling, false);
    t.ok(Math.max(...sizes) <= windowsPerSlice, sizes.join());
  },
);

t.test(
  "an operation that makes accounts stale, or looks some up, is answered when those of the one before are written; others don't wait",
  async (t) => {
    const store = await spentStore(3 * windowsPerSlice);
    const table: readonly (readonly [AdminOp, object, waits: boolean])[] = [
      ["budgets.delete", { subject: "/users", budget_key: { period: "daily" } }, true],
      ["budgets.put", { ...template, per_child: false }, true],
      ["budgets.put", { ...template, subject: "/other" }, true],
      ["budgets.put", { ...template, amount: 7 }, false],
      ["budgets.reset-one", { subject: "/users", period: "daily" }, false],
      ["budgets.reset", { confirmation: "reset" }, false],
    ];
    for (const [op, body, waits] of table) {
      const daemon = startDaemon([], { nowMs: noon, store: store.crash() });
      const proxy = client(daemon);
      watched(daemon.store);
      await admin(daemon, proxy, "budgets.put", template);
      let isWritten = false;
      void daemon.state.accountsWritten.then(() => {
        isWritten = true;
      });
      t.match(await admin(daemon, proxy, op, body), {});
      t.equal(isWritten, waits, `${op} ${JSON.stringify(body)}`);
    }
  },
);

t.test(
  "what is done to very many budgets is written in slices, and right wherever a crash comes",
  async (t) => {
    const count = windowsPerSlice + 1;
    const budgets = Array.from({ length: count }, (_, i) => budget(`/users/u${i}`, 86_400, 100));
    const store = await spentStore(count, budgets);
    const operations: readonly (readonly [AdminOp, object, string])[] = [
      ["budgets.reset", { confirmation: "reset" }, "0"],
      ["budgets.put-settings", { daily_reset_hour: 11 }, "1"],
    ];
    for (const [op, body, after] of operations) {
      const whole = startDaemon([], { nowMs: noon, store: store.crash(), budgets: null });
      const sizes = watched(whole.store);
      whole.nowMs += 1;
      await admin(whole, client(whole), op, body);
      await whole.state.accountsWritten;
      t.ok(Math.max(...sizes) <= windowsPerSlice, `${op}: ${sizes.join()}`);
      t.ok(sizes.length < 20, `${op}: ${sizes.length} commits`);
      for (let commits = 0; commits <= sizes.length; commits += 3) {
        const daemon = startDaemon([], { nowMs: noon, store: store.crash(), budgets: null });
        const proxy = client(daemon);
        await daemon.commit();
        daemon.nowMs += 1;
        daemon.store.commitsLeft = commits;
        proxy.peer.send({ kind: "admin", id: ++proxy.id, op, body });
        for (let turn = 0; turn < 25; turn++) await daemon.commit();
        const found = await restarted(daemon);
        const sums = new Set(
          [0, windowsPerSlice / 2, count - 1].map((i) => String(spentBy(found, `/users/u${i}`))),
        );
        const isDone = proxy.peer.received.some(({ kind }) => kind === "answer");
        t.same(
          [...sums].filter((sum) => sum !== after && (isDone || sum !== "1")),
          [],
        );
      }
    }
  },
);

t.test("a change of anchors leaves the budgets alone whose period stays as it is", async (t) => {
  const day = budget("/users", 86_400, 100);
  const week = budget("/users", 604_800, 100);
  const daemon = startDaemon([], { nowMs: noon, store: await spentStore(1), budgets: [day, week] });
  for (let turn = 0; turn < 20; turn++) await daemon.commit();
  const { budgets } = daemon.state;
  const generations = (): unknown[] => [day, week].map((key) => budgets.find(key)!.generation);
  const before = generations();
  await admin(daemon, client(daemon), "budgets.put-settings", { weekly_reset_hour: 3 });
  t.same(generations(), [before[0], Number(before[1]) + 1]);
  const started = budgets.boundsOf(budgets.find(day)!, daemon.nowMs).startMs;
  daemon.nowMs += 86_400_000;
  await admin(daemon, client(daemon, "q"), "budgets.put-settings", { monthly_reset_hour: 3 });
  t.equal(budgets.find(day)!.bounds.startMs, started + 86_400_000, "those of yesterday are gone");
});

t.test("a period that ends as before, but began at another moment, is another one", async (t) => {
  const monthly = budget("/users", 2_592_000, 100);
  const nowMs = Date.parse("2026-02-10T00:00:00Z");
  const daemon = startDaemon([], { nowMs, budgets: [monthly] });
  const proxy = client(daemon);
  const { budgets } = daemon.state;
  const { generation } = budgets.find(monthly)!;
  for (const [day, times] of [
    [31, 1],
    [30, 2],
    [30, 2],
  ] as const) {
    await admin(daemon, proxy, "budgets.put-settings", { monthly_reset_day: day });
    t.equal(budgets.find(monthly)!.generation, generation + times, `on the ${day}th`);
  }
  const { startMs, endMs } = budgets.boundsOf(budgets.find(monthly)!, nowMs);
  t.equal(startMs, Date.parse("2026-01-30T00:00:00Z"));
  t.equal(endMs, Date.parse("2026-02-28T00:00:00Z"));
});

t.test("requests are judged while thousands of budgets are reset", async (t) => {
  const budgets = Array.from({ length: 3 * limitsPerTurn }, (_, i) => budget(`/t${i}`, 86_400, 5));
  const daemon = startDaemon([], { nowMs: noon, budgets });
  const peer = daemon.proxy("p1");
  for (let i = 0; i < 20; i++) await daemon.commit();
  const { yieldToEventLoop } = daemon.state;
  const admitted: boolean[] = [];
  Object.assign(daemon.state, {
    yieldToEventLoop: async () => {
      await yieldToEventLoop();
      daemon.nowMs += 5;
      admitted.push(askFor(peer, 1000 + admitted.length, "/t7") !== null);
    },
  });
  t.same(await admin(daemon, client(daemon, "q"), "budgets.reset", { confirmation: "reset" }), {});
  t.strictSame(admitted, [true, true], "one between each two turns");
  for (const store of [daemon.store, daemon.store.crash()])
    t.equal([...store.entries("resets")].length, budgets.length, "all of them are on the disk");
  const moments = [...daemon.state.budgets.budgets.values()].map(({ resetAtMs }) => resetAtMs);
  t.same(
    [0, 1, 2].map((turn) => new Set(moments.slice(turn * limitsPerTurn).slice(0, limitsPerTurn))),
    [new Set([noon]), new Set([noon + 5]), new Set([noon + 10])],
    "each at its turn: what is spent before it isn't of the new period, and all after it is",
  );
});

t.test("an edited amount leaves what a budget says of models without a price", async (t) => {
  const daemon = startDaemon([], { nowMs: noon });
  const asking = client(daemon);
  const team = { subject: "/team", budget_key: { period: "daily" } };
  const put = async (body: object): Promise<unknown> => {
    await admin(daemon, asking, "budgets.put", { ...team, amount: 1, ...body });
    const [item] = await listed(daemon, asking);
    return (item as { readonly unpriced?: unknown }).unpriced;
  };
  t.equal(await put({ unpriced: "refuse" }), "refuse");
  t.equal(await put({ amount: 2 }), "refuse");
  const weekly = { budget_key: { period: "weekly" } };
  t.equal(await put({ ...weekly, replaces: team }), "refuse", "also if its key changes");
  t.equal(await put({ ...weekly, unpriced: "allow" }), "allow");
  t.equal(await put({ ...weekly, unpriced: null }), undefined, "null leaves it to the settings");
});
