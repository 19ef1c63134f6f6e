import fc from "fast-check";
import t from "tap";
import { exactUsd, plainRate, readAmount, shownUsd } from "../../../bin/reconcile/amount.js";

t.test("decimals are exact, as text, as JSON's numbers, and in cents", async (t) => {
  const cases: readonly (readonly [unknown, number, bigint, number])[] = [
    ["0.8958740000000000", 0, 895_874_000_000n, 6],
    [0.1, 0, 100_000_000_000n, 1],
    ["123.78912", 2, 1_237_891_200_000n, 7],
    ["12345", 2, 123_450_000_000_000n, 2],
    [1e-7, 0, 100_000n, 7],
    ["-0.5", 0, -500_000_000_000n, 1],
    [1.5e3, 0, 1_500_000_000_000_000n, 0],
    ["0.0000000000005", 0, 1n, 13],
    ["0.0000000000004", 0, 0n, 13],
    ["90071992547409.93", 0, 90_071_992_547_409_930_000_000_000n, 2],
  ];
  for (const [value, places, pico, decimals] of cases)
    t.same(readAmount(value, places), { pico, decimals }, String(value));
  for (const value of ["", ".", "1,5", "$1", "1 USD", "NaN", null, undefined, {}, "0x10"])
    t.equal(readAmount(value), null, JSON.stringify(value) ?? "undefined");
});

t.test("what is printed exactly is read exactly", async () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }), (pico) => {
      return readAmount(exactUsd(pico))?.pico === pico;
    }),
  );
});

t.test("people see rounded dollars with their sign", async (t) => {
  t.equal(shownUsd(-1_234_500_000_000_000n, 2), "-$1,234.50");
  t.equal(shownUsd(0n, 2), "$0.00");
});

t.test("a rate has as few decimals as the rounding of the bill allows", async (t) => {
  const rate = (usd: string, quantity: bigint): string =>
    plainRate({ amount: readAmount(usd)!.pico, quantity }, 1_000_000n, 500_000n);
  t.equal(rate("0.15", 1_000_001n), "0.15");
  t.equal(rate("0.2", 333_333n), "0.6");
  t.equal(rate("2.5", 1_000_000n), "2.5");
  t.equal(rate("0", 100n), "0");
});
