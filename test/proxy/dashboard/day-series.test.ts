/** Usage by day as the chart draws it. */
import t from "tap";
import {
  axisLabels,
  axisTop,
  daySeries,
  periodBefore,
} from "../../../proxy/dashboard/web/logic/day-series.js";

t.test("each day of the span occurs once, also those without a request", async (t) => {
  const group = { key: "2026-02-28", requests: 2, total_tokens: 30, total_cost: 0.5 };
  t.same(daySeries({ start_date: "2026-02-27", end_date: "2026-03-01" }, [group]), [
    { day: "2026-02-27", requests: 0, tokens: 0, cost: 0 },
    { day: "2026-02-28", requests: 2, tokens: 30, cost: 0.5 },
    { day: "2026-03-01", requests: 0, tokens: 0, cost: 0 },
  ]);
});

t.test("a day outside the span isn't drawn, and no span is no day", async (t) => {
  const group = { key: "2026-01-01", requests: 1, total_tokens: 1, total_cost: 1 };
  t.same(daySeries({ start_date: "2026-01-02", end_date: "2026-01-02" }, [group]), [
    { day: "2026-01-02", requests: 0, tokens: 0, cost: 0 },
  ]);
  t.same(daySeries({ start_date: "soon", end_date: "later" }, [group]), []);
});

for (const [largest, top] of [
  [0, 1],
  [Number.NaN, 1],
  [1, 1],
  [1.2, 2],
  [24, 25],
  [26, 50],
  [99, 100],
  [0.003, 0.005],
] as const)
  t.test(`an axis up to ${largest} ends at ${top}`, async (t) => t.equal(axisTop(largest), top));

t.test("before a range with times there is one as long", async (t) => {
  const days = { start_date: "2026-03-01", end_date: "2026-03-01" };
  t.same(
    periodBefore({ ...days, start: "2026-03-01T10:00:00.000Z", end: "2026-03-01T13:00:00.001Z" }),
    { start: "2026-03-01T07:00:00.000Z", end: "2026-03-01T10:00:00.000Z" },
  );
});

t.test("the period before has as many days and ends the day before", async (t) => {
  t.same(periodBefore({ start_date: "2026-03-01", end_date: "2026-03-07" }), {
    start_date: "2026-02-22",
    end_date: "2026-02-28",
  });
  t.same(periodBefore({ start_date: "2026-01-01", end_date: "2026-01-01" }), {
    start_date: "2025-12-31",
    end_date: "2025-12-31",
  });
});

t.test("an axis names its ends, and evenly what is between them", async (t) => {
  const days = Array.from({ length: 30 }, (_, i) => `2026-11-${String(i + 1).padStart(2, "0")}`);
  t.same(axisLabels(days), ["2026-11-01", "11-08", "11-16", "11-23", "2026-11-30"]);
  const minutes = Array.from(
    { length: 61 },
    (_, i) => `2026-11-29 20:${String(i).padStart(2, "0")}`,
  );
  t.same(axisLabels(minutes), ["2026-11-29 20:00", "20:15", "20:30", "20:45", "2026-11-29 20:60"]);
  t.same(axisLabels(days.slice(0, 3)), ["2026-11-01", "2026-11-03"], "few bars");
  t.same(axisLabels(days.slice(0, 1)), ["2026-11-01"]);
  t.same(axisLabels([]), []);
});
