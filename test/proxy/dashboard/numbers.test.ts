/** Numbers as the dashboard writes them. */
import t from "tap";
import {
  formatAge,
  formatBytes,
  formatChange,
  formatCount,
  formatDuration,
  formatMoment,
  formatMoney,
  formatShort,
  formatTime,
  formatWhen,
  secondsBetween,
  withCurrency,
} from "../../../proxy/dashboard/web/logic/numbers.js";

type Form = (value: number) => string;
const table: readonly (readonly [name: string, form: Form, rows: readonly [number, string][]])[] = [
  [
    "counts",
    formatCount,
    [
      [0, "0"],
      [1234567, "1,234,567"],
    ],
  ],
  [
    "bytes",
    formatBytes,
    [
      [0, "0 B"],
      [999, "999 B"],
      [12_340, "12.3 kB"],
      [4_100_000, "4.1 MB"],
      [2e9, "2 GB"],
    ],
  ],
  [
    "short counts",
    formatShort,
    [
      [0, "0"],
      [9999, "9,999"],
      [12_340, "12.3 k"],
      [4_100_000, "4.1 M"],
      [2e9, "2 G"],
      [0.44, "0.4"],
    ],
  ],
  [
    "money",
    formatMoney,
    [
      [0, "$0.00"],
      [12.5, "$12.50"],
      [1234.567, "$1,234.57"],
      [0.0421, "$0.042"],
      [0.000_52, "$0.00052"],
      [0.000_000_3, "$0.0000003"],
      [-2, "−$2.00"],
    ],
  ],
  [
    "ages",
    formatAge,
    [
      [0, "0 s"],
      [270, "4 min"],
      [44_640, "12 h"],
      [187_200, "2 d"],
    ],
  ],
  [
    "durations",
    formatDuration,
    [
      [0, "0 s"],
      [-3, "0 s"],
      [59.4, "59 s"],
      [60, "1 min"],
      [90, "1 min 30 s"],
      [3599, "59 min"],
      [18_720, "5 h 12 min"],
      [187_200, "2 d 4 h"],
    ],
  ],
];

for (const [name, form, rows] of table)
  t.test(`${name} read well`, async (t) => {
    for (const [value, text] of rows) t.equal(form(value), text, String(value));
  });

t.test("moments are in UTC and say so", async (t) => {
  t.equal(formatMoment("2026-11-23T14:05:09Z"), "2026-11-23 14:05 UTC");
  t.equal(formatTime("2026-11-23T14:05:09.123Z"), "14:05:09 UTC");
  t.equal(secondsBetween("2026-11-23T14:05:09Z", "2026-11-23T14:06:00.500Z"), 51.5);
});

t.test("a change is in percent, many times as a factor", async (t) => {
  for (const [now, before, text] of [
    [5, 5, ""],
    [0, 0, ""],
    [1001, 1000, ""],
    [5, 0, "new"],
    [112, 100, "+12%"],
    [95, 100, "−5%"],
    [0, 100, "−100%"],
    [2000, 100, "×20"],
  ] as const)
    t.equal(formatChange(now, before), text, `${before} to ${now}`);
});

t.test("the message of a refusal by a budget has a currency sign, others stay as they are", (t) => {
  for (const [message, shown] of [
    ["budget exceeded for /a daily limit: spent 4.5 of 3", "spent $4.50 of $3.00"],
    ["budget exceeded for /a daily limit: spent 0.000123 of 0.0001", "spent $0.00012 of $0.0001"],
    ["rate limit exceeded for /a: minute request limit of 3 reached", "request limit of 3 reached"],
  ] as const)
    t.ok(withCurrency(message).endsWith(shown), withCurrency(message));
  t.end();
});

t.test("a time of another day has its day", async (t) => {
  t.equal(formatWhen("2026-11-23T14:05:09.123Z", "2026-11-23"), "14:05:09 UTC");
  t.equal(formatWhen("2026-11-22T14:05:09.123Z", "2026-11-23"), "2026-11-22 14:05 UTC");
});
