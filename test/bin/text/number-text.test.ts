import t from "tap";
import {
  formatCount,
  formatUsd,
  plainUsd,
  usdDecimals,
  withCurrency,
} from "../../../bin/text/number-text.js";

t.test("counts have thousands separators", async (t) => {
  for (const [count, text] of [
    [0, "0"],
    [999, "999"],
    [1000, "1,000"],
    [1_234_567, "1,234,567"],
    [Number.MAX_SAFE_INTEGER, "9,007,199,254,740,991"],
  ] as const)
    t.equal(formatCount(count), text);
});

t.test("money has only meaningful decimals, and an amount is never shown as zero", async (t) => {
  const table = [
    [0, "$0.00"],
    [1234.5, "$1,234.50"],
    [1, "$1.00"],
    [0.999, "$0.9990"],
    [0.01, "$0.0100"],
    [0.0099, "$0.009900"],
    [0.000001, "$0.000001"],
    [0.000_000_4, "<$0.000001"],
  ] as const;
  for (const [usd, text] of table) t.equal(formatUsd(usd, usdDecimals(usd)), text);
  t.equal(formatUsd(0.004, 2), "<$0.01");
  t.equal(formatUsd(0.006, 2), "$0.01");
  t.equal(formatUsd(0, 2), "$0.00");
  t.equal(formatUsd(-1234.5, 2), "-$1,234.50");
  t.equal(plainUsd(-3), "-$3.00");
});

t.test("a refusal for money says which money, any other stays as it is", async (t) => {
  for (const [message, shown] of [
    [
      "budget exceeded for /team daily limit: spent 8.5 of 8",
      "budget exceeded for /team daily limit: spent $8.50 of $8.00",
    ],
    ["rate limit exceeded for /spent 1 of 2", "rate limit exceeded for /spent 1 of 2"],
    ["-", "-"],
  ] as const)
    t.equal(withCurrency(message), shown);
});
