import t from "tap";
import { DeclaredLimits } from "../../../../limiterd/declared-limits.js";
import {
  definitionsOf,
  planLimitFile,
} from "../../../../limiterd/handlers/admin/plan-limit-file.js";
import type { HeldPlan } from "../../../../limiterd/handlers/limit-files/held-limit-files.js";
import { placeInFile } from "../../../../shared/config/limits/declared-at.js";
import { budgetId } from "../../../../shared/domain/budget.js";
import { ruleId } from "../../../../shared/domain/rule.js";
import { runAtOnce } from "../../../../shared/long-lists.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { budget } from "../../budgets/budget-fixture.js";
import { ask, pathRule, startDaemon, type TestDaemon } from "../../in-memory-daemon.js";

const configuredRule = pathRule("/config", 60, { requests: 5, tokens: 9 });
const configuredBudget = budget("/config", 86_400, 5);
const rulePlace = placeInFile(1, 2, 30);
const budgetPlace = placeInFile(3, 4, 0);

type Planned = Parameters<typeof planLimitFile>;

const plannedAtOnce = (
  daemon: TestDaemon,
  file: Pick<Planned[1], "rules" | "budgets">,
  options: Planned[2],
): HeldPlan =>
  runAtOnce(
    planLimitFile(daemon.state, { ...file, keys: null, denials: null, part: 1 }, options, 0),
  );

function configured(usageEnabled = true): TestDaemon {
  const daemon = startDaemon([configuredRule], { budgets: [configuredBudget], usageEnabled });
  const rules = new DeclaredLimits([configuredRule], [rulePlace], ruleId);
  const budgets = new DeclaredLimits([configuredBudget], [budgetPlace], budgetId);
  rules.note(ruleId(configuredRule), 0);
  budgets.note(budgetId(configuredBudget), 0);
  Object.assign(daemon.state.declared, { rules, budgets });
  Object.assign(daemon.state.settings, { configFile: "sluice.yaml" });
  for (const one of daemon.state.book.rules.values()) Object.assign(one, { declaredAt: rulePlace });
  for (const one of daemon.state.budgets.budgets.values())
    Object.assign(one, { declaredAt: budgetPlace });
  return daemon;
}

const byId = <D>(idOf: (definition: D) => string, all: readonly D[]): Map<string, D> =>
  new Map(all.map((one) => [idOf(one), one]));

const ruleNamed = {
  kind: "rule",
  scope: "user_path",
  subject: "/config",
  period_label: "minute",
  period_seconds: 60,
};
const budgetNamed = {
  kind: "budget",
  scope: "user_path",
  subject: "/config",
  period_label: "daily",
  period_seconds: 86_400,
};
const ruleAt = {
  declared_at: "sluice.yaml: rate_limits.user_paths[1].limits[2]",
  declared_line: 30,
};
const budgetAt = { declared_at: "sluice.yaml: budgets.user_paths[3].limits[4]" };
const ofRule = { max_requests: 5, max_tokens: 9, per_child: false };
const ofBudget = { amount: 5, per_child: false };

t.test(
  "a plan names the place of what the configuration has otherwise, field by field",
  async (t) => {
    const daemon = configured();
    const file = {
      rules: byId(ruleId, [
        { ...configuredRule, maxRequests: null, maxTokens: 7, hostOnly: true },
        { ...configuredRule, subject: "/new" },
      ]),
      budgets: byId(budgetId, [
        { ...configuredBudget, amountUsd: 7, perChild: true, unpriced: "refuse" as const },
        { ...configuredBudget, subject: "/new" },
      ]),
    };
    const otherRule = { max_tokens: 7, per_child: false, host_only: true };
    const otherBudget = { amount: 7, per_child: true, unpriced: "refuse" };
    for (const [takeOver, action] of [
      [false, "locked"],
      [true, "take_over"],
    ] as const) {
      const shown = plannedAtOnce(daemon, file, { prune: false, takeOver });
      t.strictSame(shown.changes, [
        { ...ruleNamed, action, before: ofRule, after: otherRule, ...ruleAt },
        { ...ruleNamed, subject: "/new", action: "add", after: ofRule },
        { ...budgetNamed, action, before: ofBudget, after: otherBudget, ...budgetAt },
        { ...budgetNamed, subject: "/new", action: "add", after: ofBudget },
      ]);
      t.match(shown.counts, { [action]: 2, add: 2, unchanged: 0, kept: 0 });
    }
    const none = plannedAtOnce(
      daemon,
      { rules: null, budgets: null },
      {
        prune: true,
        takeOver: true,
      },
    );
    t.match(none, { changes: { length: 0 }, counts: { unchanged: 0, kept: 0 } });
    t.same(runAtOnce(definitionsOf(daemon.state, none, 5)), []);
  },
);

t.test("what was edited comes back with its place, and what is removed has none", async (t) => {
  const daemon = configured();
  // The one that was edited has no place any more.
  for (const one of daemon.state.budgets.budgets.values()) Object.assign(one, { declaredAt: null });
  await ask(daemon, "rate-limits.put", {
    user_path: "/config",
    limit_key: { period: "minute" },
    max_requests: 7,
  });
  await ask(daemon, "budgets.put", {
    subject: "/config",
    budget_key: { period: "daily" },
    amount: 7,
  });
  await ask(daemon, "budgets.put", { subject: "/b", budget_key: { period: "daily" }, amount: 1 });
  const empty = { rules: new Map(), budgets: new Map() };
  const shown = plannedAtOnce(daemon, empty, { prune: true, takeOver: false });
  t.strictSame(shown.changes, [
    {
      ...{ ...ruleNamed, action: "revert", before: { max_requests: 7, per_child: false } },
      ...{ after: ofRule, ...ruleAt },
    },
    {
      ...{ ...budgetNamed, subject: "/b", action: "remove" },
      before: { amount: 1, per_child: false },
    },
    {
      ...{ ...budgetNamed, action: "revert", before: { amount: 7, per_child: false } },
      ...{ after: ofBudget, ...budgetAt },
    },
  ]);
});

t.test("what would do nothing is said of what is added, and of nothing that goes", async (t) => {
  const daemon = configured(false);
  const file = {
    rules: byId(ruleId, [pathRule("/new", 60, { tokens: 5 })]),
    budgets: byId(budgetId, [{ ...configuredBudget, subject: "/new" }]),
  };
  const shown = plannedAtOnce(daemon, file, { prune: false, takeOver: false });
  t.match(
    shown.changes,
    exactly([
      { kind: "rule", inert: /usage/ },
      { kind: "budget", inert: "budgets need usage tracking, which is off" },
    ]),
  );
});
