/**
 * Rules that a start leaves in the store: whatever a daemon is asked before it has read them, it
 * answers as one that has read them all.
 */
import fc from "fast-check";
import t from "tap";
import type { Rule } from "../../../limiterd/counters/counter.js";
import { loadRules, loadWindows } from "../../../limiterd/lifecycle/load-unread.js";
import { startState } from "../../../limiterd/lifecycle/start-state.js";
import { RuleSet } from "../../../limiterd/rules/rule-set.js";
import { configuredText, rulesKey } from "../../../limiterd/rules/stored-rule.js";
import type { Store } from "../../../limiterd/store/store.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import type { MemoryStore } from "../../support/memory-store.js";
import { noCopies } from "../../support/no-copies.js";
import { exactly } from "../../support/patterns/exactly.js";
import {
  ask,
  askFor,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
} from "../in-memory-daemon.js";

const minuteMs = 60_000;
const subjects = ["/", "/a", "/a/b", "/a/b/c", "/ab", "/a b", "/é/🙂"];
const periods = [0, 7, 60, 3600];

/** A name for a rule of the tests. */
const key = (subject: string, periodSeconds: number): object => ({
  scope: "user_path",
  subject,
  limit_key: { period_seconds: periodSeconds },
});

const aRule: fc.Arbitrary<RuleDefinition> = fc
  .tuple(fc.constantFrom(...subjects), fc.constantFrom(...periods), fc.nat(3), fc.boolean())
  .map(([subject, period, requests, perChild]) => ({
    ...pathRule(subject, period, { requests: requests + 1 }),
    perChild,
  }));

const aModelRule: fc.Arbitrary<RuleDefinition> = fc
  .constantFrom("gpt-4o", "openai/gpt-4o", "other")
  .map((subject) => ({ ...pathRule(subject, 60, { requests: 2 }), scope: "model" }));

type Step =
  | { readonly kind: "ask"; readonly path: string }
  | { readonly kind: "end" }
  | { readonly kind: "operate"; readonly op: AdminOp; readonly body: object }
  | { readonly kind: "load"; readonly slices: number };

const aStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("ask" as const),
      path: fc.constantFrom(...subjects, "/a/b/c/d", "/z"),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: "end" } as const) },
  {
    weight: 3,
    arbitrary: aRule.chain(({ subject, periodSeconds, maxRequests, perChild }) => {
      const named = key(subject, periodSeconds);
      return fc.constantFrom<Step>(
        {
          kind: "operate",
          op: "rate-limits.put",
          body: { ...named, max_requests: maxRequests, per_child: perChild },
        },
        { kind: "operate", op: "rate-limits.delete", body: named },
        { kind: "operate", op: "rate-limits.reset-one", body: named },
        { kind: "operate", op: "rate-limits.reset", body: { confirmation: "reset" } },
        { kind: "operate", op: "rate-limits.list", body: {} },
        { kind: "operate", op: "explain", body: { user_path: subject, targets: [] } },
      );
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("load" as const), slices: fc.nat(3) }) },
);

/** What depends on when it was sent, or is told later: how many rules do nothing. */
const leftOut = ["settled", "welcome", "event"];

/** Runs steps; returns all that was answered. */
async function answers(daemon: TestDaemon, steps: readonly Step[]): Promise<unknown[]> {
  const peer = daemon.proxy("p");
  const held: Parameters<typeof settleOf>[0][] = [];
  const said: unknown[] = [];
  let seq = 0;
  for (const [i, step] of steps.entries()) {
    daemon.nowMs += 1000;
    switch (step.kind) {
      case "ask": {
        const lease = askFor(peer, 10 + i, step.path);
        if (lease !== null) held.push(lease);
        break;
      }
      case "end": {
        const lease = held.shift();
        if (lease !== undefined) peer.send(settleOf(lease, ++seq, 5));
        break;
      }
      case "operate": {
        // A list would wait for them.
        if (step.op === "rate-limits.list") await loadRules(daemon.state, 3);
        said.push(await ask(daemon, step.op, step.body).catch(({ message }: Error) => message));
        break;
      }
      case "load":
        // Some slices: it ends as a daemon that stops does.
        await loadSome(daemon, step.slices);
        break;
    }
    said.push(daemon.state.book.ruleSet.size);
  }
  await daemon.commit();
  return [...said, ...peer.received.filter(({ kind }) => !leftOut.includes(kind))];
}

async function loadSome({ state }: TestDaemon, slices: number): Promise<void> {
  let left = slices;
  const some = { ...state, yieldToEventLoop: () => Promise.resolve() };
  Object.defineProperty(some, "isStopping", { get: () => left-- <= 0 });
  await loadRules(some, 2);
}

/** What a crash leaves, without what lets the next start leave rules in the store. */
async function withoutNote(store: MemoryStore): Promise<MemoryStore> {
  const left = store.crash();
  const note = left.get("epochs", rulesKey);
  // No configuration has this digest.
  const value = note?.with(1, "");
  await left.commit([{ table: "epochs", key: rulesKey, value }]);
  return left;
}

const stored = (store: Store): readonly unknown[] => [...store.entries("rules")];

t.test("a daemon that has left rules in the store answers as one that has read them", async (t) => {
  let left = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.oneof({ weight: 5, arbitrary: aRule }, aModelRule), {
        maxLength: 12,
        selector: ({ scope, subject, periodSeconds }) => `${scope} ${subject} ${periodSeconds}`,
      }),
      fc.array(aStep, { maxLength: 8 }),
      fc.array(aStep, { maxLength: 20 }),
      async (rules, earlier, steps) => {
        const first = startDaemon(rules);
        await answers(first, earlier);
        const nowMs = first.nowMs + minuteMs / 10;
        const lazy = startDaemon(rules, { store: first.store.crash(), loads: false, nowMs });
        const eager = startDaemon(rules, { store: await withoutNote(first.store), nowMs });
        if (!lazy.state.book.ruleSet.isRead) left++;
        t.ok(eager.state.book.ruleSet.isRead);
        t.equal(lazy.state.book.sinceMs, eager.state.book.sinceMs);
        t.equal(lazy.state.epochs.startLsn, eager.state.epochs.startLsn);
        t.same(await answers(lazy, steps), await answers(eager, steps));
        await loadRules(lazy.state, 3);
        await loadWindows(lazy.state, 3);
        t.same(stored(lazy.store), stored(eager.store));
        t.same(
          lazy.state.book.sorted().map(({ id, sinceLsn }) => [id, sinceLsn]),
          eager.state.book.sorted().map(({ id, sinceLsn }) => [id, sinceLsn]),
        );
      },
    ),
    { numRuns: 150 },
  );
  t.ok(left > 50, `${left} starts have left rules`);
});

const plain = pathRule("/a", 60, { requests: 2 });
const deeper = pathRule("/a/b", 60, { requests: 1 });
const other = pathRule("/other", 60, { requests: 1 });

t.test("a request reads the rules that cover its path, and no others", async (t) => {
  const rules = [plain, deeper, other, pathRule("/", 60, { requests: 9 })];
  const daemon = startDaemon(rules, { store: startDaemon(rules).store.crash(), loads: false });
  const { ruleSet } = daemon.state.book;
  t.notOk(ruleSet.isRead);
  t.equal(daemon.state.book.matchPath("/a/bc", daemon.nowMs).length, 2);
  t.equal(ruleSet.size, 4);
  const read: string[] = [];
  ruleSet.leave(
    {
      store: daemon.store,
      left: 2,
      hasHard: true,
      loopTimes: { min: 3, max: 9 },
      restore: ({ key: id }) => void read.push(String(id)),
    },
    { ms: daemon.nowMs, lsn: 0 },
  );
  t.ok(ruleSet.hasHard, "one of those that were left");
  t.same(ruleSet.loopTimes, { min: 3, max: 9 });
  ruleSet.readAll();
  t.notOk(ruleSet.hasHard);
  t.same(read, ["user_path\n/a/b\n60", "user_path\n/other\n60"], "those that were left");
  t.ok(ruleSet.isRead);
});

t.test("rules are left only where those of the store are those of the configuration", async (t) => {
  const rules = [plain, other];
  const first = startDaemon(rules);
  const leaves = (next: readonly RuleDefinition[], store = first.store.crash()): boolean =>
    !startDaemon(next, { store, loads: false }).state.book.ruleSet.isRead;
  t.ok(leaves(rules));
  t.ok(leaves([plain, { ...other }]));
  for (const changed of [
    [plain],
    [other, plain],
    [plain, other, deeper],
    [plain, { ...other, maxRequests: 2 }],
    [plain, { ...other, maxTokens: 1 }],
    [plain, { ...other, perChild: true }],
    [plain, { ...other, subject: "/others" }],
    [plain, { ...other, periodSeconds: 61 }],
    [plain, { ...other, scope: "model" as const, subject: "other" }],
  ])
    t.notOk(leaves(changed), JSON.stringify(changed));
  t.notOk(leaves(rules, await withoutNote(first.store)), "of an earlier release");

  const older = first.store.crash();
  const [lsn, ...since] = older.get("epochs", "lsn")!;
  await older.commit([{ table: "epochs", key: "lsn", value: [Number(lsn) + 1, ...since] }]);
  t.notOk(leaves(rules, older), "an earlier release has had it since");

  const misnamed = await withoutNote(first.store);
  const rule = misnamed.get("rules", "user_path\n/a\n60");
  await misnamed.commit([
    { table: "rules", key: "user_path\n/a\n60", value: undefined },
    { table: "rules", key: "user_path\n/b\n60", value: rule },
  ]);
  const renamed = startDaemon(rules, { store: misnamed });
  t.same([...renamed.state.book.rules.keys()].length, 2);
  t.notOk(leaves(rules, renamed.store.crash()), "one stands under another's name");
});

t.test("a rule of the configuration that was deleted is there after the next start", async (t) => {
  const rules = [plain, other];
  const named = key("/other", 60);
  const first = startDaemon(rules);
  await ask(first, "rate-limits.delete", named);
  const second = startDaemon(rules, { store: first.store.crash(), loads: false });
  t.ok(second.state.book.ruleSet.isRead);
  t.not(second.state.book.find(other), null);
  await second.commit();

  // Replaced by another one, and deleted when it wasn't the configuration's any more.
  const third = startDaemon(rules, { store: second.store.crash(), loads: false });
  t.notOk(third.state.book.ruleSet.isRead);
  await ask(third, "rate-limits.put", {
    ...key("/moved", 60),
    max_requests: 1,
    replaces: named,
  });
  t.equal(third.state.book.find(other), null);
  const fourth = startDaemon(rules, { store: third.store.crash(), loads: false });
  t.not(fourth.state.book.find(other), null);
  await ask(fourth, "rate-limits.put", { ...named, max_requests: 7 });
  await ask(fourth, "rate-limits.delete", named);
  const fifth = startDaemon(rules, { store: fourth.store.crash(), loads: false });
  t.equal(fifth.state.book.find(other)?.source, "config");

  await ask(fifth, "rate-limits.delete", key("/moved", 60));
  const sixth = startDaemon(rules, { store: fifth.store.crash(), loads: false });
  t.notOk(sixth.state.book.ruleSet.isRead, "what isn't the configuration's may come and go");
  t.equal(sixth.state.book.ruleSet.size, 2);
});

t.test("while limits are off, what is known of the rules stays", async (t) => {
  const rules = [plain, other];
  const first = startDaemon(rules);
  const off = startDaemon([deeper], { store: first.store.crash(), rateLimitsEnabled: false });
  t.equal(off.state.book.ruleSet.size, 2);
  const on = startDaemon(rules, { store: off.store.crash(), loads: false });
  t.notOk(on.state.book.ruleSet.isRead);
  const none = startDaemon([], {
    store: (await withoutNote(first.store)).crash(),
    rateLimitsEnabled: false,
  });
  t.ok(startDaemon(rules, { store: none.store.crash(), loads: false }).state.book.ruleSet.isRead);
});

t.test("a rule that is deleted isn't read again from the store that still has it", async (t) => {
  const rules = [plain, other];
  const store = startDaemon(rules).store.crash();
  const daemon = startDaemon(rules, { store, loads: false });
  await daemon.commit();
  store.commitsLeft = 0;
  daemon.state.book.delete(other);
  t.equal(daemon.state.book.ruleSet.size, 1);
  await loadRules(daemon.state, 1);
  t.equal(daemon.state.book.find(other), null);
  t.same(daemon.state.book.matchPath("/other", daemon.nowMs), []);
  t.same([...daemon.state.book.rules.keys()], ["user_path\n/a\n60"]);
});

t.test(
  "a list right after a start waits until all rules are read in slices, and a deletion reads its own alone",
  async (t) => {
    const rules = [plain, deeper, other];
    const store = startDaemon(rules).store.crash();
    const daemon = startDaemon(rules, { store, loads: false });
    const { ruleSet } = daemon.state.book;
    Object.assign(store, { entries: () => t.fail("all are read at once") });
    await ask(daemon, "rate-limits.delete", key("/a/b", 60));
    t.same([ruleSet.size, ruleSet.isRead], [2, false]);
    t.equal(ruleSet.get("user_path\n/a/b\n60"), undefined);
    const lists = ["name", "use"].map((order) => ask(daemon, "rate-limits.list", { order }));
    let answered = 0;
    for (const list of lists) void list.then(() => answered++);
    for (let turn = 0; turn < 5; turn++) await daemon.commit();
    t.same([answered, ruleSet.isRead], [0, false]);
    await loadRules(daemon.state, 1);
    for (const list of await Promise.all(lists))
      t.same(
        (list["rate_limits"] as { subject: string }[]).map(({ subject }) => subject),
        ["/a", "/other"],
      );
  },
);

t.test(
  "what is made again in place of a deleted rule stays when the others are read",
  async (t) => {
    const rules = [plain, other];
    const store = startDaemon(rules).store.crash();
    const daemon = startDaemon(rules, { store, loads: false });
    const { book } = daemon.state;
    await daemon.commit();
    store.commitsLeft = 0;
    book.delete(other);
    book.put({ ...other, maxRequests: 7 }, { source: "manual", nowMs: daemon.nowMs + 9, lsn: 1 });
    book.delete(plain);
    t.equal(book.ruleSet.size, 1);
    t.ok(book.sinceMs <= daemon.nowMs, "a rule that is left may be as old as the deleted one");
    await loadRules(daemon.state, 1);
    t.match(book.sorted(), exactly([{ definition: { subject: "/other", maxRequests: 7 } }]));
    t.equal(book.sinceMs, daemon.nowMs + 9);
    book.delete(other);
    t.equal(book.sinceMs, Number.POSITIVE_INFINITY);
  },
);

t.test("no rule is older than the book says, and the oldest one isn't younger", (t) => {
  const { book } = startDaemon([]).state;
  const put = (subject: string, nowMs: number) =>
    book.put(pathRule(subject, 60, { requests: 1 }), { source: "manual", nowMs, lsn: 1 });
  const since: number[] = [book.sinceMs];
  const note = (): void => void since.push(book.sinceMs);
  t.equal(book.ruleSet.sinceLsn, 0);
  put("/a", 30);
  note();
  put("/b", 20);
  note();
  put("/c", 40);
  note();
  book.delete(pathRule("/a", 60, {}));
  note();
  book.delete(pathRule("/b", 60, {}));
  note();
  book.delete(pathRule("/c", 60, {}));
  note();
  put("/d", 50);
  note();
  t.same(since, [Infinity, 30, 20, 20, 20, 40, Infinity, 50]);
  t.end();
});

t.test("work that waits for all rules runs immediately if none is left", (t) => {
  let runs = 0;
  startDaemon([plain]).state.book.ruleSet.whenRead(() => runs++);
  t.equal(runs, 1);
  const store = startDaemon([plain]).store.crash();
  const { ruleSet } = startDaemon([plain], { store, loads: false }).state.book;
  for (let i = 0; i < 2; i++) ruleSet.whenRead(() => runs++);
  t.equal(runs, 1);
  ruleSet.readAll();
  t.equal(runs, 3, "all that wait, in their order");
  ruleSet.endReading();
  t.equal(runs, 3, "once");
  t.end();
});

t.test("numbers that a reset has given out are not given out again", async (t) => {
  const first = startDaemon([plain], { upMs: 1 });
  for (let i = 0; i < 5; i++) await ask(first, "rate-limits.reset-one", { ...key("/a", 60) });
  const { sinceLsn } = first.state.book.find(plain)!;
  t.equal(first.state.book.ruleSet.sinceLsn, sinceLsn);
  const second = startDaemon([plain], { store: first.store.crash(), loads: false, upMs: 1 });
  t.equal(second.state.book.ruleSet.sinceLsn, sinceLsn);
  t.ok(second.state.epochs.startLsn > sinceLsn);
});

t.test("a damaged rule ends the daemon when it is met, and when the others are read", async (t) => {
  const rules = [plain, other];
  const store = startDaemon(rules).store.crash();
  await store.commit([{ table: "rules", key: "user_path\n/other\n60", value: ["user_path"] }]);
  const daemon = startDaemon(rules, { store, loads: false });
  const peer = daemon.proxy("p");
  t.not(askFor(peer, 2, "/a"), null);
  t.throws(() => askFor(peer, 3, "/other/x"), { message: /\/other.* of rules is not what/ });
  await t.rejects(loadRules(daemon.state, 1), { name: "StoreUnreadableError" });
});

t.test("inert rules are reported once all rules are loaded", async (t) => {
  const rules = [pathRule("/a", 60, { tokens: 5 }), { ...plain, subject: "/c", perChild: true }];
  const first = startDaemon(rules, { usageEnabled: false });
  const said: string[] = [];
  const state = await startState(
    {
      store: first.store.crash(),
      schedule: () => {},
      onStoreState: () => {},
      onInert: ({ name }) => void said.push(name),
      onUnentitled: (templates) => void said.push(...templates),
      onUnreadable: () => {},
      onBroken: () => {},
      onDroppedRecord: () => {},
      onUnsupportedVersion: () => {},
      onLimitsApplied: () => {},
      onUnsureSpend: () => {},
      onRaise: () => {},
      beginCopy: noCopies,
      yieldToEventLoop: () => Promise.resolve(),
      wallMs: () => first.nowMs,
    },
    {
      settings: { ...first.state.settings, quotaTemplatesEntitled: false },
      rules,
      digest: configuredText(rules),
      budgets: [],
      providers: new Map(),
      hashKey: [1, 2],
      host: "test",
      newStoreId: "test",
      nowMs: first.nowMs,
      uptime: { boot: "boot", upMs: 0 },
    },
  );
  t.same([said, state.inertRules.size], [[], 0]);
  const sent: unknown[] = [];
  const proxy = { role: "proxy", isWelcomed: true, send: (event: unknown) => sent.push(event) };
  state.peers.add(proxy as never);
  await loadRules(state, 1);
  t.match(said, exactly([/^user_path \/a minute: token limits/, "/c minute"]));
  t.equal(state.inertRules.size, 1);
  t.same(sent, [{ kind: "event", name: "inert_rules", value: 1 }]);
});

t.test(
  "the oldest of many is looked for once, however many of one moment are removed",
  async (t) => {
    const set = new RuleSet();
    let looks = 0;
    const rules = Array.from({ length: 5000 }, (_, at) => ({
      id: `user_path\n/${at}\n60`,
      definition: pathRule(`/${at}`, 60, { requests: 1 }),
      sinceLsn: 0,
      wouldRefuse: null,
      get createdAtMs() {
        looks++;
        return at < 4000 ? 1 : 2;
      },
    })) as unknown as Rule[];
    for (const rule of rules) set.add(rule);
    t.equal(set.sinceMs, 1);
    looks = 0;
    for (const rule of rules.slice(0, 4000)) set.remove(rule);
    t.equal(set.sinceMs, 2);
    t.ok(looks < 10_000, `${looks} looks`);
    for (const rule of rules.slice(4000)) set.remove(rule);
    t.equal(set.sinceMs, Number.POSITIVE_INFINITY);
  },
);

t.test(
  "the oldest rule is looked for once all are read, even if one alone was removed before",
  async (t) => {
    const rules = [pathRule("/old", 60, { requests: 1 }), pathRule("/young", 60, { requests: 1 })];
    const first = startDaemon([rules[0]!]);
    await first.commit();
    const second = startDaemon(rules, { store: first.store.crash(), nowMs: first.nowMs + 9 });
    await second.commit();
    const { book } = startDaemon(rules, {
      store: second.store.crash(),
      nowMs: second.nowMs,
      loads: false,
    }).state;
    t.equal(book.sinceMs, first.nowMs);
    book.delete(rules[0]!);
    t.equal(book.ruleSet.isRead, false);
    book.ruleSet.readAll();
    t.equal(book.sinceMs, second.nowMs);
  },
);
