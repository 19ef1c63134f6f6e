import { readFileSync } from "node:fs";
import fc from "fast-check";
import t from "tap";
import { divideRounded, exactUsd, type Pico } from "../../../bin/reconcile/amount.js";
import type { BillRow, Kind } from "../../../bin/reconcile/bill.js";
import type { UsageRow } from "../../../bin/reconcile/our-usage.js";
import { priceLines } from "../../../bin/reconcile/price-lines.js";
import { type Reconciliation, reconcile } from "../../../bin/reconcile/reconcile.js";
import { type Cause, causeNames } from "../../../shared/api/bill-causes.js";
import { disagreements } from "./disagreements.js";
import { billOf, everyKind, usageOf } from "./made-bill.js";

const of = (rows: readonly BillRow[], decimals = 6) => ({ rows, separates: everyKind, decimals });

/** Causes with an amount, in dollars to four places; rounding is left out. */
function causesOf({ causes }: Reconciliation): Readonly<Record<string, string>> {
  return Object.fromEntries(
    causeNames.flatMap((cause) => {
      const rounded = divideRounded(causes[cause], 100_000_000n);
      return cause === "rounding" || rounded === 0n
        ? []
        : [[cause, (Number(rounded) / 10_000).toFixed(4)]];
    }),
  );
}

function sumOf({ causes }: Pick<Reconciliation, "causes">): Pico {
  return causeNames.reduce((sum, cause) => sum + causes[cause], 0n);
}

for (const { name, source, usage, bill, causes } of disagreements) {
  t.test(`${name} (${source})`, async (t) => {
    const separates = new Set(
      bill.flatMap(({ item }) => (everyKind.has(item as Kind) ? [item as Kind] : [])),
    );
    const result = reconcile(usage, { rows: bill, separates, decimals: 6 });
    const expected = Object.fromEntries(
      Object.entries(causes).filter(([, amount]) => Number(amount) !== 0),
    );
    t.same(causesOf(result), expected);
    t.equal(sumOf(result), result.billed - result.recorded);
  });
}

const quantity = fc.integer({ min: 0, max: 5_000_000 });
const place = fc.record({
  day: fc.constantFrom("2026-11-20", "2026-11-21"),
  model: fc.constantFrom("a", "b", "c"),
  tier: fc.constantFrom("standard", "priority", "batch"),
  region: fc.constantFrom("", "us"),
});
const someKinds = ["input", "cached_input", "output", "web_searches", "images"] as const;
/** Pico-dollars for one. */
const rateOf: Readonly<Record<(typeof someKinds)[number], bigint>> = {
  input: 2_500_000n,
  cached_input: 250_000n,
  output: 10_000_000n,
  web_searches: 10_000_000_000n,
  images: 40_000_000_000n,
};
const groupOf = {
  input: "input",
  cached_input: "input",
  output: "output",
  web_searches: "tools",
  images: "units",
} as const;

const anyUsage = fc
  .array(
    fc.tuple(
      place,
      fc.record(Object.fromEntries(someKinds.map((kind) => [kind, quantity]))),
      fc.integer({ min: 0, max: 50 }),
    ),
    { maxLength: 8 },
  )
  .map((rows) =>
    rows.map(([where, quantities, requests]): UsageRow => {
      const costs = { input: 0n, output: 0n, units: 0n, tools: 0n };
      for (const kind of someKinds)
        costs[groupOf[kind]] += BigInt(quantities[kind] ?? 0) * rateOf[kind];
      return { ...usageOf({ quantities }), ...where, requests, costs };
    }),
  );

/** The bill of a provider that has seen exactly this usage. */
function exactBill(usage: readonly UsageRow[]): readonly BillRow[] {
  return usage.flatMap(({ day, model, tier, region, quantities, requests }) => {
    const row = { day, model, tier, region, project: null, text: null };
    return [
      { ...row, item: "requests" as const, quantity: requests, amount: null },
      ...someKinds
        .filter((kind) => (quantities[kind] ?? 0) > 0)
        .map((kind) => ({
          ...row,
          item: kind,
          quantity: quantities[kind]!,
          amount: BigInt(quantities[kind]!) * rateOf[kind],
        })),
    ];
  });
}

t.test("quantities and amounts that agree give no difference", async () => {
  fc.assert(
    fc.property(anyUsage, (usage) => {
      const result = reconcile(usage, of(exactBill(usage)));
      return (
        result.gap === 0n &&
        result.billed === result.recorded &&
        causeNames.every((cause) => result.causes[cause] === 0n)
      );
    }),
    { numRuns: 300 },
  );
});

t.test("every part of a difference has one cause: the causes add up exactly", async () => {
  const anyRow: fc.Arbitrary<BillRow> = fc
    .record({
      place,
      item: fc.constantFrom(
        ...someKinds,
        "requests" as const,
        "total" as const,
        "credit" as const,
        "tool" as const,
        "other" as const,
        "audio_input" as const,
      ),
      quantity: fc.option(quantity),
      amount: fc.option(fc.bigInt({ min: -(10n ** 15n), max: 10n ** 16n })),
      isNamed: fc.boolean(),
    })
    .map(({ place: where, item, quantity: number, amount, isNamed }) => ({
      ...where,
      model: isNamed ? where.model : null,
      project: null,
      item,
      quantity: number,
      amount: item === "requests" ? null : amount,
      text: "line",
    }));
  const anyFlaws = fc.record({
    unpriced: fc.boolean(),
    estimated: fc.boolean(),
    room: fc.integer({ min: 0, max: 100_000 }),
  });
  fc.assert(
    fc.property(
      anyUsage,
      anyUsage,
      fc.array(anyRow, { maxLength: 12 }),
      fc.tuple(fc.array(anyFlaws, { maxLength: 8 }), fc.constantFrom(2, 6, 12)),
      (usage, seen, more, [flaws, decimals]) => {
        const ours = usage.map((row, at): UsageRow => {
          const flaw = flaws[at];
          return flaw === undefined
            ? row
            : {
                ...row,
                unpriced: flaw.unpriced ? row.quantities : {},
                costs: flaw.unpriced ? usageOf({ quantities: {} }).costs : row.costs,
                estimated: flaw.estimated ? row.quantities : {},
                estimateRoom: flaw.room,
              };
        });
        const result = reconcile(ours, of([...exactBill(seen), ...more], decimals));
        return (
          sumOf(result) === result.billed - result.recorded &&
          result.cells.every(
            (cell) =>
              causeNames.reduce((sum, cause) => sum + (cell.causes[cause] ?? 0n), 0n) ===
              cell.billed - cell.recorded,
          )
        );
      },
    ),
    { numRuns: 500 },
  );
});

t.test("a planted fault has its own cause, and no other", async (t) => {
  const usage = [
    usageOf({
      requests: 10,
      quantities: { input: 1_000_000, cached_input: 500_000, output: 100_000 },
      costs: { input: "2.625", output: "1" },
    }),
  ];
  const seen = {
    requests: [10, null],
    input: [1_000_000, "2.5"],
    cached_input: [500_000, "0.125"],
    output: [100_000, "1"],
  } as const;
  const other = { ...seen, requests: [1, null] } as const;
  const faults: readonly (readonly [Cause, readonly BillRow[], Pico])[] = [
    ["past_sluice", [...billOf(seen), ...billOf(other, { model: "unseen" })], 3_625n],
    ["stale_price", billOf({ ...seen, output: [100_000, "1.2"] }), 200n],
    ["batch", [...billOf(seen), ...billOf(other, { tier: "batch" })], 3_625n],
    ["tier", billOf(seen, { tier: "priority" }), 0n],
    ["credits", [...billOf(seen), ...billOf({ credit: [null, "-0.5"] })], -500n],
    ["tool_fee", [...billOf(seen), ...billOf({ tool: [null, "0.03"] })], 30n],
    ["unclassified", [...billOf(seen), ...billOf({ other: [null, "0.07"] })], 70n],
    ["tokens_not_read", billOf({ ...seen, output: [150_000, "1.5"] }), 500n],
    ["not_billed", billOf({ ...seen, output: [50_000, "0.5"] }), -500n],
    ["rounding", billOf({ ...seen, output: [100_000, "1.000001"] }), 0n],
  ];
  for (const [cause, rows, milli] of faults) {
    const { causes } = reconcile(usage, of(rows));
    const found = causeNames.filter((name) => causes[name] !== 0n);
    t.same(found, cause === "tier" ? [] : [cause], cause);
    if (cause !== "rounding") t.equal(causes[cause], milli * 1_000_000_000n, cause);
  }
});

t.test("credits and rounding aren't a gap, and faults that cancel out are", async (t) => {
  const usage = [
    usageOf({ model: "a", quantities: { output: 1_000_000 }, costs: { output: "10" } }),
    usageOf({ model: "b", quantities: { output: 1_000_000 }, costs: { output: "10" } }),
  ];
  const gap = (a: string, b: string): string =>
    exactUsd(
      reconcile(
        usage,
        of([
          ...billOf({ output: [1_000_000, a], credit: [null, "-5"] }, { model: "a" }),
          ...billOf({ output: [1_000_000, b] }, { model: "b" }),
        ]),
      ).gap,
    );
  t.equal(gap("10", "10.0000004"), "0");
  t.equal(gap("11", "9"), "2");
});

t.test("the implied rates are lines for the configuration", async (t) => {
  const usage = [
    usageOf({
      model: "new-model",
      quantities: { input: 1_000_001, output: 333_333 },
      unpriced: { input: 1_000_001, output: 333_333 },
    }),
    usageOf({
      model: "gpt-5.4",
      quantities: { input: 100, output: 1_000_000 },
      costs: { input: "0.0003", output: "12" },
    }),
  ];
  const result = reconcile(
    usage,
    of([
      ...billOf({ input: [1_000_001, "0.15"], output: [333_333, "0.2"] }, { model: "new-model" }),
      ...billOf(
        { input: [100, "0.00025"], output: [1_000_000, "15"] },
        { model: "gpt-5.4-2026-03-05" },
      ),
    ]),
  );
  t.same(priceLines("openai", result), [
    "prices:",
    '  "openai/gpt-5.4": { extends: list, input: 2.5, output: 15 }',
    '  "openai/new-model": { input: 0.15, output: 0.6 }',
  ]);
});

t.test("docs/reconcile.md has each cause", async (t) => {
  const page = readFileSync(new URL("../../../../docs/reconcile.md", import.meta.url), "utf8");
  for (const cause of causeNames) t.match(page, `\`${cause}\``);
});
