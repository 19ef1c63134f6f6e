import t from "tap";
import { applyConfiguredRules } from "../../../limiterd/lifecycle/restore-rules.js";
import { configuredText, ruleChange } from "../../../limiterd/rules/stored-rule.js";
import { StoreUnreadableError, type Table } from "../../../limiterd/store/store.js";
import { budgetId } from "../../../shared/domain/budget.js";
import { ruleId } from "../../../shared/domain/rule.js";
import { createMemoryStore, type MemoryStore } from "../../support/memory-store.js";
import { askFor, pathRule, startDaemon } from "../in-memory-daemon.js";

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
  ["a batch that counted half a thing", "journal", 9, [[], ["r", ""]]],
  ["a verdict of no connection", "unread", "p", [0, 1, "/team", true, null, null, 1, 1]],
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

t.test("a rule of the configuration is written when one of its fields has changed", async (t) => {
  const whole = { ...rule, maxTokens: 5, perChild: false, hostOnly: false };
  const written = (definition: typeof whole): readonly unknown[] => {
    const { book } = startDaemon([whole]).state;
    return applyConfiguredRules(book, [definition], { nowMs: 7, lsn: 1 }).map(({ key }) => key);
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
  t.same(
    applyConfiguredRules(book, [unsaid], { nowMs: 7, lsn: 1 }),
    [],
    "what isn't said is false",
  );
  t.same(
    applyConfiguredRules(book, [], { nowMs: 7, lsn: 1 }).filter(({ table }) => table === "rules"),
    [{ table: "rules", key: ruleId(rule), value: undefined }],
  );
});

const onModel = { ...rule, scope: "model", subject: "gpt-4o" } as const;
const both = [rule, onModel];
/** What the store says of all rules: the configuration of which they are. */
const configuredIn = (store: MemoryStore): unknown => store.get("epochs", "rules")?.[1];

t.test(
  "a start with the configuration of the last one leaves the rules on user paths unread, time and again",
  async (t) => {
    let daemon = startDaemon(both);
    askFor(daemon.proxy("p"), 2, "/team");
    await daemon.snapshot();
    for (let start = 0; start < 3; start++) {
      daemon = startDaemon(both, { store: daemon.store.crash(), loads: false });
      const { ruleSet } = daemon.state.book;
      t.same([...ruleSet.inMemory.keys()], [ruleId(onModel)]);
      t.equal(ruleSet.size, 2);
      await daemon.commit();
      t.equal(configuredIn(daemon.store), configuredText(both));
    }
    const off = startDaemon([], {
      store: daemon.store.crash(),
      rateLimitsEnabled: false,
      loads: false,
    });
    t.equal(off.state.book.ruleSet.inMemory.size, 1, "nor does one that enforces none");
    await off.commit();
    t.equal(configuredIn(off.store), configuredText(both));
  },
);

t.test(
  "rules are compared with the configuration where no note says that they are its",
  async (t) => {
    const first = startDaemon(both);
    await first.commit();
    const note = first.store.get("epochs", "rules")!;
    const key = ruleId(rule);
    const stored = first.store.get("rules", key)!;
    for (const [name, changes, configured] of [
      [
        "without a note",
        [{ table: "epochs", key: "rules", value: undefined }],
        configuredText(both),
      ],
      [
        "with one of an earlier epoch, that a release which doesn't know of it has left",
        [{ table: "epochs", key: "rules", value: note.with(0, Number(note[0]) - 1) }],
        configuredText(both),
      ],
      [
        "without a note, of a rule under another key: so does the next start",
        [
          { table: "epochs", key: "rules", value: undefined },
          { table: "rules", key, value: undefined },
          { table: "rules", key: `${key}0`, value: stored },
        ],
        "",
      ],
    ] as const) {
      const store = first.store.crash();
      const edited = ruleChange({
        ...first.state.book.find(onModel)!,
        definition: { ...onModel, maxRequests: 99 },
        id: ruleId(onModel),
      });
      await store.commit([edited, ...changes]);
      const daemon = startDaemon(both, { store, loads: false });
      const { book } = daemon.state;
      t.equal(book.ruleSet.isRead, true, name);
      t.equal(book.find(onModel)!.definition.maxRequests, 10, name);
      t.equal(book.rules.size, 2, name);
      await daemon.commit();
      t.equal(configuredIn(store), configured, name);
    }
    const store = first.store.crash();
    await store.commit([{ table: "epochs", key: "rules", value: undefined }]);
    await startDaemon([], { store, rateLimitsEnabled: false }).commit();
    t.equal(configuredIn(store), "", "while none is enforced nothing is compared");
  },
);

t.test(
  "the numbers of each start are above those before, by the time between two starts of one boot, and what no disk holds stays lost",
  async (t) => {
    let daemon = startDaemon([]);
    await daemon.commit();
    for (let start = 0; start < 2; start++) {
      const { startLsn } = daemon.state.epochs;
      daemon = startDaemon([], { store: daemon.store.crash() });
      await daemon.commit();
      t.equal(daemon.state.epochs.startLsn, startLsn + 1_000_000, "though nothing was written");
    }
    const first = startDaemon([rule], { upMs: 5 });
    await first.commit();
    askFor(first.proxy("p"), 2, "/team");
    await first.snapshot();
    const written = Number(first.store.get("epochs", "written")![0]);
    const store = first.store.crash();
    await store.commit(
      [...store.entries("windows")].map(({ key }) => ({ table: "windows", key, value: undefined })),
    );
    const { epochs } = startDaemon([rule], { store, upMs: 8 }).state;
    t.equal(epochs.startLsn, written + 1_000_000 + 3000);
    t.same(epochs.lost, [
      ...first.state.epochs.lost,
      { afterLsn: written, beforeLsn: epochs.startLsn },
    ]);
    t.equal(epochs.lost.length, 2);
  },
);
