/** The time range of a page about usage, as it is asked for and drawn. */
import t from "tap";
import { rangeParameters, stepOf } from "../../../proxy/dashboard/web/logic/usage-range.js";

const nowMs = Date.parse("2026-03-10T12:03:20Z");

for (const [address, asked, step] of [
  ["", "", "day"],
  ["days=7", "days=7", "day"],
  ["days=1&sort=spend", "days=1", "hour"],
  [
    "start_date=2026-03-01&end_date=2026-03-02",
    "start_date=2026-03-01&end_date=2026-03-02",
    "hour",
  ],
  ["start_date=2026-03-01&end_date=2026-03-03", "start_date=2026-03-01&end_date=2026-03-03", "day"],
  ["hours=3", "start=2026-03-10T09:00:00Z", "hour"],
  ["hours=24", "start=2026-03-09T12:00:00Z", "hour"],
  [
    "start=2026-03-01T10:00:00Z&end=2026-03-03T10:00:00Z",
    "start=2026-03-01T10:00:00Z&end=2026-03-03T10:00:00Z",
    "hour",
  ],
  [
    "start=2026-03-01T10:00:00Z&end=2026-03-03T11:00:00Z",
    "start=2026-03-01T10:00:00Z&end=2026-03-03T11:00:00Z",
    "day",
  ],
] as const)
  t.test(`the range of ${address === "" ? "no address" : address}`, async (t) => {
    const query = new URLSearchParams(address);
    t.equal(decodeURIComponent(String(rangeParameters(query, nowMs))), asked);
    t.equal(stepOf(query), step);
  });

t.test("a page whose ranges are in seconds has moments, or seconds, or the first ones", (t) => {
  const moments = "start=2026-03-01T10:00:00Z&end=2026-03-03T10:00:00Z";
  for (const [address, parameters] of [
    ["", "seconds=900"],
    ["seconds=3600", "seconds=3600"],
    [moments, moments],
    ["start=2026-03-01T10:00:00Z", "seconds=900"],
  ] as const) {
    const query = new URLSearchParams(address);
    t.equal(decodeURIComponent(String(rangeParameters(query, nowMs, "900"))), parameters);
  }
  t.end();
});
