import t from "tap";
import {
  calendarBody,
  calendarFromStored,
  calendarToStored,
  calendarWords,
  hasSamePeriods,
  isSameCalendar,
  parseCalendar,
  rollingLabel,
} from "../../../shared/domain/budget-calendar.js";

const [daily, monthly] = [86_400, 2_592_000];

t.test(
  "each field is checked, and combinations that can't mean anything are refused",
  async (t) => {
    const refused: readonly (readonly [
      fields: Readonly<Record<string, unknown>>,
      periodSeconds: number,
      message: string,
    ])[] = [
      [
        { time_zone: "Mars/Olympus" },
        daily,
        'time_zone must be the IANA name of a time zone such as Europe/Berlin, not "Mars/Olympus"',
      ],
      [
        { time_zone: "Asia/Tokyo" },
        3600,
        "time_zone is for daily, weekly, monthly, quarterly and yearly budgets: other periods begin at multiples of their length since 1970",
      ],
      [{ anchor_day: 32 }, monthly, "anchor_day must be a day of the month from 1 to 31, not 32"],
      [
        { anchor_day: 15 },
        daily,
        "anchor_day is for monthly, quarterly and yearly budgets: other periods have no day of the month",
      ],
      [{ rolling: "yes" }, monthly, 'rolling must be true or false, not "yes"'],
      [{ rolling: true }, 59, "rolling needs a period of at least 60 seconds"],
      [
        { rolling: true, time_zone: "Asia/Tokyo" },
        monthly,
        "time_zone can't be combined with rolling: a rolling period begins at no time of the day",
      ],
      [
        { rolling: true, anchor_day: 15 },
        monthly,
        "anchor_day can't be combined with rolling: a rolling period begins on no day",
      ],
      [
        { rolling: true, rollover: 0.5 },
        monthly,
        "rollover can't be combined with rolling: a rolling period has no end at which something is left",
      ],
      [{ rollover: 1.5 }, daily, "rollover must be a share from 0 to 1, such as 0.5, not 1.5"],
      [
        { rollover: "half" },
        daily,
        'rollover must be a share from 0 to 1, such as 0.5, not "half"',
      ],
    ];
    for (const [fields, periodSeconds, message] of refused)
      t.match(parseCalendar(fields, periodSeconds), { ok: false, failure: { message } });
    t.match(parseCalendar({ anchor_day: 0 }, monthly, "limits[1]."), {
      ok: false,
      failure: { param: "limits[1].anchor_day" },
    });
  },
);

t.test("a calendar is the same in bodies and in the store", async (t) => {
  for (const fields of [
    {},
    { time_zone: "Asia/Tokyo", anchor_day: 31, rollover: 0.5 },
    { rolling: true },
    { rollover: 1 },
  ] as const) {
    const parsed = parseCalendar(fields, monthly);
    if (!parsed.ok) throw new Error(parsed.failure.message);
    t.strictSame(calendarBody(parsed.value), fields);
    t.strictSame(calendarFromStored(calendarToStored(parsed.value), monthly), parsed.value);
  }
  t.strictSame(parseCalendar({ rolling: false, rollover: 0, time_zone: null }, 3600), {
    ok: true,
    value: {},
  });
  for (const wrong of [null, [], [null, null, null, null], ["Asia/Tokyo", 1, true, null], [1]])
    t.equal(calendarFromStored(wrong, monthly), null);
});

t.test("only what moves the periods makes other ones", async (t) => {
  t.ok(hasSamePeriods({ timeZone: "UTC" }, { timeZone: "UTC", rollover: 1 }));
  t.notOk(isSameCalendar({ timeZone: "UTC" }, { timeZone: "UTC", rollover: 1 }));
  t.notOk(hasSamePeriods({ anchorDay: 1 }, {}));
  t.notOk(hasSamePeriods({ rolling: true }, {}));
});

t.test("words and labels", async (t) => {
  t.strictSame(calendarWords({ time_zone: "Asia/Tokyo", anchor_day: 15, rollover: 0.125 }), [
    "Asia/Tokyo",
    "from day 15",
    "carries over 12.5%",
  ]);
  t.strictSame(calendarWords({ rolling: true }), []);
  t.strictSame([monthly, 7200, 90 * 60, 61].map(rollingLabel), [
    "rolling 30d",
    "rolling 2h",
    "rolling 90m",
    "rolling 61s",
  ]);
});
