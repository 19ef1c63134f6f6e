import t from "tap";
import { trafficSeries } from "../../../proxy/dashboard/web/logic/traffic-series.js";

t.test("a chart has each minute, with 0 where nothing happened", async (t) => {
  const requests = { answered: 3, failed: 1, refused: 2, denied: 0, invalid: 0, canceled: 0 };
  const { times, answered, others } = trafficSeries({
    start: "2026-11-29T12:00:30.000Z",
    end: "2026-11-29T12:03:00.000Z",
    step_seconds: 60,
    points: [{ time: "2026-11-29T12:01:00.000Z", requests, tokens: 1, cost: 0 }],
  });
  t.same(
    times.map((ms) => new Date(ms).toISOString().slice(14, 19)),
    ["00:00", "01:00", "02:00"],
  );
  t.same(answered, [0, 3, 0]);
  t.same(others, [0, 3, 0]);
});
