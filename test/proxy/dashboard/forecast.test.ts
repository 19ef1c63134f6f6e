/** Where a budget's period ends at the pace until now. */
import t from "tap";
import { elapsedOf, forecastOf } from "../../../proxy/dashboard/web/logic/forecast.js";

const day = { period_start: "2026-11-23T00:00:00Z", period_end: "2026-11-24T00:00:00Z" };
const budget = { ...day, amount: 10, spent: 5 };
const morning = "2026-11-23T06:00:00.000Z";

t.test("the pace of the period goes on", async (t) => {
  t.same(forecastOf({ ...budget, spent: 1 }, morning), { kind: "lasts", projected: 4 });
  // A quarter of the day took half of it: so will the next.
  t.same(forecastOf(budget, morning), { kind: "runs-out", inSeconds: 21_600, projected: 20 });
});

t.test("it says nothing where there is nothing to say", async (t) => {
  t.equal(forecastOf(budget, "2026-11-23T00:05:00.000Z").kind, "unknown");
  t.equal(forecastOf({ ...budget, spent: 0 }, morning).kind, "unknown");
  t.equal(forecastOf({ ...budget, spent: 11 }, morning).kind, "exhausted");
});

t.test("a period has begun, or is over, whatever the clocks say", async (t) => {
  t.equal(elapsedOf(day, morning), 0.25);
  t.equal(elapsedOf(day, "2026-11-22T23:59:59.000Z"), 0);
  t.equal(elapsedOf(day, "2026-11-24T00:00:01.000Z"), 1);
});
