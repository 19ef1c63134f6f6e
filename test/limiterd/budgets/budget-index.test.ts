import t from "tap";
import { childOf } from "../../../limiterd/budgets/budget-account.js";
import { BudgetBook } from "../../../limiterd/budgets/budget-book.js";
import { BudgetIndex } from "../../../limiterd/budgets/budget-index.js";
import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import { defaultAnchors } from "../../../shared/domain/reset-anchors.js";
import { exactly } from "../../support/patterns/exactly.js";

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
      .collect(path, labels, 0, childOf)
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
    index.collect(path, [], 0, childOf).map(({ subject }) => subject);
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
  t.same(index.collect("/a", ["x"], 0, childOf), []);
  const book = new BudgetBook({ spentOnDays: () => null, lastRecordKey: () => 0 }, defaultAnchors);
  const { budget } = book.put(of("label", "x", 3600), { source: "manual", nowMs: 0 });
  index.add(budget);
  t.equal(index.collect("/a", ["x"], 0, childOf).length, 1);
  index.remove(budget);
  t.same(index.collect("/a", ["x"], 0, childOf), []);
});

t.test("the others of its subject stay when a budget is removed", async (t) => {
  const book = new BudgetBook({ spentOnDays: () => null, lastRecordKey: () => 0 }, defaultAnchors);
  const index = new BudgetIndex();
  const budgets = [3600, 86_400, 604_800].map(
    (seconds) => book.put(of("label", "x", seconds), { source: "manual", nowMs: 0 }).budget,
  );
  for (const budget of budgets) index.add(budget);
  const met = (): number[] =>
    index.collect("/a", ["x"], 0, childOf).map(({ budget }) => budget.definition.periodSeconds);
  index.remove(budgets[1]!);
  t.same(met(), [3600, 604_800]);
  index.remove(budgets[0]!);
  t.same(met(), [604_800]);
  index.remove(budgets[2]!);
  t.same(met(), []);
});
