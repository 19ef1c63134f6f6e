import t from "tap";
import type { StoreReport } from "../../../limiterd/maintenance/store-report.js";
import { verifyStore } from "../../../limiterd/maintenance/verify-store.js";
import type { Change, Table } from "../../../limiterd/store/store.js";
import type { MemoryStore } from "../../support/memory-store.js";
import {
  ask,
  askFor,
  executed,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
} from "../in-memory-daemon.js";
import { reconciliation } from "../usage/reconciliation.js";

const dayMs = 86_400_000;

function verified(daemon: { store: MemoryStore; nowMs: number }): StoreReport {
  return verifyStore(daemon.store, {
    schema: 1,
    entries: 0,
    nowMs: daemon.nowMs,
    onProgress: () => {},
  });
}

/** A daemon with records of three days, budgets, keys' absence, and all of it written. */
async function usedDaemon(): Promise<TestDaemon> {
  const daemon = startDaemon([pathRule("/team", 60, { requests: 1000, tokens: 1_000_000 })], {
    budgets: [
      { scope: "user_path", subject: "/", periodSeconds: 86_400, amountUsd: 1e6, perChild: false },
    ],
  });
  const proxy = daemon.proxy("p");
  for (let n = 1; n <= 30; n++) {
    const lease = askFor(proxy, n, `/team/${n % 4}`)!;
    proxy.send({
      ...settleOf(lease, n, 30, { ended: (n % 3) * 1000 }),
      record: executed({ cacheHit: n % 7 === 0 }),
    });
    if (n % 3 === 0) await daemon.commit();
    if (n % 10 === 0) daemon.nowMs += dayMs;
  }
  await daemon.commit();
  await daemon.snapshot();
  const flushed = daemon.flush();
  await daemon.commit();
  await flushed;
  return daemon;
}

t.test("a store is whole at every moment, and its report says what is in it", async (t) => {
  const daemon = startDaemon([pathRule("/team", 60, { requests: 1000 })]);
  t.match(verified(daemon), {
    problems: { length: 0 },
    records: 0,
    firstRecordMs: null,
    daysCompared: 0,
  });
  const used = await usedDaemon();
  t.match(verified(used), {
    problems: { length: 0 },
    schema: 1,
    rules: 1,
    budgets: 1,
    keys: 0,
    records: 30,
    daysCompared: 4,
    firstRecordMs: used.nowMs - 3 * dayMs - 2000,
  });
  const proxy = used.proxy("q");
  for (let n = 1; n <= 9; n++) {
    proxy.send({ ...settleOf(askFor(proxy, n, "/team")!, n, 30), record: executed() });
    if (n % 3 === 0) await used.commit();
    t.same(verified(used).problems, [], "records that no sum holds yet");
  }
});

t.test("a store with a raise, its audit and a comparison with a bill is whole", async (t) => {
  const daemon = startDaemon([pathRule("/team", 60, { requests: 1000 })]);
  const rule = { scope: "user_path", subject: "/team", limit_key: { period: "minute" } };
  const raise = { for_seconds: 7200, reason: "a launch", by: "Ann" };
  await ask(daemon, "rate-limits.raise", { ...rule, max_requests: 2000, ...raise });
  await ask(daemon, "reconciliations.keep", reconciliation({ gap_percent: 5 }));
  for (const table of ["settings", "audit", "reconciliations"] as const)
    t.not([...daemon.store.entries(table)].length, 0, table);
  t.same(verified(daemon).problems, []);
});

t.test("what is damaged is named", async (t) => {
  const { store, nowMs } = await usedDaemon();
  const first = (table: Table): { key: string | number; value: readonly unknown[] } =>
    [...store.entries(table)][0]!;
  const day = first("days");
  const table: readonly (readonly [what: string, change: Change, problem: RegExp])[] = [
    ["a window", { table: "windows", key: "w", value: ["x"] }, /entry "w" of windows is not what/],
    ["a rule", { table: "rules", key: "r", value: [1] }, /the entry "r" of rules is not what/],
    ["a key", { table: "keys", key: 1, value: [1] }, /the entry 1 of keys is not what/],
    ["a journal", { table: "journal", key: 5, value: [1] }, /the entry 5 of journal is not what/],
    ["a proxy", { table: "proxies", key: "p", value: [] }, /the entry "p" of proxies is not what/],
    ["a hold", { table: "holds", key: "p 1", value: [] }, /the entry "p 1" of holds is not what/],
    ["a budget", { table: "budgets", key: "b", value: [] }, /the entry "b" of budgets is not what/],
    ["an account", { table: "spends", key: "s", value: [] }, /the entry "s" of spends is not what/],
    ["an owner", { table: "objects", key: "o", value: [] }, /the entry "o" of objects is not what/],
    ["a JWT", { table: "denials", key: "d", value: [] }, /the entry "d" of denials is not what/],
    ["an audit", { table: "audit", key: 1, value: [0] }, /the entry 1 of audit is not what/],
    [
      "a comparison with a bill",
      { table: "reconciliations", key: 1, value: [0, "{}"] },
      /the entry 1 of reconciliations is not what/,
    ],
    [
      "a raise",
      { table: "settings", key: "rule_raises\nr", value: [1] },
      /the entry "rule_raises\\nr" of settings is not what/,
    ],
    ["records", { table: "usage", key: 2, value: [1, [2]] }, /the entry 2 of usage is not what/],
    [
      "the index of days",
      { table: "days", key: day.key, value: [1, 2] },
      /the index of days doesn't lead to the records 1: they ended on 2025-12-31/,
    ],
    [
      "no index of the first days",
      { table: "days", key: day.key, value: undefined },
      /the index of days doesn't lead to the records 1/,
    ],
  ];
  for (const [what, change, problem] of table) {
    const damaged = store.crash();
    await damaged.commit([change]);
    const { problems } = verified({ store: damaged, nowMs });
    t.match(problems.join("\n"), problem, what);
  }
  const without = store.crash();
  await without.commit([{ table: "usage", key: 2, value: undefined }]);
  t.match(verified({ store: without, nowMs }).problems.join(), /isn't what its records add up to/);
  const wrong = store.crash();
  for (const { key, value } of store.entries("rollups"))
    await wrong.commit([{ table: "rollups", key, value: value.with(0, (value[0] as number) + 1) }]);
  t.match(
    verified({ store: wrong, nowMs }).problems.join(),
    /the sum of all usage on 2025-12-31 isn't what its records add up to: requests \d+, not \d+/,
  );
});
