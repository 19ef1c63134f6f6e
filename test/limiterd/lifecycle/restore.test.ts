import t from "tap";
import { applyConfigured } from "../../../limiterd/lifecycle/restore-rules.js";
import { StoreUnreadableError, type Table } from "../../../limiterd/store/store.js";
import { budgetId } from "../../../shared/domain/budget.js";
import { ruleId } from "../../../shared/domain/rule.js";
import { createMemoryStore } from "../../support/memory-store.js";
import { pathRule, startDaemon } from "../in-memory-daemon.js";

const rule = pathRule("/team", 60, { requests: 10 });
const never = Number.MAX_SAFE_INTEGER;
const hash = "a".repeat(43);
const budget = {
  scope: "user_path",
  subject: "/team",
  periodSeconds: 86_400,
  amountUsd: 1,
  perChild: false,
} as const;

/** Entries that could be read, and would fail when they are used. */
const entries: readonly (readonly [string, Table, string | number, readonly unknown[]])[] = [
  [
    "a rule of an endless period",
    "rules",
    "r",
    ["user_path", "/team", never, 10, null, false, "manual", 1, 1, 1],
  ],
  [
    "a rule made at no moment",
    "rules",
    ruleId(rule),
    ["user_path", "/team", 60, 10, null, false, "manual", never, 1, 1],
  ],
  ["a window that begins at no moment", "windows", `${ruleId(rule)}\n`, [never, 0, 1, 0, 1, never]],
  [
    "a budget of an endless period",
    "budgets",
    budgetId(budget),
    ["user_path", "/team", never, 1, false, "manual", 1, 1, 1, 0, false],
  ],
  [
    "a template on a provider",
    "rules",
    "r",
    ["provider", "openai", 60, 10, null, true, "manual", 1, 1, 1],
  ],
  [
    "a template on a label",
    "budgets",
    "b",
    ["label", "research", 86_400, 1, true, "manual", 1, 1, 1, 0, false],
  ],
  ["a reset at no moment", "resets", budgetId(budget), [never]],
  ["spending beyond the last record", "spendlog", 9, []],
  [
    "a key that expires at no moment",
    "keys",
    1,
    [hash, "sk-sluice-abcd…", "n", null, [], 1, never, null],
  ],
];

t.test("a start names the entry that would fail when it is used", async (t) => {
  for (const [name, table, key, value] of entries) {
    const store = createMemoryStore(new Map([[table, new Map([[key, value]])]]));
    const start = (): unknown => startDaemon([], { store, budgets: [budget] });
    t.throws(start, StoreUnreadableError, name);
    t.throws(start, { message: `the entry ${JSON.stringify(key)} of ${table} is not what` }, name);
  }
});

t.test(
  "numbers of a store whose release didn't write the last one are found in its windows",
  async (t) => {
    const lsn = 50_000_000;
    const store = createMemoryStore();
    const [window, after] = [`${ruleId(rule)}\n`, `${ruleId({ ...rule, subject: "/z" })}\n`];
    await store.commit([
      { table: "windows", key: window, value: [0, 0, 1, 0, 1, lsn] },
      { table: "windows", key: after, value: [0, 0, 1, 0, 1, lsn - 10] },
    ]);
    const { epochs } = startDaemon([rule], { store }).state;
    t.ok(epochs.startLsn > lsn, String(epochs.startLsn));
    t.same(epochs.lost, [{ afterLsn: lsn, beforeLsn: epochs.startLsn }]);
  },
);

t.test("a rule of the configuration is written when one of its fields has changed", async (t) => {
  const whole = { ...rule, maxTokens: 5, perChild: false, hostOnly: false };
  const written = (definition: typeof whole): readonly unknown[] => {
    const { book } = startDaemon([whole]).state;
    return applyConfigured(book, [definition], { nowMs: 7, lsn: 1 }).map(({ key }) => key);
  };
  t.same(written(whole), []);
  for (const changes of [
    { maxRequests: 11 },
    { maxTokens: 6 },
    { perChild: true },
    { hostOnly: true },
  ])
    t.same(
      written({ ...whole, ...changes } as typeof whole),
      [ruleId(rule)],
      JSON.stringify(changes),
    );
  const { book } = startDaemon([whole]).state;
  const { hostOnly: _, ...unsaid } = whole;
  t.same(applyConfigured(book, [unsaid], { nowMs: 7, lsn: 1 }), [], "what isn't said is false");
  t.same(
    applyConfigured(book, [], { nowMs: 7, lsn: 1 }).filter(({ table }) => table === "rules"),
    [{ table: "rules", key: ruleId(rule), value: undefined }],
  );
});
