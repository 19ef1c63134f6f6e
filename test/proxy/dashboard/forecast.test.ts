/** Where a budget's period ends at the pace until now. */
import t from "tap";
import { forecastOf } from "../../../proxy/dashboard/web/logic/forecast.js";

const day = { period_start: "2026-11-23T00:00:00Z", period_end: "2026-11-24T00:00:00Z" };
const budget = { ...day, amount: 10, spent: 5, period_ratio: 0.25 };

t.test("the pace of the period goes on", async (t) => {
  t.same(forecastOf({ ...budget, spent: 1 }), { kind: "lasts", projected: 4 });
  // A quarter of the day took half of it: so will the next.
  t.same(forecastOf(budget), { kind: "runs-out", inSeconds: 21_600, projected: 20 });
});

t.test("it says nothing where there is nothing to say", async (t) => {
  t.equal(forecastOf({ ...budget, period_ratio: 0.01 }).kind, "unknown");
  t.equal(forecastOf({ ...budget, spent: 0 }).kind, "unknown");
  t.equal(forecastOf({ ...budget, spent: 11, period_ratio: 0.001 }).kind, "exhausted");
});
