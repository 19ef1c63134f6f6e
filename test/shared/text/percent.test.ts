/** Percentages as people read them. */
import t from "tap";
import { formatPercent, formatShare } from "../../../shared/text/percent.js";

t.test("a percentage is rounded to its decimals, with groups of thousands", async (t) => {
  t.equal(formatPercent(0.826), "83%");
  t.equal(formatPercent(0.024, 1), "2.4%");
  t.equal(formatPercent(0, 2), "0.00%");
  t.equal(formatPercent(0.125, 2, 0), "12.5%");
  t.equal(formatPercent(12.344), "1,234%");
});

for (const [share, text] of [
  [0, "0%"],
  [0.004, "<1%"],
  [0.29, "29%"],
  [0.829, "82%"],
  [0.999, "99%"],
  [1, "100%"],
  [1.204, "120%"],
] as const)
  t.test(`a share of ${share} is ${text}`, async (t) => {
    t.equal(formatShare(share), text);
  });
