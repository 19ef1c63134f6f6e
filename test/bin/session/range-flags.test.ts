import t from "tap";
import { type RangeFlags, rangeFromFlags, readMoment } from "../../../bin/session/range-flags.js";
import { formatSeconds } from "../../../shared/time.js";

const now = { nowMs: Date.parse("2026-11-29T22:30:15.250Z"), seconds: 3600 };
process.env["TZ"] = "Europe/Berlin";

t.test("a date is a day in UTC, a time is local or in its zone, and both ends count", async (t) => {
  for (const [flags, from, before] of [
    [{}, "2026-11-29T21:30:15", "2026-11-29T22:30:15"],
    [{ last: "3h" }, "2026-11-29T19:30:15", "2026-11-29T22:30:15"],
    [{ from: "2026-11-01" }, "2026-11-01T00:00:00", "2026-11-29T22:30:15"],
    [{ from: "2026-11-01", to: "2026-11-02" }, "2026-11-01T00:00:00", "2026-11-03T00:00:00"],
    [{ from: "2026-11-01", to: "2026-11-01" }, "2026-11-01T00:00:00", "2026-11-02T00:00:00"],
    [
      { from: "2026-11-01T10:00", to: "2026-11-01T12:30" },
      "2026-11-01T09:00:00",
      "2026-11-01T11:30:00",
    ],
    [
      { from: "2026-07-01 10:00:05", to: "2026-07-01t11:00" },
      "2026-07-01T08:00:05",
      "2026-07-01T09:00:00",
    ],
    [
      { from: "2026-11-01T10:00Z", to: "2026-11-01T12:00+01:00" },
      "2026-11-01T10:00:00",
      "2026-11-01T11:00:00",
    ],
    [{ to: "2026-11-01T10:00:30.5Z" }, "2026-11-01T09:00:30", "2026-11-01T10:00:30"],
    [{ to: "2026-11-01" }, "2026-11-01T23:00:00", "2026-11-02T00:00:00"],
  ] as readonly (readonly [RangeFlags, string, string])[]) {
    const range = rangeFromFlags(flags, now);
    t.same(
      range.ok && [range.value.fromMs, range.value.beforeMs ?? now.nowMs].map(formatSeconds),
      [`${from}Z`, `${before}Z`],
      JSON.stringify(flags),
    );
  }
});

t.test("nonsense is refused with the flag, the value and what was expected", async (t) => {
  for (const [flags, ...messages] of [
    [
      { from: "yesterday" },
      /^--from must be a day or a time such as 2026-02-01, .*, not "yesterday"$/,
    ],
    [{ to: "2026-02-30T10:00" }, /^--to must be .*, not "2026-02-30T10:00"$/],
    [{ from: "2026-11-01T24:00" }, /^--from must be/],
    [{ from: "2026-11-01T10:60Z" }, /^--from must be/],
    [{ from: "10:00" }, /^--from must be/],
    // Clocks were put forward from 2 to 3 then.
    [{ from: "2026-03-29T02:30" }, /^--from must be/],
    [{ last: "three hours" }, /^--last must be a length of time such as 3h .*, not "three hours"$/],
    [{ last: "0h" }, /^--last must be/],
    [{ last: "1h", from: "2026-11-01" }, /^--last can't be combined with --from and --to$/],
    [
      { from: "2026-12-01" },
      /^--from must not be after now, 2026-11-29T22:30:15\.250Z, not "2026-12-01"$/,
    ],
    [
      { from: "2026-11-02", to: "2026-11-01" },
      /^--from must be before --to: 2026-11-02 isn't before 2026-11-01$/,
    ],
    [{ from: "x", to: "y" }, /^--from must be/, /^--to must be/],
  ] as readonly (readonly [RangeFlags, ...RegExp[]])[]) {
    const range = rangeFromFlags(flags, now);
    const found = range.ok ? [] : range.problems.map(({ message }) => message);
    t.equal(found.length, messages.length, JSON.stringify(flags));
    for (const [i, message] of messages.entries()) t.match(found[i], message);
  }
});

t.test("a moment has no length", async (t) => {
  t.same(readMoment("1970-01-01T00:00Z"), { fromMs: 0, beforeMs: 0 });
  t.equal(readMoment("1969-12-31T23:59Z"), null);
});
