import t from "tap";
import { paired } from "./paired.js";

t.test("a median of ratios has the interval that the binomial distribution gives it", async (t) => {
  // Ranks from 1, of tables of distribution-free intervals (the first below, the last above), or
  // the next wider ones.
  for (const [count, lower, upper] of [
    [6, 1, 6],
    [20, 5, 16],
    [50, 18, 33],
    [100, 40, 61],
    [300, 133, 168],
  ] as const) {
    const starts = Array.from({ length: count }, (_, i) => [i + 1]).reverse();
    const { sure } = paired(
      starts,
      starts.map(() => [1]),
    );
    t.strictSame(sure, [lower, upper], `of ${count}`);
    t.ok(insideShare(count, lower, upper) >= 0.95, `of ${count}, it is sure enough`);
  }
});

t.test("what is compared is the values of one turn, and each start counts once", async (t) => {
  const ours = [[10, 40, 90, 8, 22], [30], [12]];
  const theirs = [[10, 10, 60, 8, 20], [10], [10]];
  const { median, quartiles } = paired(ours, theirs);
  t.equal(median, 1.2, "of 1.1, 3 and 1.2");
  t.strictSame(quartiles, [1, 3], "of all seven");
});

/** That a coin's heads in so many throws are enough for one rank and too few for the other. */
function insideShare(count: number, lower: number, upper: number): number {
  let share = 0;
  let ways = Math.exp(-count * Math.LN2);
  for (let heads = 0; heads <= count; heads++) {
    if (heads >= lower && heads < upper) share += ways;
    ways *= (count - heads) / (heads + 1);
  }
  return share;
}
