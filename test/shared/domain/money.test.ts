import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { costPicoUsdMax } from "../../../shared/bounds.js";
import {
  addCost,
  addSum,
  compareSums,
  costUsd,
  differenceOf,
  emptySum,
  isPicoUsd,
  isSaturated,
  type MoneySum,
  picoFromUsd,
  sumFromUsd,
  sumOfCost,
  sumUsd,
  usdText,
} from "../../../shared/domain/money.js";

const cost = fc.integer({ min: 0, max: costPicoUsdMax });
const sumOf = (costs: readonly number[]): MoneySum => {
  const sum = emptySum();
  for (const one of costs) addCost(sum, one);
  return sum;
};
const asBigInt = ({ microUsd, picoUsd }: MoneySum): bigint =>
  BigInt(microUsd) * 1_000_000n + BigInt(picoUsd);

t.test(
  "a million costs sum to what an independent BigInt sum says, to the pico-dollar, and the dollars to the micro-dollar",
  async (t) => {
    // Odd counts at $0.0375 per million tokens: each is half a nano-dollar off whole ones, always
    // to the same side.
    let state = 12345;
    const ours = emptySum();
    const floating = { usd: 0 };
    let exact = 0n;
    for (let i = 0; i < 1_000_000; i++) {
      state = (state * 48_271) % 2_147_483_647;
      const one = i % 2 === 0 ? 37_500 * ((state % 1000) * 2 + 1) : state * 4_000;
      addCost(ours, one);
      floating.usd += one / 1e12;
      exact += BigInt(one);
    }
    t.equal(asBigInt(ours), exact);
    const micros = (exact + 500_000n) / 1_000_000n;
    t.equal(sumUsd(ours), Number(micros) / 1e6);
    t.equal(
      JSON.stringify(sumUsd(ours)),
      `${micros / 1_000_000n}.${String(micros % 1_000_000n).padStart(6, "0")}`.replace(/0+$/, ""),
    );
    t.not(floating.usd, sumUsd(ours), "a sum of floating point numbers would not have done");
  },
);

t.test("sums agree with BigInt for any costs in any order, and sums of sums too", async () => {
  fc.assert(
    fc.property(fc.array(cost, { maxLength: 60 }), fc.nat(), (costs, cut) => {
      const exact = costs.reduce((sum, one) => sum + BigInt(one), 0n);
      assert.equal(asBigInt(sumOf(costs)), exact);
      assert.deepEqual(sumOf([...costs].reverse()), sumOf(costs));
      const at = cut % (costs.length + 1);
      const parts = sumOf(costs.slice(0, at));
      addSum(parts, sumOf(costs.slice(at)));
      assert.deepEqual(parts, sumOf(costs));
      assert.ok(parts.picoUsd < 1_000_000 && parts.picoUsd >= 0);
    }),
  );
});

t.test("a sum says once that it has reached its bound", async (t) => {
  const sum = emptySum();
  const most = { microUsd: Number.MAX_SAFE_INTEGER - 1, picoUsd: 999_999 };
  t.equal(addSum(sum, most), false);
  t.equal(addSum(sum, emptySum()), false);
  t.equal(addSum(sum, { microUsd: 0, picoUsd: 1 }), true);
  t.ok(isSaturated(sum));
  t.equal(addSum(sum, { microUsd: 1, picoUsd: 1 }), false, "it is there already");
  t.same(sum, { microUsd: Number.MAX_SAFE_INTEGER, picoUsd: 0 });
});

t.test("sums compare as their amounts do", async () => {
  fc.assert(
    fc.property(fc.array(cost, { maxLength: 5 }), fc.array(cost, { maxLength: 5 }), (a, b) => {
      const [left, right] = [sumOf(a), sumOf(b)];
      assert.equal(
        Math.sign(compareSums(left, right)),
        asBigInt(left) > asBigInt(right) ? 1 : asBigInt(left) < asBigInt(right) ? -1 : 0,
      );
    }),
  );
});

t.test(
  "dollars are rounded half up to the micro-dollar, once, and print without noise",
  async (t) => {
    const table: readonly (readonly [pico: number, usd: string])[] = [
      [0, "0"],
      [1, "0"],
      [499_999, "0"],
      [500_000, "0.000001"],
      [1_499_999, "0.000001"],
      [300_000_000_000, "0.3"],
      [123_456_789_000_000, "123.456789"],
    ];
    for (const [pico, usd] of table) t.equal(JSON.stringify(sumUsd(sumOf([pico]))), usd, `${pico}`);
    t.equal(
      JSON.stringify(sumUsd({ microUsd: 999_999_999_999_999, picoUsd: 0 })),
      "999999999.999999",
      "just under a billion",
    );
    t.equal(costUsd(37_500), 3.75e-8);
  },
);

t.test(
  "a reported number of dollars becomes the cost that it names; nonsense becomes none",
  async (t) => {
    const table: readonly (readonly [usd: unknown, pico: number | null])[] = [
      [0, 0],
      [0.00014, 140_000_000],
      [0.1 + 0.2, 300_000_000_000],
      [0.95, 950_000_000_000],
      [1e-13, 0],
      [5e-13, 1],
      [9000, costPicoUsdMax],
      [9000.01, null],
      [-0.01, null],
      [NaN, null],
      [Infinity, null],
      ["0.1", null],
      [null, null],
    ];
    for (const [usd, pico] of table) t.equal(picoFromUsd(usd), pico, String(usd));
    t.same(sumFromUsd(1_000_000.5), { microUsd: 1_000_000_500_000, picoUsd: 0 });
    t.same(sumFromUsd(0), emptySum());
    for (const usd of [-1, NaN, Infinity, 1e10, "1"]) t.equal(sumFromUsd(usd), null, String(usd));
  },
);

t.test(
  "what is no cost is never added, and a sum stops at nine billion dollars, in any order",
  async (t) => {
    const sum = sumOfCost(2_500_000);
    addCost(sum, -1_700_001);
    t.same(sum, { microUsd: 0, picoUsd: 799_999 }, "an estimate that is taken back");
    addSum(sum, sumOfCost(-1_700_001));
    t.same(sum, emptySum(), "there is never less than nothing");
    t.equal(usdText(-1_500_000), "-0.0000015");
    for (const wrong of [-costPicoUsdMax - 1, 0.5, NaN, costPicoUsdMax + 1]) {
      t.notOk(isPicoUsd(wrong));
      t.throws(() => addCost(emptySum(), wrong), /assertion failed/, `${wrong}`);
    }
    const parts = [
      { microUsd: Number.MAX_SAFE_INTEGER - 1, picoUsd: 999_999 },
      { microUsd: 0, picoUsd: 1 },
      { microUsd: Number.MAX_SAFE_INTEGER, picoUsd: 0 },
      { microUsd: 0, picoUsd: 5 },
      { microUsd: 5, picoUsd: 7 },
    ];
    t.notOk(isSaturated(parts[0]!));
    for (const order of [parts, [...parts].reverse(), [parts[1]!, parts[0]!]]) {
      const sum = emptySum();
      for (const part of order) addSum(sum, part);
      t.same(sum, { microUsd: Number.MAX_SAFE_INTEGER, picoUsd: 0 });
      t.ok(isSaturated(sum));
    }
  },
);

t.test("sums that differ below a micro-dollar, or not at all, compare so too", async (t) => {
  const sum = (picoUsd: number, microUsd = 5) => ({ microUsd, picoUsd });
  t.ok(compareSums(sum(7), sum(8)) < 0);
  t.ok(compareSums(sum(8), sum(7)) > 0);
  t.equal(compareSums(sum(7), sum(7)), 0);
  t.ok(compareSums(sum(9, 4), sum(0)) < 0);
});

t.test("a difference is exact, and nothing where the part is more", async () => {
  fc.assert(
    fc.property(fc.array(cost, { maxLength: 5 }), fc.array(cost, { maxLength: 5 }), (a, b) => {
      const [sum, part] = [sumOf(a), sumOf(b)];
      const exact = asBigInt(sum) - asBigInt(part);
      const found = differenceOf(sum, part);
      assert.equal(asBigInt(found), exact < 0n ? 0n : exact);
      assert.ok(found.picoUsd >= 0 && found.picoUsd < 1_000_000);
    }),
  );
  const one = { microUsd: 1, picoUsd: 0 };
  assert.deepEqual(differenceOf(one, { microUsd: 0, picoUsd: 1 }), {
    microUsd: 0,
    picoUsd: 999_999,
  });
  assert.deepEqual(differenceOf(one, { microUsd: 1, picoUsd: 1 }), emptySum());
  assert.deepEqual(differenceOf(one, one), emptySum());
  const more = { microUsd: 5, picoUsd: 7 };
  assert.deepEqual(differenceOf(more, { microUsd: 2, picoUsd: 7 }), { microUsd: 3, picoUsd: 0 });
});

t.test("a cost is written as a plain decimal, exactly", async (t) => {
  for (const [pico, text] of [
    [0, "0"],
    [1, "0.000000000001"],
    [1_500_000, "0.0000015"],
    [10 ** 12, "1"],
    [2_500_000_000_000, "2.5"],
    [10 ** 13 + 10, "10.00000000001"],
  ] as const)
    t.equal(usdText(pico), text);
});
