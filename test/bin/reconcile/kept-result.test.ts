import t from "tap";
import { keptResult } from "../../../bin/reconcile/kept-result.js";
import { reconcile } from "../../../bin/reconcile/reconcile.js";
import { parseReconciliation } from "../../../shared/api/reconciliation-item.js";
import { reconciliationBytesMax } from "../../../shared/bounds.js";
import { billOf, everyKind, usageOf } from "./made-bill.js";

const head = {
  ...{ provider: "openai", source: "exported" },
  ...{ startDate: "2026-11-20", endDate: "2026-11-21", pairs: new Map() },
};
t.test("the kept result sums over days, and has what differs, the most first", async (t) => {
  const usage = [
    usageOf({ quantities: { input: 100 }, costs: { input: "1" } }),
    usageOf({ day: "2026-11-21", quantities: { input: 100 }, costs: { input: "1" } }),
    usageOf({ model: "exact", quantities: { input: 10 }, costs: { input: "1" } }),
    usageOf({ model: "small", quantities: { input: 10 }, costs: { input: "1" } }),
  ];
  const bill = [
    ...billOf({ input: [100, "2"] }),
    ...billOf({ input: [100, "2"] }, { day: "2026-11-21" }),
    ...billOf({ input: [10, "1"] }, { model: "exact" }),
    ...billOf({ input: [12, "1.2"] }, { model: "small" }),
    ...billOf({ other: [null, "0.5"] }),
  ];
  const result = reconcile(usage, { rows: bill, separates: everyKind, decimals: 6 });
  const kept = keptResult({ ...head, prices: ["prices:"], notes: ["a note"] }, result);
  t.same(kept, {
    ...{ provider: "openai", source: "exported" },
    ...{ start_date: "2026-11-20", end_date: "2026-11-21" },
    ...{ recorded_usd: "4", billed_usd: "6.7", difference_usd: "2.7", gap_usd: "2.7" },
    gap_percent: 40.3,
    causes: { stale_price: "2", past_sluice: "0.2", unclassified: "0.5" },
    models: [
      {
        ...{ project: null, model: "model", recorded_usd: "2", billed_usd: "4.5" },
        causes: { stale_price: "2", unclassified: "0.5" },
      },
      {
        ...{ project: null, model: "small", recorded_usd: "1", billed_usd: "1.2" },
        causes: { past_sluice: "0.2" },
      },
    ],
    quantities: [{ model: "small", tier: "standard", kind: "input", recorded: 10, billed: 12 }],
    unknown_lines: [{ text: "other", billed_usd: "0.5" }],
    ...{ prices: ["prices:"], notes: ["a note"] },
  });
  t.ok(parseReconciliation(kept).ok);
});

t.test("a large result is cut until it fits, and says so", async (t) => {
  const names = Array.from({ length: 500 }, (_, i) => `model-${i}-${"x".repeat(300)}`);
  const bill = names.flatMap((model) => billOf({ input: [10, "1"] }, { model }));
  const result = reconcile([], { rows: bill, separates: everyKind, decimals: 6 });
  const many = Array.from({ length: 500 }, (_, i) => `line ${i} ${"x".repeat(100)}`);
  const kept = keptResult({ ...head, prices: many, notes: [] }, result);
  t.ok(parseReconciliation(kept).ok);
  t.ok(JSON.stringify(kept).length > reconciliationBytesMax / 4, "not more than needed");
  t.match(kept.notes.join(), /^of each list at most \d+ entries are kept: the report has all$/);
  t.equal(kept.billed_usd, "500", "the totals are of all");
  const noted = keptResult(
    { ...head, prices: [], notes: many },
    reconcile([], { rows: [], separates: everyKind, decimals: 6 }),
  );
  t.match(
    noted.notes.at(-1),
    /^of each list at most \d+ entries/,
    "notes, too, aren't cut without a word",
  );
});
