import t from "tap";
import {
  parseExportPage,
  parseGrouping,
  parseMoments,
  parseUsageWindow,
} from "../../../limiterd/usage/usage-query.js";
import { exportedRecordsMax } from "../../../shared/bounds.js";
import { dayMs } from "../../../shared/time.js";
import { groupings } from "../../../shared/wire/admin-op.js";

const first = Date.parse("2026-01-01T00:00:00Z");

t.test("a summary has a grouping that there is, or none", async (t) => {
  for (const by of groupings) t.strictSame(parseGrouping({ by }), { ok: true, value: by });
  for (const body of [null, {}, { by: null }, 7])
    t.strictSame(parseGrouping(body), { ok: true, value: null });
  for (const by of ["", "hour", 7, ["day"]])
    t.match(parseGrouping({ by }), { ok: false }, String(by));
});

t.test("a window has one day or up to 365", async (t) => {
  const window = (start_date: unknown, end_date: unknown, rest = {}) =>
    parseUsageWindow({ start_date, end_date, ...rest });
  for (const [start, end, path, userPath] of [
    ["2026-01-01", "2026-01-01", undefined, "/"],
    ["2026-01-01", "2026-12-31", null, "/"],
    ["2023-12-31", "2024-12-29", "/a/b", "/a/b"],
  ])
    t.strictSame(window(start, end, { user_path: path }), {
      ok: true,
      value: { userPath, fromDay: start, toDay: end },
    });
  const table: readonly (readonly [unknown, string, RegExp])[] = [
    [null, "body", /^the body must be an object$/],
    [{ user_path: 7 }, "user_path", /^user_path/],
    [{ start_date: "2026-02-29", end_date: "2026-03-01" }, "start_date", /not "2026-02-29"$/],
    [{ start_date: "2026-01-01" }, "end_date", /^end_date must be a date such as 2026-01-31/],
    [{ start_date: 20_260_101, end_date: "2026-01-01" }, "start_date", /not 20260101$/],
    [{ start_date: "2026-01-02", end_date: "2026-01-01" }, "start_date", /1 to 365 days, not 0$/],
    [{ start_date: "2026-01-01", end_date: "2027-01-01" }, "start_date", /days, not 366$/],
  ];
  for (const [body, param, message] of table)
    t.match(parseUsageWindow(body), { ok: false, failure: { param, message } }, String(param));
});

t.test("moments are whole days, the last one included, and each may be left out", async (t) => {
  const [start_date, end_date] = ["2026-01-01", "2026-01-31"];
  for (const [body, fromMs, beforeMs] of [
    [{}, null, null],
    [{ start_date: null, end_date: null }, null, null],
    [{ start_date }, first, null],
    [{ end_date }, null, first + 31 * dayMs],
    [{ start_date, end_date }, first, first + 31 * dayMs],
    [{ start_date, end_date: start_date }, first, first + dayMs],
  ] as const)
    t.strictSame(parseMoments(body), { ok: true, value: { fromMs, beforeMs } });
  for (const [body, param] of [
    [{ start_date: end_date, end_date: start_date }, "start_date"],
    [{ start_date: "" }, "start_date"],
    [{ start_date, end_date: "x" }, "end_date"],
  ] as const)
    t.match(parseMoments(body), { ok: false, failure: { param } });
});

t.test("a page of an export begins at a record's place and has a bounded length", async (t) => {
  const all = { after: null, fromMs: null, beforeMs: null, userPath: "/" };
  for (const [body, changes] of [
    [{}, { limit: exportedRecordsMax }],
    [null, { limit: exportedRecordsMax }],
    [
      { limit: 1, user_path: "/a" },
      { limit: 1, userPath: "/a" },
    ],
    [{ limit: null, after: null, user_path: null }, { limit: exportedRecordsMax }],
    [{ after: "0.0" }, { limit: exportedRecordsMax, after: { key: 0, index: 0 } }],
    [
      { after: `${"9".repeat(15)}.999999`, limit: 5 },
      { limit: 5, after: { key: 999_999_999_999_999, index: 999_999 } },
    ],
    [{ start_date: "2026-01-01" }, { limit: exportedRecordsMax, fromMs: first }],
  ] as const)
    t.strictSame(parseExportPage(body), { ok: true, value: { ...all, ...changes } });
  const wrong = {
    limit: [0, exportedRecordsMax + 1, 1.5, "5"],
    after: ["", "7", "7.", ".7", "7.1.1", "-1.0", `${"9".repeat(17)}.0`, "1.1234567", 7],
    user_path: [7, "/a/../b"],
    start_date: ["tomorrow"],
    until: ["2026-01-01"],
  };
  for (const [param, values] of Object.entries(wrong))
    for (const value of values)
      t.match(
        parseExportPage({ [param]: value }),
        { ok: false, failure: { param } },
        `${param} ${value}`,
      );
  t.match(parseExportPage([]), { ok: false, failure: { param: "body" } });
});
