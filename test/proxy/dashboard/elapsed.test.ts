/** The elapsed share of a budget's period. */
import t from "tap";
import { elapsedOf } from "../../../proxy/dashboard/web/logic/elapsed.js";

const day = { period_start: "2026-11-23T00:00:00Z", period_end: "2026-11-24T00:00:00Z" };

t.test("a period has begun, or is over, whatever the clocks say", async (t) => {
  t.equal(elapsedOf(day, "2026-11-23T06:00:00.000Z"), 0.25);
  t.equal(elapsedOf(day, "2026-11-22T23:59:59.000Z"), 0);
  t.equal(elapsedOf(day, "2026-11-24T00:00:01.000Z"), 1);
});
