import t from "tap";
import { numberAdvice, periodAdvice } from "../../../shared/text/written-number.js";

t.test("a number as people write it is answered with what to write", async (t) => {
  for (const [raw, value] of [
    ["200k", 200_000],
    ["1,000", 1000],
    ["1.5M", 1_500_000],
    ["32MB", 33_554_432],
    ["12,50", 12.5],
    ["$50", 50],
    ["50 usd", 50],
    ["10_000", 10_000],
  ] as const)
    t.equal(numberAdvice(raw), `: write ${value}`, raw);
  for (const [raw, unit, value] of [
    ["30s", "seconds", 30],
    ["2s", "milliseconds", 2000],
    ["500 ms", "seconds", 0.5],
    ["5m", "seconds", 300],
    ["30d", "days", 30],
    ["2w", "days", 14],
    ["10k", "milliseconds", 10_000],
  ] as const)
    t.equal(numberAdvice(raw, unit), `: write ${value}`, raw);
  for (const raw of ["x", "", "5x", "30s", "9007199254740992", "-3k", "12", 7, null, "1e5", "five"])
    t.equal(numberAdvice(raw), "", String(raw));
});

t.test("a period without a name is answered with its seconds", async (t) => {
  for (const [raw, seconds] of [
    ["monthly", 2_592_000],
    ["Weekly", 604_800],
    ["1m", 60],
    ["5min", 300],
    ["2h", 7200],
    ["24hours", 86_400],
    ["90sec", 90],
    ["7d", 604_800],
  ] as const)
    t.equal(periodAdvice(raw, "period_seconds"), `: write ${seconds} as period_seconds`, raw);
  for (const raw of ["soon", "", 5, null, "1x"]) t.equal(periodAdvice(raw, "f"), "", String(raw));
});
