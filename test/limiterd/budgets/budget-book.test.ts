/**
 * The book against an oracle: a list of records and resets that is summed anew after every step,
 * under a clock that jumps.
 */
import fc from "fast-check";
import t from "tap";
import { type Account, childOf } from "../../../limiterd/budgets/budget-account.js";
import { BudgetBook, BudgetIndex } from "../../../limiterd/budgets/budget-book.js";
import { spendsFromStored, spendsToStored } from "../../../limiterd/budgets/spend.js";
import type { UsageRecord } from "../../../limiterd/usage/usage-records.js";
import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import { sumUsd } from "../../../shared/domain/money.js";
import { defaultAnchors } from "../../../shared/domain/reset-anchors.js";
import { SpreadMap } from "../../../shared/spread-map.js";
import { exactly } from "../../support/patterns/exactly.js";

const hourMs = 3_600_000;
const begin = Date.parse("2026-11-20T12:30:00Z");

function record(userPath: string, atMs: number, totalCost: number): UsageRecord {
  return {
    atMs,
    userPath,
    provider: "p",
    model: "m",
    estimated: false,
    requestId: "r",
    endpoint: "/v1/chat/completions",
    providerType: "openai",
    status: 200,
    inputTokens: 0,
    outputTokens: 0,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    inputCost: totalCost,
    outputCost: 0,
    totalCost,
    cacheHit: false,
    rewriteTokensSaved: 0,
    rewriteCostSaved: null,
    latencyMs: 0,
    firstByteMs: null,
    requestedModel: "",
    session: "",
    details: null,
    atMost: null,
    keyId: "",
  };
}

type Step =
  | {
      readonly kind: "spend";
      readonly path: string;
      readonly agoMs: number;
      readonly micros: number;
    }
  | { readonly kind: "clock"; readonly byMs: number }
  | { readonly kind: "reset" }
  | { readonly kind: "restart" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("spend" as const),
      path: fc.constantFrom("/", "/a", "/a/x", "/a/x/y", "/ab", "/b"),
      agoMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 1.5 * hourMs })),
      micros: fc.integer({ min: 1, max: 3_000_000 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("clock" as const),
      byMs: fc.oneof(
        fc.integer({ min: 0, max: hourMs }),
        fc.integer({ min: 0, max: 30 * hourMs }),
        fc.integer({ min: -2 * hourMs, max: 0 }),
      ),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "reset" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "restart" as const }) },
);

const budgets: readonly BudgetDefinition[] = [
  { scope: "user_path", subject: "/", periodSeconds: 3600, amountUsd: 1, perChild: false },
  { scope: "user_path", subject: "/a", periodSeconds: 86_400, amountUsd: 1, perChild: false },
  { scope: "user_path", subject: "/a", periodSeconds: 3600, amountUsd: 1, perChild: true },
];

const periods: readonly number[] = [3600, 86_400];

function isSamePeriod(seconds: number, aMs: number, bMs: number): boolean {
  return Math.floor(aMs / (seconds * 1000)) === Math.floor(bMs / (seconds * 1000));
}

/** Who pays for a path under a budget, or null. */
function payer({ subject, perChild }: BudgetDefinition, path: string): string | null {
  const segments = path.split("/").filter((piece) => piece !== "");
  const base = subject.split("/").filter((piece) => piece !== "");
  if (base.some((piece, index) => segments[index] !== piece)) return null;
  if (!perChild) return subject;
  return segments.length > base.length ? `/${segments.slice(0, base.length + 1).join("/")}` : null;
}

t.test(
  "every account agrees with a sum over all records, however the clock steps, after resets, and across restarts",
  async (t) => {
    let compared = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 60, size: "max" }), (steps) => {
        const ports = { spentOnDays: (): null => null, lastRecordKey: () => 0 };
        let book = new BudgetBook(ports, defaultAnchors);
        // All of them were there before anything was spent.
        const at = { source: "manual", nowMs: begin - 1000 * hourMs } as const;
        for (const definition of budgets) book.put(definition, at);
        let nowMs = begin;
        let latestMs = begin;
        const spent: {
          readonly path: string;
          readonly atMs: number;
          readonly micros: number;
          readonly wipedFor: Set<number>;
        }[] = [];
        let resetAtMs: number | null = null;
        for (const [index, one] of steps.entries()) {
          if (one.kind === "clock") {
            // Never back behind what is kept: two periods before the latest.
            nowMs = Math.max(nowMs + one.byMs, latestMs - 2 * hourMs);
            latestMs = Math.max(latestMs, nowMs);
          } else if (one.kind === "spend") {
            const atMs = nowMs - one.agoMs;
            book.charge(record(one.path, atMs, one.micros * 1_000_000), [], nowMs);
            // It comes after a reset of its period, before which it had ended.
            const late = periods.filter(
              (seconds) =>
                resetAtMs !== null &&
                atMs < resetAtMs &&
                resetAtMs <= nowMs &&
                isSamePeriod(seconds, atMs, resetAtMs),
            );
            spent.push({ path: one.path, atMs, micros: one.micros, wipedFor: new Set(late) });
          } else if (one.kind === "reset") {
            for (const budget of book.budgets.values()) book.reset(budget, nowMs);
            for (const { atMs, wipedFor } of spent)
              for (const seconds of periods)
                if (isSamePeriod(seconds, atMs, nowMs)) wipedFor.add(seconds);
            resetAtMs = nowMs;
          } else {
            const next = new BudgetBook(ports, defaultAnchors);
            for (const budget of book.budgets.values()) {
              if (budget.resetAtMs !== null)
                next.restoreReset(budget.id, budget.resetAtMs, budget.resets);
              const again = next.restore(budget);
              for (const account of budget.own === null ? budget.children.values() : [budget.own]) {
                const into = again.own ?? childOf(again, account.child);
                if (account.spends.length > 0)
                  into.spends.push(...spendsFromStored(spendsToStored(account.spends))!);
              }
            }
            book = next;
          }
          for (const definition of budgets) {
            const { periodSeconds } = definition;
            for (const path of ["/a/x/y", "/ab"]) {
              const who = payer(definition, path);
              if (who === null) continue;
              const counted = spent.filter(
                (other) =>
                  payer(definition, other.path) === who &&
                  isSamePeriod(periodSeconds, other.atMs, nowMs) &&
                  !other.wipedFor.has(periodSeconds),
              );
              const expected = counted.reduce((sum, { micros }) => sum + micros, 0);
              const account = book
                .match({ userPath: path }, [], nowMs)
                .find(
                  ({ budget, subject }) =>
                    subject === who &&
                    budget.definition.periodSeconds === definition.periodSeconds &&
                    budget.definition.perChild === definition.perChild,
                )!;
              const found = Math.round(sumUsd(book.runningPeriod(account, nowMs).spent) * 1e6);
              compared++;
              if (found !== expected)
                throw new Error(
                  `step ${index}: ${who} ${definition.periodSeconds} has spent ${found}, not ${expected}`,
                );
            }
          }
        }
      }),
      { numRuns: 300 },
    );
    t.ok(compared > 10_000);
  },
);

t.test("200,000 records add up to the pico-dollar", async (t) => {
  const book = new BudgetBook({ spentOnDays: () => null, lastRecordKey: () => 0 }, defaultAnchors);
  const { budget } = book.put(
    { scope: "user_path", subject: "/", periodSeconds: 2_592_000, amountUsd: 1, perChild: false },
    { source: "manual", nowMs: begin },
  );
  let expected = 0n;
  for (let i = 0; i < 200_000; i++) {
    const cost = (i * 2_654_435_761) % 37_500_001;
    expected += BigInt(cost);
    book.charge(record("/a", begin, cost), [], begin);
  }
  const { spent, requests } = book.runningPeriod(budget.own!, begin);
  t.equal(BigInt(spent.microUsd) * 1_000_000n + BigInt(spent.picoUsd), expected);
  t.equal(requests, 200_000);
});

t.test("a child of a clock that was ahead is forgotten once that has stepped back", async (t) => {
  const book = new BudgetBook({ spentOnDays: () => null, lastRecordKey: () => 0 }, defaultAnchors);
  const { budget } = book.put(
    { scope: "user_path", subject: "/a", periodSeconds: 3600, amountUsd: 1, perChild: true },
    { source: "manual", nowMs: begin },
  );
  const left = (nowMs: number): string[] => {
    book.forgetIdle(nowMs, 10);
    return [...budget.children.keys()];
  };
  const ahead = begin + 1000 * hourMs;
  book.charge(record("/a/ahead", ahead, 1), [], ahead);
  book.charge(record("/a/both", ahead, 1), [], ahead);
  book.charge(record("/a/both", begin, 1), [], begin);
  book.charge(record("/a/soon", begin + hourMs, 1), [], begin + hourMs);
  book.takeDirty();
  t.same(left(begin), ["both", "soon"]);
  t.equal(budget.sinceMs, begin, "what other children have spent isn't looked up for it");
  t.same(left(begin + 2 * hourMs), ["soon"]);
  t.equal(budget.sinceMs, begin, "its period began before the budget");
  t.same(left(begin + 3 * hourMs), []);
  t.equal(budget.sinceMs, begin + 0.5 * hourMs + 1, "should the clock step back to its period");
});

t.test(
  "children that spent nothing are forgotten, and nothing is looked up for them",
  async (t) => {
    const book = new BudgetBook(
      { spentOnDays: () => null, lastRecordKey: () => 0 },
      defaultAnchors,
    );
    const { budget } = book.put(
      { scope: "user_path", subject: "/a", periodSeconds: 3600, amountUsd: 1, perChild: true },
      { source: "manual", nowMs: begin },
    );
    childOf(budget, "asked");
    book.charge(record("/a/spent", begin, 1), [], begin);
    const names = (): string[] => [...budget.children.keys()];
    t.same(names(), ["asked", "spent"]);
    t.same(
      book.forgetIdle(begin, 10).map(({ child }) => child),
      ["asked"],
    );
    t.equal(budget.sinceMs, begin);
    const later = begin + 10 * hourMs;
    t.same(book.forgetIdle(later, 10), [], "its account isn't written yet");
    book.takeDirty();
    budget.isBackfilling = true;
    t.same(book.forgetIdle(later, 10), [], "nor while its past is looked up");
    budget.isBackfilling = false;
    t.same(
      book.forgetIdle(later, 10).map(({ child }) => child),
      ["spent"],
    );
    t.ok(budget.sinceMs > begin - hourMs, "should the clock step back, its period is looked up");
    t.same(names(), []);
  },
);

t.test("what is cleared is gone: accounts, children and the bounds", async (t) => {
  const book = new BudgetBook({ spentOnDays: () => null, lastRecordKey: () => 9 }, defaultAnchors);
  for (const perChild of [false, true]) {
    const { budget } = book.put(
      { scope: "user_path", subject: "/a", periodSeconds: 3600, amountUsd: 1, perChild },
      { source: "manual", nowMs: begin },
    );
    book.charge(record("/a/b", begin, 5), [], begin);
    const [before] = book.match({ userPath: "/a/b" }, [], begin);
    const { generation } = budget;
    book.clear(budget, begin + 7);
    t.equal(budget.children.size, 0);
    const [after] = book.match({ userPath: "/a/b" }, [], begin);
    t.not(after, before);
    t.notOk(book.isCurrent(before!));
    t.ok(book.isCurrent(after!));
    t.equal(book.runningPeriod(after!, begin + 7).requests, 0);
    t.match(budget, { sinceMs: begin + 7, sinceKey: 9, generation: generation + 1 });
  }
});

t.test("accounts that changed are handed out once, until they change again", async (t) => {
  const book = new BudgetBook({ spentOnDays: () => null, lastRecordKey: () => 0 }, defaultAnchors);
  book.put(
    { scope: "user_path", subject: "/", periodSeconds: 3600, amountUsd: 1, perChild: false },
    { source: "manual", nowMs: begin },
  );
  const charge = (): void => book.charge(record("/a", begin, 5), [], begin);
  charge();
  charge();
  t.equal(book.takeDirty().length, 1);
  t.equal(book.takeDirty().length, 0);
  charge();
  t.equal(book.takeDirty().length, 1);
  book.charge({ ...record("/a", begin, 5), cacheHit: true }, [], begin);
  t.equal(book.takeDirty().length, 0);
});

t.test("an edit keeps the budget and when it was made, and says when it was edited", async (t) => {
  const book = new BudgetBook({ spentOnDays: () => null, lastRecordKey: () => 3 }, defaultAnchors);
  const definition = {
    scope: "user_path",
    subject: "/a",
    periodSeconds: 3600,
    amountUsd: 1,
    perChild: false,
  } as const;
  const { budget, isNew: made } = book.put(definition, { source: "config", nowMs: begin });
  t.ok(made);
  t.match(budget, { createdAtMs: begin, updatedAtMs: begin, sinceMs: begin, sinceKey: 3 });
  const edit = book.put(
    { ...definition, amountUsd: 2.5 },
    { source: "manual", nowMs: begin + 1000 },
  );
  t.notOk(edit.isNew);
  t.equal(edit.budget, budget);
  t.match(budget, {
    definition: { amountUsd: 2.5 },
    amount: { microUsd: 2_500_000, picoUsd: 0 },
    source: "manual",
    createdAtMs: begin,
    updatedAtMs: begin + 1000,
    sinceMs: begin,
  });
  const other = book.put(
    { ...definition, perChild: true },
    { source: "manual", nowMs: begin + 2000 },
  );
  t.ok(other.isNew, "a template is another budget");
  t.match(other.budget, {
    createdAtMs: begin,
    updatedAtMs: begin + 2000,
    sinceMs: begin + 2000,
    own: null,
  });
  t.equal(book.budgets.size, 1);
});

const childAccount = (child: string): Account => ({ child }) as Account;

t.test(
  "property: the accounts of children are held as a Map would hold them, below its first bound and above",
  (t) => {
    const name = fc.nat({ max: 6000 }).map((n) => `child-${n}`);
    fc.assert(
      fc.property(
        fc.boolean(),
        fc.array(fc.tuple(fc.constantFrom("set", "delete", "set"), name), { maxLength: 60 }),
        (isLarge, steps) => {
          const map = new Map<string, Account>();
          const accounts = new SpreadMap<Account>();
          for (let i = 0; isLarge && i < 5000; i++) {
            map.set(`child-${i}`, childAccount(`child-${i}`));
            accounts.set(`child-${i}`, map.get(`child-${i}`)!);
          }
          for (const [step, child] of steps) {
            const now = childAccount(child);
            if (step === "set") {
              map.set(child, now);
              accounts.set(child, now);
            } else t.equal(accounts.delete(child), map.delete(child));
            t.equal(accounts.has(child), map.has(child));
            t.equal(accounts.get(child), map.get(child));
            t.equal(accounts.size, map.size);
          }
          t.same([...accounts.keys()].sort(), [...map.keys()].sort());
          t.same(new Set(accounts.values()), new Set(map.values()));
        },
      ),
      { numRuns: 60 },
    );
    t.end();
  },
);

t.test("of 200,000 children none of its Maps has more than some thousands", (t) => {
  for (const nameOf of [
    (i: number) => `user-${String(i).padStart(8, "0")}`,
    (i: number) => String(i),
    (i: number) => `${i.toString(36)}@example.com`,
    (i: number) => `${String(i * 7919).padStart(12, "0")}-0000-4000-8000-000000000000`,
  ]) {
    const maps: Map<string, Account>[] = [];
    const accounts = new SpreadMap<Account>(() => {
      const map = new Map<string, Account>();
      maps.push(map);
      return map;
    });
    for (let i = 0; i < 200_000; i++) accounts.set(nameOf(i), childAccount(""));
    t.equal(accounts.size, 200_000);
    const largest = Math.max(...maps.map(({ size }) => size));
    t.ok(largest <= 4096, `${nameOf(1)}: ${largest}`);
  }
  t.end();
});

t.test("a walk goes on while children come and go", (t) => {
  const accounts = new SpreadMap<Account>();
  for (let i = 0; i < 10_000; i++) accounts.set(`c${i}`, childAccount(`c${i}`));
  let walked = 0;
  for (const { child } of accounts.values()) {
    accounts.delete(child);
    walked++;
  }
  t.equal(walked, 10_000);
  t.equal(accounts.size, 0);
  t.end();
});

const of = (
  scope: BudgetDefinition["scope"],
  subject: string,
  periodSeconds: number,
  perChild = false,
): BudgetDefinition => ({ scope, subject, periodSeconds, amountUsd: 1, perChild });

function indexOf(definitions: readonly BudgetDefinition[]): BudgetIndex {
  const book = new BudgetBook({ spentOnDays: () => null, lastRecordKey: () => 0 }, defaultAnchors);
  const index = new BudgetIndex();
  for (const definition of definitions)
    index.add(book.put(definition, { source: "manual", nowMs: 0 }).budget);
  return index;
}

t.test("labels come first, then the path from its root, each shortest period first", async (t) => {
  const index = indexOf([
    of("user_path", "/a/b", 3600),
    of("user_path", "/", 86_400),
    of("user_path", "/", 3600),
    of("user_path", "/a", 3600, true),
    of("user_path", "/a/b", 86_400, true),
    of("user_path", "/ab", 3600),
    of("label", "x", 3600),
    of("label", "y", 3600),
  ]);
  const met = (path: string, ...labels: readonly string[]): string[] =>
    index
      .collect({ userPath: path }, labels, 0, childOf)
      .map(({ subject, budget }) => `${subject} ${budget.definition.periodSeconds}`);
  t.same(met("/"), ["/ 3600", "/ 86400"]);
  t.same(met("/", "y", "z", "x"), ["y 3600", "x 3600", "/ 3600", "/ 86400"]);
  t.same(met("/a"), ["/ 3600", "/ 86400"], "a template counts children, not its own path");
  t.same(met("/a/c"), ["/ 3600", "/ 86400", "/a/c 3600"]);
  t.same(met("/a/b"), ["/ 3600", "/ 86400", "/a/b 3600", "/a/b 3600"]);
  t.same(met("/a/b/c/d").slice(2), ["/a/b 3600", "/a/b 3600", "/a/b/c 86400"]);
  t.same(met("/ab/c").slice(2), ["/ab 3600"]);
});

t.test("a template on the root counts its children, and not the root itself", async (t) => {
  const index = indexOf([of("user_path", "/", 3600, true)]);
  const met = (path: string): string[] =>
    index.collect({ userPath: path }, [], 0, childOf).map(({ subject }) => subject);
  t.same(met("/"), []);
  t.same(met("/a"), ["/a"]);
  t.same(met("/a/b"), ["/a"]);
});

t.test("of a subject whose last budget is removed nothing is kept", async (t) => {
  const book = new BudgetBook({ spentOnDays: () => null, lastRecordKey: () => 0 }, defaultAnchors);
  const index = new BudgetIndex();
  const [first, second] = [3600, 86_400].map(
    (period) => book.put(of("user_path", "/a", period), { source: "manual", nowMs: 0 }).budget,
  );
  index.add(first!);
  index.add(second!);
  const deleted = t.capture(Map.prototype, "delete", Map.prototype.delete);
  index.remove(first!);
  t.same(deleted(), []);
  index.remove(second!);
  t.match(deleted(), exactly([{ args: ["/a"] }]));
});

t.test("a removed budget is met no more", async (t) => {
  const index = indexOf([]);
  t.same(index.collect({ userPath: "/a" }, ["x"], 0, childOf), []);
  const book = new BudgetBook({ spentOnDays: () => null, lastRecordKey: () => 0 }, defaultAnchors);
  const { budget } = book.put(of("label", "x", 3600), { source: "manual", nowMs: 0 });
  index.add(budget);
  t.equal(index.collect({ userPath: "/a" }, ["x"], 0, childOf).length, 1);
  index.remove(budget);
  t.same(index.collect({ userPath: "/a" }, ["x"], 0, childOf), []);
});

t.test("the others of its subject stay when a budget is removed", async (t) => {
  const book = new BudgetBook({ spentOnDays: () => null, lastRecordKey: () => 0 }, defaultAnchors);
  const index = new BudgetIndex();
  const budgets = [3600, 86_400, 604_800].map(
    (seconds) => book.put(of("label", "x", seconds), { source: "manual", nowMs: 0 }).budget,
  );
  for (const budget of budgets) index.add(budget);
  const met = (): number[] =>
    index
      .collect({ userPath: "/a" }, ["x"], 0, childOf)
      .map(({ budget }) => budget.definition.periodSeconds);
  index.remove(budgets[1]!);
  t.same(met(), [3600, 604_800]);
  index.remove(budgets[0]!);
  t.same(met(), [604_800]);
  index.remove(budgets[2]!);
  t.same(met(), []);
});
