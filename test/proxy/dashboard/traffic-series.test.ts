import t from "tap";
import { trafficSeries } from "../../../proxy/dashboard/web/logic/traffic-series.js";

t.test("a chart has each minute, with 0 where nothing happened", async (t) => {
  const requests = { answered: 3, failed: 1, refused: 2, denied: 0, invalid: 0, canceled: 0 };
  const { stepSeconds, times, answered, unanswered } = trafficSeries({
    start: "2026-11-29T12:00:30.000Z",
    end: "2026-11-29T12:03:00.000Z",
    step_seconds: 60,
    points: [{ time: "2026-11-29T12:01:00.000Z", requests, tokens: 1, cost: 0 }],
  });
  t.same(
    times.map((ms) => new Date(ms).toISOString().slice(14, 19)),
    ["00:00", "01:00", "02:00"],
  );
  t.equal(stepSeconds, 60);
  t.same(answered, [0, 3, 0]);
  t.same(unanswered, [0, 3, 0]);
});

t.test("a long range has fewer, longer steps, and loses nothing", async (t) => {
  const requests = { answered: 1, failed: 0, refused: 1, denied: 0, invalid: 0, canceled: 0 };
  const startMs = Date.parse("2026-11-28T12:07:00.000Z");
  const points = Array.from({ length: 1440 }, (_, i) => ({
    ...{ time: new Date(startMs + i * 60_000).toISOString(), requests, tokens: 1, cost: 0 },
  }));
  const { stepSeconds, times, answered, unanswered } = trafficSeries({
    start: "2026-11-28T12:07:00.000Z",
    end: "2026-11-29T12:07:00.000Z",
    step_seconds: 60,
    points,
  });
  t.equal(stepSeconds, 900);
  t.equal(new Date(times[0]!).toISOString(), "2026-11-28T12:00:00.000Z");
  const sum = (values: readonly number[]): number => values.reduce((all, each) => all + each, 0);
  t.equal(sum(answered), 1440);
  t.equal(sum(unanswered), 1440);
});
