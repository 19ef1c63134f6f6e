import t from "tap";
import {
  daysOf,
  openWindowFromFlags,
  type WindowFlags,
  windowFromFlags,
} from "../../../bin/usage/window-flags.js";
import { exactly } from "../../support/patterns/exactly.js";

const nowMs = Date.parse("2026-03-01T23:59:59.999Z");

t.test("the window is that of GET /v1/usage", async (t) => {
  const table: readonly (readonly [flags: WindowFlags, start: string, end: string])[] = [
    [{}, "2026-01-31", "2026-03-01"],
    [{ days: "1" }, "2026-03-01", "2026-03-01"],
    [{ days: "7" }, "2026-02-23", "2026-03-01"],
    [{ days: "365" }, "2025-03-02", "2026-03-01"],
    [{ days: "366" }, "2025-03-02", "2026-03-01"],
    [{ days: "99999999999999999999" }, "2025-03-02", "2026-03-01"],
    [{ from: "2026-02-20" }, "2026-02-20", "2026-03-01"],
    [{ from: "2025-03-02" }, "2025-03-02", "2026-03-01"],
    [{ to: "2024-03-01" }, "2024-02-01", "2024-03-01"],
    [{ from: "2024-02-28", to: "2024-03-01" }, "2024-02-28", "2024-03-01"],
    [{ from: "2024-01-01", to: "2024-12-30" }, "2024-01-01", "2024-12-30"],
  ];
  for (const [flags, startDate, endDate] of table)
    t.same(
      windowFromFlags(flags, nowMs),
      { ok: true, value: { startDate, endDate } },
      JSON.stringify(flags),
    );
});

t.test("a problem with a window names its flag", async (t) => {
  const table: readonly (readonly [flags: WindowFlags, ...messages: readonly string[]])[] = [
    [{ days: "0" }, '--days must be an integer greater than 0, not "0"'],
    [{ days: "-3" }, '--days must be an integer greater than 0, not "-3"'],
    [{ days: "1.5" }, '--days must be an integer greater than 0, not "1.5"'],
    [{ days: "7", to: "2026-01-01" }, "--days can't be combined with --from and --to"],
    [{ from: "2026-02-30" }, '--from must be a date such as 2026-02-28, not "2026-02-30"'],
    [
      { from: "yesterday", to: "2026-2-1" },
      '--from must be a date such as 2026-02-28, not "yesterday"',
      '--to must be a date such as 2026-02-28, not "2026-2-1"',
    ],
    [{ to: "2025-02-29" }, '--to must be a date such as 2026-02-28, not "2025-02-29"'],
    [
      { from: "0000-02-02", to: "0001-01-01" },
      '--from must be a date such as 2026-02-28, not "0000-02-02"',
    ],
    [
      { from: "2026-02-02", to: "2026-02-01" },
      "--from must not be after --to: 2026-02-02 is after 2026-02-01",
    ],
    [{ from: "2026-03-02" }, "--from must not be after today, 2026-03-01"],
    [
      { from: "2024-01-01", to: "2024-12-31" },
      "--from and --to may span at most 365 days, not 366",
    ],
    [{ from: "2025-03-01" }, "--from and --to may span at most 365 days, not 366"],
  ];
  for (const [flags, ...messages] of table) {
    const window = windowFromFlags(flags, nowMs);
    t.same(
      window.ok ? [] : window.problems.map(({ message }) => message),
      messages,
      JSON.stringify(flags),
    );
  }
});

t.test("an export's window may be open and of any length", async (t) => {
  t.same(openWindowFromFlags({}, nowMs), { ok: true, value: { startDate: null, endDate: null } });
  t.same(openWindowFromFlags({ from: "2020-01-01" }, nowMs), {
    ok: true,
    value: { startDate: "2020-01-01", endDate: null },
  });
  t.same(openWindowFromFlags({ from: "2020-01-01", to: "2026-01-01" }, nowMs), {
    ok: true,
    value: { startDate: "2020-01-01", endDate: "2026-01-01" },
  });
  t.match(openWindowFromFlags({ from: "2020-01-02", to: "2020-01-01" }, nowMs), { ok: false });
  t.match(openWindowFromFlags({ to: "2020-13-01" }, nowMs), { ok: false });
});

t.test("the days of a window are each there once, leap day and year's end included", async (t) => {
  t.same(daysOf({ startDate: "2024-02-28", endDate: "2024-03-01" }), [
    "2024-02-28",
    "2024-02-29",
    "2024-03-01",
  ]);
  t.same(daysOf({ startDate: "2025-12-31", endDate: "2026-01-01" }), ["2025-12-31", "2026-01-01"]);
  t.same(daysOf({ startDate: "2026-01-01", endDate: "2026-01-01" }), ["2026-01-01"]);
});

t.test(
  "a range with takesTimes is for reports that have records, of at most seven days",
  async (t) => {
    const takesTimes = { takesTimes: true };
    t.match(windowFromFlags({ last: "3h" }, nowMs, takesTimes), {
      value: {
        startDate: "2026-03-01",
        endDate: "2026-03-01",
        range: {
          fromMs: Date.parse("2026-03-01T20:59:59.999Z"),
          beforeMs: null,
        },
      },
    });
    t.equal(windowFromFlags({ last: "7d" }, nowMs, takesTimes).ok, true);
    for (const [flags, message] of [
      [{ last: "8d" }, /^--last may be at most 7 days before now if a time is given: /],
      [{ from: "2026-02-01T10:00Z" }, /^--from may be at most 7 days before --to/],
      [{ last: "3h", days: "2" }, /^--days can't be combined with --last$/],
      [{ last: "3h", month: true }, /^--month can't be combined with .* and --last$/],
      [{ from: "2026-02-30" }, /^--from must be a day or a time such as/],
    ] as readonly (readonly [WindowFlags, RegExp])[]) {
      const window = windowFromFlags(flags, nowMs, takesTimes);
      t.match(window.ok ? [] : window.problems, exactly([{ message }]), JSON.stringify(flags));
    }
    const ofDays = windowFromFlags({ from: "2026-02-01T10:00Z" }, nowMs);
    t.match(
      ofDays.ok ? [] : ofDays.problems,
      exactly([{ message: '--from must be a date such as 2026-02-28, not "2026-02-01T10:00Z"' }]),
    );
    t.match(openWindowFromFlags({ to: "2026-02-01T10:00Z" }, nowMs, takesTimes), {
      value: { range: { fromMs: 0, beforeMs: Date.parse("2026-02-01T10:00:00Z") } },
    });
  },
);
