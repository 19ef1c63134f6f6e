import t from "tap";
import { createHistogram } from "./histogram.js";

t.test("a quantile is within 0.1% of the sorted list's", async (t) => {
  const histogram = createHistogram();
  const values = Array.from({ length: 5000 }, (_, n) => Math.floor(1.003 ** n) + (n % 7));
  for (const value of values) histogram.record(value);
  values.sort((a, b) => a - b);
  for (const q of [0.01, 0.25, 0.5, 0.9, 0.99, 1]) {
    const exact = values[Math.ceil(values.length * q) - 1]!;
    const measured = histogram.quantileUs(q);
    t.ok(
      Math.abs(measured - exact) <= exact * 0.001,
      `the ${q} quantile is ${exact}, not ${measured}`,
    );
  }
});

t.test(
  "an empty histogram reports 0, and a value beyond the last bucket is kept in it",
  async (t) => {
    const histogram = createHistogram();
    t.equal(histogram.quantileUs(0.5), 0);
    histogram.record(1e12);
    t.ok(histogram.quantileUs(0.5) > 2e9);
  },
);
