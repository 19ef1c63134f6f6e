import t from "tap";
import { DeclaredLimits } from "../../../limiterd/declared-limits.js";
import { placeDeclared } from "../../../limiterd/lifecycle/place-declared.js";
import type { DaemonState } from "../../../limiterd/state.js";
import { windowsPerSlice } from "../../../shared/bounds.js";
import { type BudgetDefinition, budgetId } from "../../../shared/domain/budget.js";
import { type RuleDefinition, ruleId } from "../../../shared/domain/rule.js";
import { budget } from "../budgets/budget-fixture.js";
import { ask, pathRule, startDaemon } from "../in-memory-daemon.js";

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
    await placeDeclared(state);
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
  await placeDeclared(state);
  t.same(seen, [windowsPerSlice, 2 * windowsPerSlice]);
  t.equal(placed(state), rules.length);
  const stopped = unplaced(rules).state;
  inTurn(stopped, () => {
    stopped.stopping = true;
  });
  await placeDeclared(stopped);
  t.equal(placed(stopped), windowsPerSlice);
});
