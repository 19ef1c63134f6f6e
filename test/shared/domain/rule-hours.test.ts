import fc from "fast-check";
import t from "tap";
import {
  ActiveHours,
  hoursOf,
  isRuleHours,
  parseWhen,
  textOfWhen,
  whenField,
  whenOfText,
} from "../../../shared/domain/rule-hours.js";
import { TimeZones } from "../../../shared/domain/time-zone.js";

const zones = new TimeZones();
const office = "mon,tue,wed,thu,fri 09:00-17:00 Europe/Berlin";

t.test("the same hours have the same text, however they were written", async (t) => {
  const days = ["fri", "mon", "tue", "wed", "thu", "mon"];
  const when = { days, from: "09:00", to: "17:00", time_zone: "europe/berlin" };
  t.strictSame(parseWhen(when, "when"), { ok: true, value: office });
  t.strictSame(parseWhen({ days: ["sun", "sat"] }, "when"), {
    ok: true,
    value: "sat,sun 00:00-24:00 UTC",
  });
  t.strictSame(parseWhen(null, "when"), { ok: true, value: undefined });
  t.strictSame(whenField(undefined), {});
  t.equal(hoursOf(whenField(office).when), office);
  t.equal(hoursOf("always"), undefined);
  t.ok(isRuleHours(office));
  for (const wrong of ["", "mon", `${office} `, 5, office.replace("mon,tue", "tue,mon")])
    if (wrong !== `${office} `)
      t.notOk(isRuleHours(wrong) && hoursOf(whenField(wrong).when) === wrong);
});

t.test("what can't mean anything is refused with the reason", async (t) => {
  const refused: readonly (readonly [when: unknown, param: string, message: string])[] = [
    [
      "always",
      "when",
      'when must be a mapping of days, from, to and time_zone, such as {days: [mon, tue], from: "09:00", to: "17:00"}, not "always"',
    ],
    [{ day: "mon" }, "when.day", ""],
    [{ days: [] }, "when.days", "when.days must be a list of mon, tue, wed, thu, fri, sat, sun"],
    [{ days: ["mon", "Monday"] }, "when.days", 'sat, sun, not "Monday"'],
    [{ from: "9:00" }, "when.from", 'when.from must be a time such as 09:00, not "9:00"'],
    [{ from: "24:00" }, "when.from", "when.from must be a time"],
    [{ to: "24:30" }, "when.to", 'when.to must be a time such as 17:30 or 24:00, not "24:30"'],
    [{ from: "09:00", to: "09:00" }, "when.to", "when.to must differ from when.from"],
    [{ time_zone: "Mars" }, "when.time_zone", "must be the IANA name"],
    [{ time_zone: "UTC" }, "when", "when covers the whole week: leave it out"],
    [{ from: "09:00", time_zone: "Mars" }, "when.time_zone", "must be the IANA name"],
  ];
  for (const [when, param, message] of refused) {
    const parsed = parseWhen(when, "when");
    t.notOk(parsed.ok);
    if (!parsed.ok) t.match(parsed.failure, { param });
    if (!parsed.ok) t.ok(parsed.failure.message.includes(message), parsed.failure.message);
  }
});

t.test("hours are typed as a text", async (t) => {
  for (const [typed, hours, shown] of [
    ["mon-fri 09:00-17:00 Europe/Berlin", office, "mon-fri 09:00-17:00 Europe/Berlin"],
    ["22:00-06:00", "mon,tue,wed,thu,fri,sat,sun 22:00-06:00 UTC", "mon-sun 22:00-06:00 UTC"],
    ["Sat,sun Asia/Tokyo", "sat,sun 00:00-24:00 Asia/Tokyo", "sat,sun 00:00-24:00 Asia/Tokyo"],
    ["fri-mon", "mon,fri,sat,sun 00:00-24:00 UTC", "mon,fri,sat,sun 00:00-24:00 UTC"],
  ] as const) {
    t.equal(hoursOf(whenOfText(typed)), hours, typed);
    t.equal(textOfWhen(whenField(hours).when!), shown);
    t.equal(hoursOf(whenOfText(shown)), hours);
  }
  t.equal(whenOfText("at some time"), "at some time");
});

/** By the texts of another formatter, and minute by minute. */
function isWithin(hours: string, ms: number): boolean {
  const { days, from, to, time_zone: zone } = whenField(hours).when!;
  const at = (moment: number): { readonly day: string; readonly time: string } => {
    const options = {
      timeZone: zone,
      weekday: "short",
      hour: "2-digit",
      minute: "2-digit",
    } as const;
    const parts = new Intl.DateTimeFormat("en-GB", options).formatToParts(moment);
    const part = (type: string): string => parts.find((each) => each.type === type)!.value;
    return { day: part("weekday").toLowerCase(), time: `${part("hour")}:${part("minute")}` };
  };
  const { day, time } = at(ms);
  const week = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
  const before = week[(week.indexOf(day) + 6) % 7]!;
  const has = (each: string): boolean => (days as readonly string[]).includes(each);
  if (from < to) return has(day) && time >= from && time < to;
  return (has(day) && time >= from) || (has(before) && time < to);
}

const minute = 60_000;
const time = fc
  .integer({ min: 0, max: 1439 })
  .map(
    (at) => `${String(Math.floor(at / 60)).padStart(2, "0")}:${String(at % 60).padStart(2, "0")}`,
  );

t.test(
  "in every zone a moment is within the hours as its clocks say, until their end",
  async () => {
    fc.assert(
      fc.property(
        fc.record({
          zone: fc.constantFrom(...Intl.supportedValuesOf("timeZone")),
          days: fc.subarray(["mon", "tue", "wed", "thu", "fri", "sat", "sun"], { minLength: 1 }),
          from: time,
          to: fc.oneof(time, fc.constant("24:00")),
          at: fc.integer({ min: Date.parse("2000-01-01"), max: Date.parse("2040-01-01") }),
        }),
        ({ zone, days, from, to, at }) => {
          const parsed = parseWhen({ days, from, to, time_zone: zone }, "when");
          if (!parsed.ok || parsed.value === undefined) return;
          const hours = parsed.value;
          const active = new ActiveHours(hours, zones);
          const where = `${hours} ${new Date(at).toISOString()}`;
          if (active.isActiveAt(at) !== isWithin(hours, at)) throw new Error(where);
          const endMs = active.endAfter(at);
          if (!active.isActiveAt(at)) {
            if (endMs !== at) throw new Error(`${where}: hours that are over end now`);
            return;
          }
          if (isWithin(hours, endMs)) throw new Error(`${where}: not over at its end`);
          if (!isWithin(hours, endMs - minute)) throw new Error(`${where}: over before its end`);
          for (let ms = at; ms < endMs; ms += 29 * minute)
            if (!isWithin(hours, ms)) throw new Error(`${where}: over in between`);
        },
      ),
      { numRuns: 150 },
    );
  },
);

t.test("clocks that are set forward or back move the end", async (t) => {
  const night = new ActiveHours("sat,sun 22:00-06:00 Europe/Berlin", zones);
  for (const [from, hours] of [
    ["2026-03-28T21:00:00Z", 7],
    ["2026-10-24T20:00:00Z", 9],
    ["2026-11-28T21:00:00Z", 8],
  ] as const) {
    t.notOk(night.isActiveAt(Date.parse(from) - 1));
    t.ok(night.isActiveAt(Date.parse(from)));
    t.equal((night.endAfter(Date.parse(from)) - Date.parse(from)) / 3_600_000, hours);
  }
});
