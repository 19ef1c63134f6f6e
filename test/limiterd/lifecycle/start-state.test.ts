/** The start of the daemon as it is wired, on a store in memory. */
import t from "tap";
import type { Budget } from "../../../limiterd/budgets/budget-account.js";
import { DeclaredLimits } from "../../../limiterd/declared-limits.js";
import { acceptHello } from "../../../limiterd/handlers/accept-hello.js";
import { connect } from "../../../limiterd/handlers/connection.js";
import { snapshot } from "../../../limiterd/lifecycle/snapshot.js";
import { placeDeclaredLimits, startState } from "../../../limiterd/lifecycle/start-state.js";
import { listBudgets } from "../../../limiterd/lists/list-budgets.js";
import { listRules } from "../../../limiterd/lists/list-rules.js";
import type { DaemonState } from "../../../limiterd/state.js";
import type { BackupPorts } from "../../../limiterd/store/backups.js";
import { windowsPerSlice } from "../../../shared/bounds.js";
import { createInertReason } from "../../../shared/config/inert-rule.js";
import { placeInFile } from "../../../shared/config/limits/declared-at.js";
import { type BudgetDefinition, budgetId } from "../../../shared/domain/budget.js";
import { sumUsd } from "../../../shared/domain/money.js";
import { type DeclaredAt, type RuleDefinition, ruleId } from "../../../shared/domain/rule.js";
import { wireVersion } from "../../../shared/version.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { wireVersions } from "../../../shared/wire/wire-versions.js";
import { createMemoryStore, type MemoryStore } from "../../support/memory-store.js";
import { noCopies } from "../../support/no-copies.js";
import { exactly } from "../../support/patterns/exactly.js";
import { budget, client, hour, noon, spend, usd } from "../budgets/budget-fixture.js";
import { ask, askFor, pathRule, settleOf, startDaemon } from "../in-memory-daemon.js";
import { wholeList } from "../lists/whole-list.js";

const minute = pathRule("/team", 60, { requests: 10, tokens: 1000 });
const anyProvider = pathRule("/team", 3600, { requests: 10 });

interface World {
  readonly state: DaemonState;
  readonly log: string[];
  /** After how long what was scheduled is due. */
  readonly waits: readonly number[];
  /** What `onUnentitled` was called with. */
  readonly unentitled: (readonly string[])[];
  /** How often the end of the accounts' reading was reported. */
  accountsLoaded(): number;
  /** Runs what was scheduled, and lets its commits end. */
  tick(): Promise<void>;
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function start(
  store: MemoryStore,
  rules: readonly RuleDefinition[],
  {
    budgets = [],
    enabled = true,
    usageEnabled = true,
    nowMs = noon,
    upMs = 0,
    declaredAt = { rules: [], budgets: [] },
    entitled = true,
    digest = JSON.stringify(rules),
    beginCopy = noCopies,
    yieldToEventLoop = nextTurn,
  }: {
    budgets?: readonly BudgetDefinition[];
    enabled?: boolean;
    usageEnabled?: boolean;
    nowMs?: number;
    upMs?: number;
    declaredAt?: Record<"rules" | "budgets", readonly DeclaredAt[]>;
    entitled?: boolean;
    digest?: string;
    beginCopy?: BackupPorts["beginCopy"];
    yieldToEventLoop?: () => Promise<void>;
  } = {},
): Promise<World> {
  const timers: (() => void)[] = [];
  const waits: number[] = [];
  const log: string[] = [];
  const unentitled: (readonly string[])[] = [];
  let accountsLoaded = 0;
  const state = await startState(
    {
      store,
      schedule(ms, run) {
        waits.push(ms);
        timers.push(run);
      },
      onStoreState: (error) => void log.push(error?.message ?? "works again"),
      onAccountsLoaded: () => void accountsLoaded++,
      onInert: ({ kind, name }) => void log.push(`inert ${kind} ${name}`),
      onUnentitled: (templates) => void unentitled.push(templates),
      onUnreadable: (error) => void log.push(error.message),
      onBroken: (error) => {
        throw error;
      },
      onDroppedRecord: () => {},
      onUnsupportedVersion: () => {},
      onLimitsApplied: () => {},
      onUnsureSpend: () => {},
      onRaise: () => {},
      beginCopy,
      yieldToEventLoop,
      wallMs: () => nowMs,
    },
    {
      settings: {
        version: "test",
        wireVersions,
        pid: 1,
        rateLimitsEnabled: enabled,
        budgetsEnabled: enabled,
        alerts: [],
        unpriced: "allow",
        waiting: { maxMs: 0, defaultMs: 0, paths: [] },
        upstreams: new Map(),
        usageEnabled,
        requestDetailsMax: 0,
        showsAncestors: true,
        background: { lookMs: 60_000, waitMs: 86_400_000, max: 100 },
        quotaTemplatesEntitled: entitled,
        tokenWeights: null,
        inertReason: createInertReason({ usageEnabled, providers: [], virtualModels: [] }),
        useProblem: () => null,
        configFile: "/etc/sluice.yaml",
        settingText: (path: string) => path,
      },
      rules,
      digest,
      budgets,
      declaredAt,
      providers: new Map([["openai", { type: "openai", sameModel: [], movingAlias: null }]]),
      hashKey: [1, 2],
      host: "test",
      newStoreId: "test",
      nowMs,
      uptime: { boot: "boot", upMs },
    },
  );
  return {
    state,
    log,
    waits,
    unentitled,
    accountsLoaded: () => accountsLoaded,
    async tick() {
      for (const run of timers.splice(0)) run();
      for (let turn = 0; turn < 5; turn++) await nextTurn();
    },
  };
}

/** A proxy that has said hello, and what it is sent. */
function connectProxy(state: DaemonState): readonly FromDaemon[] {
  const received: FromDaemon[] = [];
  const peer = connect(
    state,
    {
      mayAdminister: true,
      send: (message) => void received.push(message),
      sendBulk: () => {},
      close: () => {},
    },
    noon,
  );
  acceptHello(
    state,
    peer,
    { kind: "hello", id: 1, wireVersion, role: "proxy", proxyId: "p", leases: [], more: false },
    noon,
  );
  return received;
}

t.test("what the configuration declares is listed with its place", async (t) => {
  const declaredAt = {
    rules: [placeInFile(2, 1, 17), "SET_RATE_LIMIT_B"],
    budgets: [placeInFile(0, 0, 0)],
  };
  const rules = [minute, pathRule("/b", 60, { requests: 1 })];
  const { state } = await start(createMemoryStore(), rules, {
    budgets: [budget("/", 86_400, 5)],
    declaredAt,
  });
  const { inertReason, configFile } = state.settings;
  const listed = (): unknown => {
    const declared = state.declared.rules;
    const options = { nowMs: noon, inertReason, configFile, declared, query: wholeList };
    return listRules(state.book, options).rate_limits.map(({ declared_at, declared_line }) => [
      declared_at,
      declared_line,
    ]);
  };
  const variable = ["SET_RATE_LIMIT_B", undefined];
  t.same(listed(), [variable, ["/etc/sluice.yaml: rate_limits.user_paths[2].limits[1]", 17]]);
  t.match(
    listBudgets(state, wholeList, noon).budgets,
    exactly([{ declared_at: "/etc/sluice.yaml: budgets.user_paths[0].limits[0]" }]),
  );
  state.book.put(minute, { source: "manual", nowMs: noon, lsn: state.writer.lsn });
  t.same(listed(), [variable, [undefined, undefined]], "a rule by hand has none");
});

t.test("a daemon that starts has written its epoch, its rules and its budgets", async (t) => {
  const store = createMemoryStore();
  const { state, log } = await start(store, [minute], { budgets: [budget("/", 86_400, 5)] });
  t.same(
    [...store.entries("epochs")].map(({ value }) => value),
    [
      [0, state.epochs.startLsn],
      [state.epochs.startLsn, "boot", 0],
      [state.epochs.startLsn, JSON.stringify([minute]), 1, noon, state.epochs.startLsn - 1],
    ],
  );
  t.equal([...store.entries("rules")].length, 1);
  t.equal([...store.entries("budgets")].length, 1);
  t.match(state, {
    expectedProxies: null,
    isStopping: false,
    storeFailing: null,
    lastSnapshotAtMs: null,
    startedAtMs: noon,
  });
  t.ok(state.writer.lsn >= state.epochs.startLsn);
  t.same(log, []);
});

t.test(
  "a daemon whose store can't be written starts all the same: it removes nothing, and gives out numbers above those that the disk never got",
  async (t) => {
    const before = startDaemon([minute]);
    const peer = before.proxy("p");
    peer.send(settleOf(askFor(peer, 2, "/team")!, 1, 10));
    await before.commit();
    const disk = before.store.crash();
    disk.broken = true;
    const starts: DaemonState[] = [];
    for (const upMs of [5, 6]) {
      const { state, log, tick } = await start(disk, [minute], { nowMs: before.nowMs, upMs });
      starts.push(state);
      t.match(state, { storeFailing: "the disk is broken" });
      t.same(log, ["the disk is broken"]);
      t.equal(state.book.find(minute)!.own!.window.currentTokens, 10);
      void snapshot(state, before.nowMs);
      for (let i = 0; i < 3; i++) await tick();
      t.equal([...disk.entries("journal")].length, 1);
      if (upMs === 5) continue;
      disk.broken = false;
      for (let i = 0; i < 3; i++) await tick();
      t.same(log, ["the disk is broken", "works again"]);
      t.equal([...disk.entries("journal")].length, 0);
      t.same(disk.get("epochs", "lsn"), [state.epochs.startLsn, "boot", 6]);
      t.equal([...disk.entries("windows")].length, 1);
    }
    t.ok(starts[1]!.epochs.startLsn > starts[0]!.writer.lsn);
  },
);

t.test("what an earlier epoch journaled is removed with the first snapshot", async (t) => {
  const before = startDaemon([minute]);
  const peer = before.proxy("p");
  peer.send(settleOf(askFor(peer, 2, "/team")!, 1, 10));
  await before.commit();
  const store = before.store.crash();
  const { state } = await start(store, [minute], { nowMs: before.nowMs });
  t.same(state.expectedProxies, new Set(["p"]));
  t.equal([...store.entries("journal")].length, 1);
  await snapshot(state, before.nowMs);
  t.equal([...store.entries("journal")].length, 0);
  t.equal(state.proxies.get("p", 0).settledSeq, 1);
});

t.test("records and what they cost reach the disk with their settles", async (t) => {
  const store = createMemoryStore();
  const { state, tick } = await start(store, [], { budgets: [budget("/", 86_400, 5)] });
  const before = startDaemon([], { nowMs: noon });
  const sent: Parameters<typeof before.state.usage.add>[0][] = [];
  before.state.usage.add = (record) => void sent.push(record);
  spend(client(before), "/a", usd);
  state.usage.add(sent[0]!, noon);
  state.budgets.charge(sent[0]!, [], noon);
  t.ok(state.writer.journal("p", 1, () => {}));
  await tick();
  for (const table of ["journal", "usage", "spendlog"] as const)
    t.equal([...store.entries(table)].length, 1, table);
});

t.test(
  "what a budget's period has cost is looked up, also by the start after a crash",
  async (t) => {
    const before = startDaemon([], { nowMs: noon + hour / 2 });
    spend(client(before), "/a", 2 * usd);
    await before.commit();
    const store = before.store.crash();
    const hourly = budget("/", 3600, 5);
    const nowMs = before.nowMs + 1;
    const died = store.crash();
    died.commitsLeft = 1;
    await start(died, [], { budgets: [hourly], nowMs });
    for (const disk of [store, died.crash()]) {
      const { state, tick } = await start(disk, [], { budgets: [hourly], nowMs });
      await tick();
      const made: Budget = state.budgets.find(hourly)!;
      t.equal(sumUsd(state.budgets.runningPeriod(made.own!, nowMs).spent), 2);
      t.equal(made.isBackfilling, false);
    }
  },
);

t.test("disabled, rules and budgets stay as the store holds them", async (t) => {
  const store = createMemoryStore();
  await start(store, [minute], { budgets: [budget("/", 86_400, 5)] });
  const { state } = await start(store, [], { enabled: false });
  t.equal(state.book.rules.size, 1);
  t.equal(state.budgets.budgets.size, 1);
  const withdrawn = await start(store, []);
  t.equal(withdrawn.state.book.rules.size, 0);
  t.equal(withdrawn.state.budgets.budgets.size, 0);
});

t.test("rules and budgets that do nothing are reported, each once", async (t) => {
  const { log, state } = await start(createMemoryStore(), [minute, anyProvider], {
    budgets: [budget("/", 86_400, 5)],
    usageEnabled: false,
  });
  t.equal(log.length, 2);
  t.match(log.join(), /inert rule .*minute|inert rule .*60/);
  t.match(log.join(), /inert budget/);
  t.equal(state.inertRules.size, 1);
});

t.test(
  "a store that can't be written is announced once, and so is that it works again",
  async (t) => {
    const store = createMemoryStore();
    const { state, log, waits, tick } = await start(store, []);
    const received = connectProxy(state);
    await tick();
    store.broken = true;
    const before = waits.length;
    void state.writer.write([{ table: "settings", key: "x", value: [1] }]);
    for (let i = 0; i < 3; i++) await tick();
    t.same(log, ["the disk is broken"]);
    t.same(waits.slice(before), [1000, 1000, 1000], "it is tried again each second");
    store.broken = false;
    await tick();
    t.same(log, ["the disk is broken", "works again"]);
    t.match(
      received.filter(({ kind }) => kind === "event"),
      exactly([{ value: /broken/ }, { value: null }]),
    );
  },
);

t.test("a key's labels are those of the ring, and a caller without a key has none", async (t) => {
  const { state } = await start(createMemoryStore(), []);
  const { labelsOf, keys } = state;
  keys.add({
    number: 1,
    hash: "h",
    redacted: "r",
    oldSecrets: [],
    models: null,
    role: null,
    name: null,
    userPath: null,
    labels: ["eu"],
    createdAtMs: 0,
    expiresAtMs: null,
    deactivatedAtMs: null,
    deletedAtMs: null,
    lastUsedAtMs: null,
  });
  t.same([labelsOf("key_1"), labelsOf("key_2"), labelsOf(""), labelsOf("x")], [["eu"], [], [], []]);
});

t.test(
  "templates in the store without the entitlement are named at each start, and continue to count per child",
  async (t) => {
    const first = startDaemon([], { budgets: [budget("/team", 86_400, 1, { perChild: true })] });
    for (const [subject, perChild] of [
      ["/users", true],
      ["/plain", false],
    ] as const)
      await ask(first, "rate-limits.put", {
        subject,
        per_child: perChild,
        limit_key: { period: "minute" },
        max_requests: 5,
      });
    const named = async (entitled: boolean): Promise<readonly (readonly string[])[]> => {
      const { state, unentitled } = await start(first.store.crash(), [], {
        budgets: [budget("/team", 86_400, 1, { perChild: entitled })],
        nowMs: first.nowMs,
        digest: "",
        entitled,
      });
      t.same(
        state.book.matchPath("/users/a/b", first.nowMs).map(({ subject }) => subject),
        ["/users/a"],
        "never a shared counter",
      );
      state.book.ruleSet.readAll();
      return unentitled;
    };
    const users = [["/users minute"]];
    t.same(await named(false), users, "the configuration's budget isn't one any more");
    t.same(await named(false), users, "at the next start too");
    t.same(await named(true), []);
    const { unentitled } = await start(createMemoryStore(), [minute], { entitled: false });
    t.same(unentitled, [], "of no template nothing is said");
  },
);

t.test(
  "a store that can't be written ends the copy that is made of it, and none that is made once it works again",
  async (t) => {
    const cancelled: string[] = [];
    const names = ["first", "second"].values();
    const beginCopy: BackupPorts["beginCopy"] = () => {
      const { value: name = "another" } = names.next();
      return {
        finished: new Promise(() => {}),
        storeBytes: 1,
        copiedBytes: () => 0,
        cancel: () => void cancelled.push(name),
      };
    };
    const store = createMemoryStore();
    const { state, log, tick } = await start(store, [], { beginCopy });
    const copyFor = async (asker: object): Promise<unknown> => {
      const progress = state.backups.progress(asker, noon);
      await tick();
      return progress;
    };
    const asker = {};
    t.match(await copyFor(asker), { ok: true, value: { ready: false } });
    store.broken = true;
    void state.writer.write([{ table: "settings", key: "x", value: [1] }]);
    await tick();
    t.match(await copyFor(asker), { ok: false, failure: { message: /the disk is broken/ } });
    t.ok(cancelled.length > 0);
    t.same(new Set(cancelled), new Set(["first"]));
    cancelled.length = 0;
    store.broken = false;
    const progress = state.backups.progress(asker, noon);
    await tick();
    t.same(log, ["the disk is broken", "works again"]);
    t.match(await progress, { ok: true, value: { ready: false } });
    t.match(await copyFor(asker), { ok: true, value: { ready: false } });
    t.same(cancelled, []);
  },
);

/** A store in which `/gone` and each child of `/team` have spent something since noon. */
async function withAccounts(): Promise<{ readonly store: MemoryStore; readonly nowMs: number }> {
  const before = startDaemon([], { nowMs: noon, budgets: [team, budget("/gone", 3600, 9)] });
  before.nowMs += 5 * hour;
  const proxy = client(before);
  for (const path of ["/team/a", "/team/b", "/gone"]) spend(proxy, path, usd);
  await before.commit();
  await before.flush();
  return { store: before.store.crash(), nowMs: before.nowMs };
}
const team = budget("/team", 3600, 5, { perChild: true });

t.test(
  "what budgets have spent is read once the daemon answers: that is reported, and then the store loses what none counts any more",
  async (t) => {
    const { store, nowMs } = await withAccounts();
    const turns: (() => void)[] = [];
    const { state, accountsLoaded, tick } = await start(store, [], {
      budgets: [team],
      nowMs,
      yieldToEventLoop: () => new Promise((resolve) => void turns.push(resolve)),
    });
    const spent = (): string[] => [...store.entries("spends")].map(({ key }) => String(key));
    await tick();
    t.equal(state.accountsLoading, true);
    t.equal(accountsLoaded(), 0);
    t.equal(spent().length, 3);
    for (const turn of turns.splice(0)) turn();
    await tick();
    t.equal(state.accountsLoading, false);
    t.equal(accountsLoaded(), 1);
    t.same(spent(), ["user_path\n/team\n3600\na", "user_path\n/team\n3600\nb"]);
  },
);

t.test(
  "a daemon that stops before all is read reports no end, and leaves a new budget to be looked up by the next start",
  async (t) => {
    const { store, nowMs } = await withAccounts();
    const daily = budget("/", 86_400, 9);
    const turns: (() => void)[] = [];
    const options = { budgets: [team, daily], nowMs };
    const { state, accountsLoaded, tick } = await start(store, [], {
      ...options,
      yieldToEventLoop: () => new Promise((resolve) => void turns.push(resolve)),
    });
    state.isStopping = true;
    for (let i = 0; i < 3; i++) {
      for (const turn of turns.splice(0)) turn();
      await tick();
    }
    t.equal(accountsLoaded(), 0);
    const next = await start(store.crash(), [], options);
    t.equal(next.state.budgets.find(daily)!.isBackfilling, true);
    await next.tick();
    const made = next.state.budgets.find(daily)!;
    t.equal(made.isBackfilling, false);
    t.equal(sumUsd(next.state.budgets.runningPeriod(made.own!, nowMs).spent), 3);
  },
);

t.test(
  "proxies that are there before all rules are read learn then how many do nothing",
  async (t) => {
    const store = createMemoryStore();
    const rules = [minute, anyProvider, pathRule("/tokens", 60, { tokens: 9 })];
    await start(store, rules, { usageEnabled: false });
    const { state } = await start(store.crash(), rules, { usageEnabled: false });
    t.equal(state.book.ruleSet.isRead, false);
    const received = connectProxy(state);
    t.match(received, exactly([{ kind: "welcome", inertRules: 0 }]));
    state.book.ruleSet.readAll();
    t.same(received.slice(1), [{ kind: "event", name: "inert_rules", value: 2 }]);
  },
);

/** A daemon of this configuration whose rules and budgets aren't placed yet. */
function unplaced(
  rules: readonly RuleDefinition[],
  budgets: readonly BudgetDefinition[] = [],
): { readonly state: DaemonState; putByHand(): Promise<void> } {
  const daemon = startDaemon(rules, { budgets });
  const { state } = daemon;
  Object.assign(state, {
    declared: {
      rules: new DeclaredLimits(rules, rules.map(nameOf), ruleId),
      budgets: new DeclaredLimits(budgets, budgets.map(nameOf), budgetId),
    },
  });
  for (const rule of state.book.rules.values()) rule.declaredAt = null;
  for (const one of state.budgets.budgets.values()) one.declaredAt = null;
  return {
    state,
    async putByHand() {
      const subject = "/by-hand";
      const limitKey = { period: "minute" };
      await ask(daemon, "rate-limits.put", { subject, limit_key: limitKey, max_requests: 7 });
      await ask(daemon, "budgets.put", { subject, budget_key: { period: "daily" }, amount: 7 });
    },
  };
}

const nameOf = ({ subject }: { readonly subject: string }): string => `SET_${subject}`;
const inTurn = (state: DaemonState, run: () => void): void => {
  (state as { yieldToEventLoop: () => Promise<void> }).yieldToEventLoop = () => {
    run();
    return Promise.resolve();
  };
};

t.test(
  "each rule and budget of the configuration knows its place, one by hand has none, and one that was deleted is still declared",
  async (t) => {
    const rules = ["/a", "/by-hand", "/gone"].map((path) => pathRule(path, 60, { requests: 1 }));
    const budgets = ["/a", "/by-hand", "/gone"].map((path) => budget(path, 86_400, 1));
    const { state, putByHand } = unplaced(rules, budgets);
    await putByHand();
    state.book.delete(rules[2]!);
    state.budgets.delete(budgets[2]!);
    const places = (
      all: ReadonlyMap<string, { readonly declaredAt: unknown }>,
    ): readonly unknown[] => [...all.values()].map(({ declaredAt }) => declaredAt);
    t.same(places(state.book.rules), [null, null]);
    await placeDeclaredLimits(state);
    t.same(places(state.book.rules), ["SET_/a", null]);
    t.same(places(state.budgets.budgets), ["SET_/a", null]);
    for (const [i, path] of ["/a", "/by-hand", "/gone"].entries()) {
      const at = `SET_${path}`;
      t.same(state.declared.rules.get(ruleId(rules[i]!)), { definition: rules[i], at });
      t.same(state.declared.budgets.get(budgetId(budgets[i]!)), { definition: budgets[i], at });
    }
  },
);

t.test("many rules are placed in slices, and none after a daemon began to stop", async (t) => {
  const rules = Array.from({ length: 2 * windowsPerSlice + 1 }, (_, i) =>
    pathRule(`/r${i}`, 60, { requests: 1 }),
  );
  const placed = (state: DaemonState): number =>
    rules.filter((rule) => state.declared.rules.get(ruleId(rule)) !== null).length;
  const { state } = unplaced(rules);
  const seen: number[] = [];
  inTurn(state, () => void seen.push(placed(state)));
  await placeDeclaredLimits(state);
  t.same(seen, [windowsPerSlice, 2 * windowsPerSlice]);
  t.equal(placed(state), rules.length);
  const stopped = unplaced(rules).state;
  inTurn(stopped, () => {
    stopped.isStopping = true;
  });
  await placeDeclaredLimits(stopped);
  t.equal(placed(stopped), windowsPerSlice);
});
