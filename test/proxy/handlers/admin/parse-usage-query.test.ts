import t from "tap";
import {
  parseGroups,
  parseUsageQuery,
} from "../../../../proxy/handlers/admin/parse-usage-query.js";

const nowMs = Date.parse("2026-03-10T23:59:59.999Z");

t.test("the windows of docs/reference/http-api.md", async (t) => {
  const table: readonly (readonly [query: string, startDate: string, endDate: string])[] = [
    ["", "2026-02-09", "2026-03-10"],
    ["days=&start_date=&end_date=", "2026-02-09", "2026-03-10"],
    ["days=1", "2026-03-10", "2026-03-10"],
    ["days=7", "2026-03-04", "2026-03-10"],
    ["days=365", "2025-03-11", "2026-03-10"],
    ["days=366", "2025-03-11", "2026-03-10"],
    [`days=${"9".repeat(400)}`, "2025-03-11", "2026-03-10"],
    ["start_date=2026-03-10", "2026-03-10", "2026-03-10"],
    ["start_date=2025-03-11", "2025-03-11", "2026-03-10"],
    ["end_date=2026-01-15", "2025-12-17", "2026-01-15"],
    ["end_date=2028-03-01", "2028-02-01", "2028-03-01"],
    ["start_date=2024-02-29&end_date=2024-03-01", "2024-02-29", "2024-03-01"],
    ["start_date=2026-01-01&end_date=2026-12-31", "2026-01-01", "2026-12-31"],
    ["start_date=2026-01-01&end_date=2026-01-02&days=9", "2026-01-01", "2026-01-02"],
    ["start_date=2026-03-01&days=9", "2026-03-01", "2026-03-10"],
    ["end_date=2026-03-01&days=9", "2026-01-31", "2026-03-01"],
    ["end_date=0001-01-01", "0000-12-03", "0001-01-01"],
    ["unknown=1", "2026-02-09", "2026-03-10"],
  ];
  for (const [query, startDate, endDate] of table)
    t.same(parseUsageQuery(query, nowMs), { ok: true, startDate, endDate }, query);
});

t.test(
  "today ends with the last millisecond of its day in UTC, months and leap days included",
  async (t) => {
    const table: readonly (readonly [
      now: string,
      query: string,
      startDate: string,
      endDate: string,
    ])[] = [
      ["2026-03-11T00:00:00.000Z", "", "2026-02-10", "2026-03-11"],
      ["2028-02-28T23:59:59.999Z", "days=2", "2028-02-27", "2028-02-28"],
      ["2028-02-29T00:00:00.000Z", "days=2", "2028-02-28", "2028-02-29"],
      ["2028-03-01T00:00:00.000Z", "days=2", "2028-02-29", "2028-03-01"],
      ["2027-03-01T00:00:00.000Z", "days=2", "2027-02-28", "2027-03-01"],
      ["2028-03-01T00:00:00.000Z", "", "2028-02-01", "2028-03-01"],
      ["2027-03-01T00:00:00.000Z", "", "2027-01-31", "2027-03-01"],
      ["2026-12-31T23:59:59.999Z", "days=365", "2026-01-01", "2026-12-31"],
      ["2027-01-01T00:00:00.000Z", "days=1", "2027-01-01", "2027-01-01"],
      ["2028-12-31T12:00:00.000Z", "days=365", "2028-01-02", "2028-12-31"],
      ["2028-12-31T12:00:00.000Z", "start_date=2028-01-02", "2028-01-02", "2028-12-31"],
    ];
    for (const [now, query, startDate, endDate] of table)
      t.same(
        parseUsageQuery(query, Date.parse(now)),
        { ok: true, startDate, endDate },
        `${now} ${query}`,
      );
  },
);

t.test(
  "each mistake is named with its parameter, its value and what is expected, in the order of the checks",
  async (t) => {
    const table: readonly (readonly [query: string, param: string, message: string])[] = [
      ...["0", "-1", "1.5", "x", "1e2", "%2B5", "0x10", "00"].map(
        (value) =>
          [
            `days=${value}`,
            "days",
            `days must be an integer greater than 0, not ${JSON.stringify(decodeURIComponent(value))}`,
          ] as const,
      ),
      ["days=1&days=1", "days", "days is given more than once"],
      ["start_date=no&days=7&days=8", "days", "days is given more than once"],
      [
        "days=0&end_date=2026-01-01&end_date=2026-01-01",
        "days",
        'days must be an integer greater than 0, not "0"',
      ],
      [
        "end_date=2026-01-01&start_date=2026-01-01&start_date=2026-01-01",
        "start_date",
        "start_date is given more than once",
      ],
      ["end_date=2026-01-01&end_date=2026-01-02", "end_date", "end_date is given more than once"],
      [
        "days=x&start_date=2026-01-01&end_date=2026-01-02",
        "days",
        'days must be an integer greater than 0, not "x"',
      ],
      ["days=0&start_date=no", "days", 'days must be an integer greater than 0, not "0"'],
      ...[
        "2026-02-30",
        "2025-02-29",
        "2026-1-1",
        "2026-13-01",
        "20260101",
        "today",
        "2026-01-01T00:00:00Z",
        "0000-01-01",
        "-2026-01-01",
      ].map(
        (value) =>
          [
            `start_date=${value}&end_date=no`,
            "start_date",
            `start_date must be a date such as 2026-01-31, not ${JSON.stringify(value)}`,
          ] as const,
      ),
      [
        "start_date=2026-01-01&end_date=2026-02-30",
        "end_date",
        'end_date must be a date such as 2026-01-31, not "2026-02-30"',
      ],
      [
        "start_date=2026-01-02&end_date=2026-01-01",
        "start_date",
        "start_date must not be after end_date: 2026-01-02 is after 2026-01-01",
      ],
      [
        "start_date=2026-03-11",
        "start_date",
        "start_date must not be after end_date: 2026-03-11 is after 2026-03-10",
      ],
      [
        "start_date=2027-01-02&end_date=2026-01-01",
        "start_date",
        "start_date must not be after end_date: 2027-01-02 is after 2026-01-01",
      ],
      [
        "start_date=2025-01-01&end_date=2026-01-01",
        "start_date",
        "start_date and end_date must span at most 365 days, not 366",
      ],
      [
        "start_date=2025-03-10",
        "start_date",
        "start_date and end_date must span at most 365 days, not 366",
      ],
    ];
    for (const [query, param, message] of table) {
      t.match(
        parseUsageQuery(query, nowMs),
        {
          ok: false,
          failure: { status: 400, type: "invalid_request_error", code: null, param, message },
        },
        query,
      );
    }
  },
);

t.test("usage is split by a known group, by key and label for operators alone", async (t) => {
  for (const isOperator of [true, false]) {
    t.same(parseGroups("days=7", isOperator), { ok: true, value: null });
    t.same(parseGroups("by=", isOperator), { ok: true, value: null });
    for (const by of ["day", "model", "provider", "path", "requested_model"])
      t.same(parseGroups(`by=${by}`, isOperator), { ok: true, value: by });
    for (const query of ["by=user", "by=day&by=day", "by=Day"])
      t.match(parseGroups(query, isOperator), { ok: false, failure: { status: 400, param: "by" } });
    for (const by of ["key", "label"])
      t.match(
        parseGroups(`by=${by}`, isOperator),
        isOperator
          ? { ok: true, value: by }
          : { failure: { status: 403, message: `by=${by} needs the master key` } },
      );
  }
});
