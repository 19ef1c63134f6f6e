import fc from "fast-check";
import t from "tap";
import {
  addRows,
  periodsInRow,
  rowText,
  sumFromText,
  sumText,
} from "../../../../limiterd/cluster/spend/spend-row.js";
import { picoOf } from "../../usage/usage-fixture.js";

const sum = fc.record({
  microUsd: fc.maxSafeNat(),
  picoUsd: fc.nat({ max: 999_999 }),
});

t.test("a sum is its exact number of dollars, and is read as it was written", async (t) => {
  t.equal(sumText({ microUsd: 0, picoUsd: 1 }), "0.000000000001");
  t.equal(sumText({ microUsd: 12_345_678, picoUsd: 90 }), "12.345678000090");
  fc.assert(
    fc.property(sum, (written) => {
      const read = sumFromText(sumText(written));
      return read !== null && picoOf(read) === picoOf(written);
    }),
  );
});

t.test("what never was a row counts nothing", async (t) => {
  for (const text of [
    "",
    "x",
    "1;",
    "1;5",
    "1;5,1,1",
    "1;5,1.000000000000",
    "1;5,1.000000000000,1,2",
    "1;5,-1.000000000000,1",
    "1;5,1e3,1",
    "1;5,9007199255.000000000000,1",
    "1;5,1.000000000000,99999999999999999999",
    `1${";5,1.000000000000,1".repeat(34)}`,
  ])
    t.equal(periodsInRow(text, 1), null, text);
});

t.test("a row of a host that hasn't heard of a reset counts in other periods alone", async (t) => {
  const row = rowText(null, [
    { startMs: 10, spent: { microUsd: 1, picoUsd: 0 }, requests: 1 },
    { startMs: 20, spent: { microUsd: 2, picoUsd: 0 }, requests: 1 },
  ]);
  const startsOf = (resetAtMs: number | null): unknown =>
    periodsInRow(row, resetAtMs)!.map(({ startMs }) => startMs);
  t.same(startsOf(null), [10, 20]);
  t.same(startsOf(5), [10, 20], "a reset before both");
  t.same(startsOf(15), [20]);
  t.same(startsOf(25), []);
  t.equal(periodsInRow("25;20,0.000001000000,1", 25)!.length, 1, "that has heard of it");
  t.equal(periodsInRow("26;20,0.000001000000,1", null)!.length, 1, "a later one");
});

t.test("rows add up exactly, each period for itself", async () => {
  const row = fc.uniqueArray(fc.record({ startMs: fc.integer({ min: -9, max: 9 }), sum }), {
    maxLength: 3,
    selector: ({ startMs }) => startMs,
  });
  fc.assert(
    fc.property(fc.array(row, { maxLength: 5 }), (hosts) => {
      const rows = hosts.map((periods) => {
        const spends = periods
          .map(({ startMs, sum: spent }) => ({
            startMs,
            spent: { ...spent, microUsd: Math.floor(spent.microUsd / 5) },
            requests: 2,
          }))
          .sort((a, b) => a.startMs - b.startMs);
        return { spends, text: rowText(7, spends) };
      });
      const added = addRows(rows.map(({ text }) => periodsInRow(text, 7)!));
      for (const { startMs, spent, requests } of added) {
        const parts = rows.flatMap(({ spends }) => spends.filter((at) => at.startMs === startMs));
        if (picoOf(spent) !== parts.reduce((pico, part) => pico + picoOf(part.spent), 0n))
          return false;
        if (requests !== 2 * parts.length) return false;
      }
      return true;
    }),
  );
});
