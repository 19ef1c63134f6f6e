import t from "tap";
import {
  instantOf,
  offsetsOf,
  parseTimeZone,
  TimeZones,
} from "../../../shared/domain/time-zone.js";

t.test("a zone is an IANA name, in any case", async (t) => {
  for (const [raw, name] of [
    ["Europe/Berlin", "Europe/Berlin"],
    [" europe/berlin ", "Europe/Berlin"],
    ["utc", "UTC"],
    ["US/Eastern", "US/Eastern"],
    ["Etc/GMT+5", "Etc/GMT+5"],
  ] as const)
    t.strictSame(parseTimeZone(raw, "time_zone"), { ok: true, value: name });
  for (const raw of ["Mars/Olympus", "", "+01:00", "Berlin", 1, null, ["Europe/Berlin"]])
    t.match(parseTimeZone(raw, "limits[0].time_zone"), {
      ok: false,
      failure: {
        param: "limits[0].time_zone",
        message: `limits[0].time_zone must be the IANA name of a time zone such as Europe/Berlin, not ${JSON.stringify(raw)}`,
      },
    });
});

t.test("offsets are those of the zone's clocks", async (t) => {
  for (const [zone, at, minutes] of [
    ["UTC", "2026-03-29T01:00:00Z", 0],
    ["Europe/Berlin", "2026-03-29T00:59:59.999Z", 60],
    ["Europe/Berlin", "2026-03-29T01:00:00Z", 120],
    ["Asia/Kathmandu", "2026-03-29T01:00:00.500Z", 345],
    ["Pacific/Apia", "2011-12-30T09:59:59Z", -600],
    ["Pacific/Apia", "2011-12-30T10:00:00Z", 840],
  ] as const)
    t.equal(offsetsOf(zone)(Date.parse(at)), minutes * 60_000, `${zone} ${at}`);
  const zones = new TimeZones();
  t.equal(zones.offsetsOf("Asia/Tokyo"), zones.offsetsOf("Asia/Tokyo"));
});

t.test("the instant of a local time is the first at which clocks show it or skip it", async (t) => {
  for (const [zone, local, instant] of [
    ["Europe/Berlin", "2026-03-29T01:59:59Z", "2026-03-29T00:59:59Z"],
    ["Europe/Berlin", "2026-03-29T02:30:00Z", "2026-03-29T01:00:00Z"],
    ["Europe/Berlin", "2026-03-29T03:00:00Z", "2026-03-29T01:00:00Z"],
    ["Europe/Berlin", "2026-10-25T02:30:00Z", "2026-10-25T00:30:00Z"],
    ["Europe/Berlin", "2026-10-25T03:00:00Z", "2026-10-25T02:00:00Z"],
    ["America/Havana", "2026-11-01T00:00:00Z", "2026-11-01T04:00:00Z"],
    ["Pacific/Apia", "2011-12-30T12:00:00Z", "2011-12-30T10:00:00Z"],
  ] as const)
    t.equal(instantOf(Date.parse(local), offsetsOf(zone)), Date.parse(instant), `${zone} ${local}`);
});
