import t from "tap";
import { showsUnicode } from "../../../../bin/session/terminal.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { run } from "../../command-session.js";
import { type Owner, startFakeDaemon } from "../../fake-daemon.js";

const nowMs = Date.parse("2026-03-01T12:00:00Z");
const totals = {
  start_date: "2026-02-27",
  end_date: "2026-03-01",
  total_requests: 12_345,
  total_input_tokens: 5_123_456,
  total_output_tokens: 1_234_567,
  total_tokens: 6_358_023,
  cached_input_tokens: 1_000_000,
  cache_write_input_tokens: 0,
  uncached_input_tokens: 4_123_456,
  total_input_cost: 8,
  total_output_cost: 4.345678,
  total_cost: 12.345678,
  rewrite_tokens_saved: 0,
  unpriced_requests: 0,
};
const group = (key: string, requests: number, totalCost: number, unpricedRequests = 0): object => ({
  key,
  requests,
  input_tokens: requests * 1000,
  output_tokens: requests * 10,
  total_tokens: requests * 1010,
  total_cost: totalCost,
  unpriced_requests: unpricedRequests,
});

/** The output of `sluice usage` for an answer of the daemon, and its request. */
async function usage(
  t: Owner,
  answer: object,
  argv: readonly string[],
  options: { readonly columns?: number; readonly lang?: string } = {},
): Promise<{
  readonly exitCode: number;
  readonly lines: readonly string[];
  readonly err: string;
  readonly asked: unknown;
}> {
  const daemon = await startFakeDaemon(t, { usageSummary: answer });
  const { exitCode, out, err } = await run(["usage", "--socket", daemon.socket, ...argv], {
    nowMs,
    columns: options.columns ?? null,
    env: { LANG: options.lang ?? "C" },
  });
  return { exitCode, lines: out.split("\n"), err, asked: daemon.calls.at(-1)?.body };
}

t.test("the summary with a chart of the days, those without usage empty", async (t) => {
  const groups = [group("2026-02-27", 3, 2), group("2026-03-01", 6, 4)];
  const { exitCode, lines, asked } = await usage(
    t,
    { usage: totals, groups, server_time: "" },
    ["--path", "team/", "--days", "3"],
    { lang: "en_US.UTF-8" },
  );
  t.equal(exitCode, 0);
  t.same(asked, {
    user_path: "/team",
    start_date: "2026-02-27",
    end_date: "2026-03-01",
    by: "day",
  });
  t.same(lines, [
    "usage of /team, 2026-02-27 to 2026-03-01 (UTC)",
    "  requests          12,345",
    "  input tokens   5,123,456  1,000,000 read from a cache",
    "  output tokens  1,234,567",
    "  total tokens   6,358,023",
    "  cost              $12.35  input $8.00, output $4.35",
    "",
    "cost per day, at most $4.00",
    "      ██",
    "      ██",
    "██    ██",
    "██    ██",
    "2026-02-27 to 2026-03-01",
  ]);
});

t.test("a table by day has every day of the window", async (t) => {
  const groups = [group("2026-02-27", 3, 0.002), group("2026-03-01", 6, 0.0004)];
  const { lines } = await usage(t, { usage: totals, groups }, [
    "--from",
    "2026-02-27",
    "--by",
    "DAY",
  ]);
  t.same(lines.slice(-4), [
    "DAY         REQUESTS  INPUT  OUTPUT  TOTAL       COST",
    "2026-02-27         3  3,000      30  3,030  $0.002000",
    "2026-02-28         0      0       0      0          -",
    "2026-03-01         6  6,000      60  6,060  $0.000400",
  ]);
  t.ok(lines.includes("##"), "where the terminal isn't UTF-8, the chart is of ASCII");
  t.match(lines.join("\n"), /^[\x20-\x7e\n]*$/, "and so is the rest, without any control sequence");
});

t.test(
  "other groups keep the daemon's order, unpriced ones are no zeros, and no name moves the cursor",
  async (t) => {
    const groups = [
      group("dear", 1, 1500),
      group("cheap", 1, 0.5),
      group("\u001b[2Jevil\u202e", 2, 0.25, 1),
      group("local/llama", 5000, 0, 5000),
    ];
    const { lines, asked } = await usage(
      t,
      { usage: { ...totals, unpriced_requests: 5001 }, groups },
      ["--by", "model"],
    );
    t.match(asked, { by: "model", start_date: "2026-01-31", end_date: "2026-03-01" });
    t.same(lines.slice(-5), [
      "MODEL        REQUESTS      INPUT  OUTPUT      TOTAL       COST  UNPRICED",
      "dear                1      1,000      10      1,010  $1,500.00         0",
      "cheap               1      1,000      10      1,010      $0.50         0",
      "?[2Jevil?           2      2,000      20      2,020      $0.25         1",
      "local/llama     5,000  5,000,000  50,000  5,050,000          -     5,000",
    ]);
    t.ok(lines.includes("  unpriced requests      5,001  without a price: not in the cost"));
  },
);

t.test("a table by path has a row for the path itself", async (t) => {
  const groups = [group("/team/app", 2, 5), group("/team", 1, 2.5)];
  const { lines } = await usage(t, { usage: totals, groups }, ["--path", "/team", "--by", "path"]);
  t.same(lines.slice(-3), [
    "PATH            REQUESTS  INPUT  OUTPUT  TOTAL   COST",
    "/team/app              2  2,000      20  2,020  $5.00",
    "/team (itself)         1  1,000      10  1,010  $2.50",
  ]);
});

t.test("the summary shows what rewriters saved, and that nothing was priced", async (t) => {
  const { lines } = await usage(
    t,
    {
      usage: {
        ...totals,
        rewrite_tokens_saved: 400,
        rewrite_cost_saved: 0.02,
        total_cost: 0,
        unpriced_requests: 12_345,
      },
      groups: [group("2026-03-01", 2, 0, 2)],
    },
    [],
  );
  t.ok(lines.includes("  cost                unpriced"), lines.join("\n"));
  t.ok(lines.includes("  rewrites saved           400  input tokens, $0.0200"));
  t.ok(lines.includes("tokens per day, at most 2,020"), "without costs the chart is of tokens");
});

t.test("nothing used is one sentence", async (t) => {
  const none = { ...totals, total_requests: 0, total_tokens: 0, total_cost: 0 };
  t.same((await usage(t, { usage: none, groups: [] }, [])).lines, [
    "usage of /, 2026-01-31 to 2026-03-01 (UTC): none",
  ]);
  const { lines } = await usage(t, { usage: { ...none, total_tokens: 5 }, groups: [] }, []);
  t.match(lines.join("\n"), /total tokens +5\n/, "tokens of a session that is still open");
});

t.test("the chart fits the terminal", async (t) => {
  const answer = { usage: totals, groups: [group("2026-03-01", 1, 1)] };
  const widest = async (columns?: number): Promise<number> =>
    Math.max(
      ...(await usage(t, answer, ["--days", "365"], columns === undefined ? {} : { columns })).lines
        .slice(-6)
        .map((line) => line.length),
    );
  t.equal(await widest(40), 37, "ten days in each of 37 columns");
  t.equal(await widest(), 73, "without a terminal it is for 80 columns");
});

t.test("as JSON the answer is unchanged", async (t) => {
  const answer = {
    usage: totals,
    groups: [group("gpt-4o", 1, 0.000001)],
    server_time: "2026-03-01T12:00:00.000Z",
    later: "field",
  };
  const { lines } = await usage(t, answer, ["--json", "--by", "model"]);
  t.same(JSON.parse(lines.join("\n")), answer);
});

t.test("wrong flags are reported together and nothing is sent", async (t) => {
  const { exitCode, err, asked } = await usage(t, {}, [
    "--path",
    "/a:b",
    "--days",
    "x",
    "--by",
    "user",
  ]);
  t.same(
    { exitCode, asked, lines: err.split("\n") },
    {
      exitCode: 2,
      asked: undefined,
      lines: [
        'error: --path must not hold a colon or a control character, as "/a:b" does',
        'error: --days must be an integer greater than 0, not "x"',
        'error: --by must be one of day, model, provider, path, requested_model, key, label, session, hour, not "user"',
      ],
    },
  );
  t.match(await usage(t, {}, ["exprot"]), {
    exitCode: 2,
    err: "error: unknown command 'exprot': expected export",
  });
});

t.test("an answer of another version is an error, not zeros", async (t) => {
  for (const answer of [
    {},
    { usage: totals },
    { usage: { ...totals, total_cost: "1" }, groups: [] },
    { usage: { ...totals, total_tokens: -1 }, groups: [] },
    { usage: totals, groups: [{ key: "x" }] },
  ]) {
    t.match(
      await usage(t, answer, []),
      exactly({
        exitCode: 1,
        lines: [""],
        err: "error: the daemon's usage can't be read: daemon and command line are of different versions",
      }),
    );
  }
});

t.test(
  "the locale variable of highest precedence decides whether the terminal is UTF-8",
  async (t) => {
    const table = [
      [{ LANG: "de_DE.UTF-8" }, true],
      [{ LANG: "C.utf8" }, true],
      [{}, false],
      [{ LANG: "C" }, false],
      [{ LANG: "de_DE.UTF-8", LC_CTYPE: "C" }, false],
      [{ LANG: "C", LC_ALL: "en_US.UTF-8" }, true],
      [{ LC_ALL: "", LANG: "en_US.UTF-8" }, true],
    ] as const;
    for (const [env, shows] of table) t.equal(showsUnicode(env), shows, JSON.stringify(env));
  },
);

t.test("of several hosts' usage it says whose it is, and which parts are old", async (t) => {
  const part = { host: "h1", name: "web-1", age_seconds: 0, complete: true };
  const answer = (hosts: object): object => ({ usage: totals, groups: [], hosts, server_time: "" });
  const all = { scope: "all_hosts", count: 3, oldest_seconds: 7260, complete: false };
  const parts = [
    part,
    { ...part, host: "h2", name: "web-2", age_seconds: 9, complete: false },
    { ...part, host: "h3", name: "web-3", age_seconds: 7260 },
    { ...part, host: "h4", name: "web-4", age_seconds: null, complete: false },
  ];
  const { lines } = await usage(t, answer({ ...all, parts }), ["--days", "1"]);
  t.same(lines.slice(1, 5), [
    "of 3 hosts, as of 2 h ago; some have yet to publish all of theirs",
    "  web-2 (h2): as of 9 s ago, publishing",
    "  web-3 (h3): as of 2 h ago",
    "  web-4 (h4): not published again yet",
  ]);
  const alone = { ...all, scope: "this_host", reason: "the engine can't be reached" };
  t.equal(
    (await usage(t, answer(alone), [])).lines[1],
    "of this host alone: the engine can't be reached",
  );
  for (const wrong of [{}, { ...all, count: 0 }, { ...all, parts: [{}] }, "x"])
    t.equal((await usage(t, answer(wrong as object), [])).exitCode, 1, JSON.stringify(wrong));
});

t.test("the hours of two days, from the first with usage on", async (t) => {
  const times = ["2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z", "2026-03-01T12:00:00Z"];
  const series = {
    step: "hour",
    times,
    groups: [
      { key: "2026-03-01", requests: [0, 7, 0], total_tokens: [0, 7070, 0], total_cost: [0, 1, 0] },
      { key: "other", requests: [0, 1, 0], total_tokens: [0, 1010, 0], total_cost: [0, 0.5, 0] },
    ],
  };
  const answer = { usage: totals, groups: [], series, server_time: "" };
  const { lines, asked } = await usage(t, answer, ["--by", "hour"]);
  t.same(asked, {
    user_path: "/",
    start_date: "2026-02-28",
    end_date: "2026-03-01",
    by: "day",
    step: "hour",
  });
  t.same(
    lines.slice(lines.findIndex((line) => line.startsWith("HOUR"))).map((line) => line.trimEnd()),
    [
      "HOUR (UTC)        REQUESTS  TOTAL   COST",
      "2026-03-01 11:00         8  8,080  $1.50",
      "2026-03-01 12:00         0      0  $0.00",
    ],
  );
  const shared = { scope: "all_hosts", count: 2, oldest_seconds: 1, complete: true };
  const ofHosts = await usage(t, { ...answer, hosts: shared }, ["--by", "hour", "--days", "7"]);
  t.equal(ofHosts.lines.at(-1), "hours are of this host alone");
  const broken = { ...series, groups: [{ ...series.groups[0], requests: [1] }] };
  t.match(await usage(t, { ...answer, series: broken }, ["--by", "hour"]), { exitCode: 1 });
  const long = await usage(t, answer, ["--by", "hour", "--days", "8"]);
  t.match(long.err, "error: --by hour needs at most 7 days, not 8");
});
