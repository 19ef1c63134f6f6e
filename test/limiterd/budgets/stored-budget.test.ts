import t from "tap";
import type { Budget } from "../../../limiterd/budgets/budget-account.js";
import { BudgetBook } from "../../../limiterd/budgets/budget-book.js";
import {
  budgetChange,
  budgetFromStored,
  resetChange,
  resetFromStored,
  spendFromStored,
  spendKey,
  splitSpendKey,
} from "../../../limiterd/budgets/stored-budget.js";
import { periodSecondsMax } from "../../../shared/bounds.js";
import { amountUsdMax } from "../../../shared/domain/budget.js";
import { perSession } from "../../../shared/domain/budget-calendar.js";
import { defaultAnchors } from "../../../shared/domain/reset-anchors.js";
import { never, takenDespite } from "../../support/damaged-fields.js";

const book = new BudgetBook({ spentOnDays: () => null, lastRecordKey: () => 0 }, defaultAnchors);
const fields = {
  definition: {
    scope: "user_path",
    subject: "/team",
    periodSeconds: periodSecondsMax,
    amountUsd: 2.5,
    perChild: true,
  },
  source: "manual",
  createdAtMs: 1,
  updatedAtMs: 2,
  sinceMs: 3,
  sinceKey: 4,
  isBackfilling: true,
} as const;
const budget: Budget = book.restore(fields);
const stored = budgetChange(budget).value!;

t.test("a budget comes back as it went in, unless its amount is beyond the bound", async (t) => {
  t.strictSame(budgetFromStored(stored), fields);
  t.equal(budgetFromStored(stored.with(3, amountUsdMax))?.definition.amountUsd, amountUsdMax);
  t.equal(budgetFromStored(stored.with(3, 1e300)), null);
  const refusing = { ...fields, definition: { ...fields.definition, unpriced: "refuse" } } as const;
  const value = budgetChange({ id: budget.id, ...refusing }).value!;
  t.strictSame(budgetFromStored(value), refusing);
  for (const wrong of [...never.text, "", null])
    t.equal(budgetFromStored(value.with(-1, wrong)), null, String(wrong));
});

t.test("what an exhausted budget does is kept", async (t) => {
  for (const onExhausted of ["warn", { use: "cheap" }] as const) {
    const exhaustible = { ...fields, definition: { ...fields.definition, onExhausted } };
    const value = budgetChange({ id: budget.id, ...exhaustible }).value!;
    t.strictSame(budgetFromStored(value), exhaustible);
    for (const wrong of ["stop", 5, true, [], {}, { use: " " }, { use: "a", then: "b" }])
      t.equal(budgetFromStored(value.with(-1, wrong)), null, JSON.stringify(wrong));
  }
});

t.test("nothing is taken for a budget but what was written as such", async (t) => {
  const { text, flag, count } = never;
  const moment = [...count, Number.MAX_SAFE_INTEGER];
  t.strictSame(
    takenDespite(
      stored,
      [
        [...text, "other", "label"],
        text,
        [...count, periodSecondsMax + 1],
        ["1", null, 0, -1, Number.NaN],
        flag,
        [...text, "other"],
        moment,
        moment,
        moment,
        count,
        flag,
      ],
      budgetFromStored,
    ),
    [],
  );
});

t.test("a budget of sessions comes back, and is one of a path", async (t) => {
  const ofSessions = stored.with(2, perSession);
  t.equal(budgetFromStored(ofSessions)?.definition.periodSeconds, perSession);
  t.equal(budgetFromStored(ofSessions.with(0, "label").with(4, false)), null);
});

t.test("the key of an account holds its budget and its child", async (t) => {
  for (const child of ["", "x"])
    t.same(splitSpendKey(spendKey(budget.id, child)), { budgetId: budget.id, child });
});

t.test("resets come back, those of a week that began before the epoch too", async (t) => {
  const resets = [
    { startMs: -259_200_000, recordKey: 5 },
    { startMs: 7, recordKey: 8 },
  ];
  const { value } = resetChange({ ...budget, resets } as unknown as Budget, 9);
  t.strictSame(value, [9, -259_200_000, 5, 7, 8]);
  t.strictSame(resetFromStored(value!), { atMs: 9, periods: resets });
  t.strictSame(resetFromStored([9]), { atMs: 9, periods: [] }, "as earlier versions wrote it");
});

t.test("nothing is taken for resets or spends but what was written as such", async (t) => {
  const { count } = never;
  const start = ["1", null, 0.5, 2 ** 53];
  t.strictSame(
    takenDespite([9, 1, 5, 7, 8], [count, start, count, start, count], resetFromStored),
    [],
  );
  for (const wrong of [[9, 1], [9, 1, 2, 3], [9, ...Array(8).fill(1)], []])
    t.equal(resetFromStored(wrong), null, JSON.stringify(wrong));
  for (const wrong of [[], [7], [-1], ["7"], [7, 1]]) t.equal(spendFromStored(wrong), null);
});
