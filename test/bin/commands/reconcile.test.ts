import { writeFileSync } from "node:fs";
import { join } from "node:path";
import OpenAI from "openai";
import t, { type Test } from "tap";
import type { ExportedRecord } from "../../../shared/export/exported-record.js";
import { usageRecord } from "../../shared/export/usage-records.js";
import { exactly } from "../../support/patterns/exactly.js";
import { type CommandRun, run } from "../command-session.js";
import { startFakeDaemon } from "../fake-daemon.js";
import { temporaryDirectory } from "../program-run.js";
import {
  type AnalyticsCost,
  type AnalyticsUsage,
  type AnthropicCost,
  type AnthropicUsage,
  type OpenaiCost,
  type OpenaiSearches,
  type OpenaiUsage,
  type StandIn,
  type StandInOptions,
  startBillingStandIn,
} from "../reconcile/billing-stand-in.js";

/** The last seven days are those up to the 27th. */
const nowMs = Date.parse("2026-11-28T09:00:00Z");
const day = "2026-11-26";
const adminKey = "sk-admin-of-the-organization";

const openaiUsage = (changes: Partial<OpenaiUsage>): OpenaiUsage => ({
  object: "organization.usage.completions.result",
  input_tokens: 0,
  output_tokens: 0,
  num_model_requests: 0,
  model: "gpt-4o-2024-08-06",
  project_id: "proj_1",
  batch: false,
  service_tier: "default",
  ...changes,
});
const openaiCost = (line: string, value: number): OpenaiCost => ({
  object: "organization.costs.result",
  amount: { currency: "usd", value },
  line_item: line,
  project_id: "proj_1",
  quantity: null,
});
const searches: OpenaiSearches = {
  object: "organization.usage.web_searches.result",
  num_model_requests: 1,
  num_requests: 2,
};

/** What the record below was billed, and two searches that it doesn't have. */
const openaiResults = {
  "/organization/usage/completions": {
    [day]: [
      openaiUsage({
        input_tokens: 1000,
        input_cached_tokens: 600,
        output_tokens: 200,
        num_model_requests: 1,
      }),
    ],
  },
  "/organization/usage/web_search_calls": { [day]: [searches] },
  "/organization/costs": {
    [day]: [
      openaiCost("gpt-4o-2024-08-06, input", 0.001),
      openaiCost("gpt-4o-2024-08-06, cached input", 0.00075),
      openaiCost("gpt-4o-2024-08-06, output", 0.002),
      openaiCost("web search tool calls", 0.02),
    ],
  },
};

interface Scene {
  readonly standIn?: Partial<StandInOptions>;
  readonly records?: readonly ExportedRecord[];
  readonly argv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
}

const recorded = usageRecord({ time: `${day}T10:00:00.000Z` });

async function compare(
  t: Test,
  { standIn = {}, records = [recorded], argv = [], env, columns }: Scene,
): Promise<CommandRun & { readonly api: StandIn; readonly pauses: readonly number[] }> {
  const api = await startBillingStandIn(t, {
    form: "openai",
    key: adminKey,
    results: openaiResults,
    ...standIn,
  });
  const daemon = await startFakeDaemon(t, {
    usagePage: () => ({ records, next: null, progress: 1 }),
  });
  const pauses: number[] = [];
  const flags = argv.includes("--provider") ? [] : ["--provider", "openai"];
  const place = argv.includes("--bill") ? [] : ["--billing-url", api.url];
  const result = await run(["reconcile", "--socket", daemon.socket, ...flags, ...place, ...argv], {
    nowMs,
    columns: columns ?? null,
    env: env ?? { OPENAI_ADMIN_KEY: adminKey, ANTHROPIC_ADMIN_KEY: adminKey },
    pause: async (ms) => void pauses.push(ms),
  });
  return { ...result, api, pauses };
}

t.test("OpenAI's bill: all pages, the days by UTC, and searches as a tool's fee", async (t) => {
  const { exitCode, out, err, api } = await compare(t, {});
  t.same({ exitCode, err }, { exitCode: 0, err: "" });
  t.same(out.split("\n"), [
    "openai, 2026-11-21 to 2026-11-27 (UTC), by its openai bill",
    "  billed      $0.0238",
    "  recorded    $0.0038",
    "  difference  $0.0200",
    "  gap          84.22%",
    "",
    "CAUSE      AMOUNT  MEANING",
    "tool_fee  $0.0200  fees of searches, containers and other tools",
    "",
    "MODEL   TIER      QUANTITY      RECORDED  BILLED   RATE",
    "(none)  standard  web_searches         0       2  $0.01",
  ]);
  const pages = api.requests.filter((path) => path.startsWith("/organization/costs"));
  t.equal(pages.length, 4, "seven days, two a page");
});

t.test("requests to OpenAI have the form of its own SDK's", async (t) => {
  const { api } = await compare(t, { argv: ["--project", "proj_1"] });
  const own: string[] = [];
  const sdk = new OpenAI({
    adminAPIKey: adminKey,
    apiKey: "unused",
    baseURL: api.url,
    fetch: async (url) => {
      own.push(String(url));
      return Response.json({ object: "page", data: [], has_more: false, next_page: null });
    },
  });
  const window = {
    start_time: Date.parse("2026-11-21") / 1000,
    end_time: Date.parse("2026-11-28") / 1000,
    bucket_width: "1d" as const,
    limit: 31,
    project_ids: ["proj_1"],
  };
  const { usage } = sdk.admin.organization;
  await usage.completions({
    ...window,
    group_by: ["project_id", "model", "batch", "service_tier"],
  });
  await usage.embeddings({ ...window, group_by: ["project_id", "model"] });
  await usage.moderations({ ...window, group_by: ["project_id", "model"] });
  await usage.images({ ...window, group_by: ["project_id", "model"] });
  await usage.audioSpeeches({ ...window, group_by: ["project_id", "model"] });
  await usage.audioTranscriptions({ ...window, group_by: ["project_id", "model"] });
  await usage.codeInterpreterSessions({ ...window, group_by: ["project_id"] });
  await usage.fileSearchCalls({ ...window, group_by: ["project_id"] });
  await usage.webSearchCalls({ ...window, group_by: ["project_id"] });
  await usage.costs({ ...window, group_by: ["project_id", "line_item"] });
  const form = (path: string): string => {
    const { pathname, searchParams } = new URL(path, api.url);
    return `${pathname} ${[...searchParams]
      .map((pair) => pair.join("="))
      .sort()
      .join(" ")}`;
  };
  const first = api.requests.filter((path) => !path.includes("&page="));
  t.same(first.map(form), own.map(form));
});

const anthropicUsage: AnthropicUsage = {
  uncached_input_tokens: 400,
  cache_read_input_tokens: 600,
  cache_creation: { ephemeral_1h_input_tokens: 0, ephemeral_5m_input_tokens: 0 },
  output_tokens: 200,
  server_tool_use: { web_search_requests: 0 },
  inference_geo: "global",
  model: "claude-sonnet-5",
  service_tier: "standard",
  workspace_id: null,
};
const anthropicCost = (
  tokenType: AnthropicCost["token_type"],
  cents: string,
  changes: Partial<AnthropicCost> = {},
): AnthropicCost => ({
  amount: cents,
  currency: "USD",
  cost_type: "tokens",
  token_type: tokenType,
  inference_geo: "global",
  model: "claude-sonnet-5",
  service_tier: "standard",
  workspace_id: null,
  description: `Claude Sonnet 5 Usage - ${tokenType ?? "other"}`,
  ...changes,
});

t.test("Anthropic's reports, in cents and by workspace", async (t) => {
  const results = {
    "/v1/organizations/usage_report/messages": {
      [day]: [anthropicUsage, { ...anthropicUsage, workspace_id: "wrkspc_other" }],
    },
    "/v1/organizations/cost_report": {
      [day]: [
        anthropicCost("uncached_input_tokens", "0.1"),
        anthropicCost("cache_read_input_tokens", "0.075"),
        anthropicCost("output_tokens", "0.25"),
        anthropicCost("output_tokens", "0.25", { workspace_id: "wrkspc_other" }),
      ],
    },
  };
  const { exitCode, out } = await compare(t, {
    standIn: { form: "anthropic", results },
    records: [{ ...recorded, provider: "anthropic", model: "claude-sonnet-5" }],
    argv: ["--provider", "anthropic", "--project", "default", "--json"],
  });
  t.equal(exitCode, 0);
  const { days, ...report } = JSON.parse(out) as Record<string, unknown>;
  const quantity = (kind: string, recorded: number, usd: string, rate: string): object => ({
    tier: "standard",
    region: null,
    kind,
    recorded,
    billed: recorded,
    billed_usd: usd,
    billed_rate: rate,
  });
  t.same(days, [
    {
      date: day,
      project: null,
      model: "claude-sonnet-5",
      recorded_usd: "0.00375",
      billed_usd: "0.00425",
      causes: { stale_price: "0.0005" },
      quantities: [
        { ...quantity("requests", 1, "", ""), billed: null, billed_usd: null, billed_rate: null },
        quantity("input", 400, "0.001", "2.5"),
        quantity("cached_input", 600, "0.00075", "1.25"),
        quantity("output", 200, "0.0025", "12.5"),
      ],
    },
  ]);
  t.same(report, {
    provider: "anthropic",
    source: "anthropic",
    start_date: "2026-11-21",
    end_date: "2026-11-27",
    recorded_usd: "0.00375",
    billed_usd: "0.00425",
    difference_usd: "0.0005",
    gap_usd: "0.0005",
    gap_percent: 11.77,
    causes: { stale_price: "0.0005" },
    projects: [],
    unknown_lines: [],
    prices: [
      "prices:",
      '  "anthropic/claude-sonnet-5": { extends: list, input: 2.5, cached_input: 1.25, output: 12.5 }',
    ],
    notes: [],
  });
});

t.test("Anthropic's analytics of usage and cost, which count requests", async (t) => {
  const group: AnalyticsUsage["group"] = {
    ...{ workspace_id: null, model: "claude-sonnet-5", inference_geo: null },
    service_tier: "standard",
    speed: "standard",
  };
  const usage: AnalyticsUsage["usage"] = {
    ...{ requests: 1, total_tokens: 1200, uncached_input_tokens: 400, output_tokens: 200 },
    cache_read_input_tokens: 600,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    server_tool_use: { web_search_requests: 0 },
  };
  const used: AnalyticsUsage = { group, usage };
  const fast: AnalyticsUsage = { ...used, group: { ...group, speed: "fast" } };
  const elsewhere: AnalyticsUsage = { ...used, group: { ...group, workspace_id: "wrkspc_other" } };
  const cost = (
    token_type: AnalyticsCost["group"]["token_type"],
    amount: string,
    more: Partial<AnalyticsCost["group"]> = {},
  ): AnalyticsCost => ({
    group: { ...group, cost_type: "tokens", token_type, ...more },
    cost: { amount, list_amount: amount, currency: "USD", requests: null },
  });
  const results = {
    "/v1/organizations/analytics/usage": { [day]: [used, fast, elsewhere] },
    "/v1/organizations/analytics/cost": {
      [day]: [
        cost("uncached_input_tokens", "0.1"),
        cost("cache_read_input_tokens", "0.075"),
        cost("output_tokens", "0.2"),
        cost("output_tokens", "7", { speed: "fast" }),
        cost(null, "3", { cost_type: "web_search", service_tier: "priority_on_demand" }),
      ],
    },
  };
  const { exitCode, out, err, api } = await compare(t, {
    standIn: { form: "anthropic", results },
    records: [{ ...recorded, provider: "anthropic", model: "claude-sonnet-5" }],
    argv: [
      ...["--provider", "anthropic", "--source", "anthropic-analytics", "--project", "default"],
      ...["--from", "2026-09-20", "--to", "2026-11-27", "--json"],
    ],
  });
  t.equal(exitCode, 0, err);
  const report = JSON.parse(out) as {
    readonly causes: unknown;
    readonly days: readonly { readonly quantities: readonly object[] }[];
  };
  t.same(report.causes, { past_sluice: "0.07", tool_fee: "0.03" });
  const counts = report.days.flatMap(({ quantities }) => quantities);
  t.match(
    counts.filter((one) => (one as { kind: string }).kind === "requests"),
    exactly([
      { tier: "standard", recorded: 1, billed: 1 },
      { tier: "fast", recorded: 0, billed: 1 },
    ]),
  );
  t.equal(api.requests.filter((path) => path.includes("2026-10-21T00")).length, 2 * 2);
});

t.test("OpenRouter's activity has one amount for a model's tokens", async (t) => {
  const { createServer } = await import("node:http");
  const server = createServer((_request, response) =>
    response.end(
      JSON.stringify({
        data: [
          {
            date: `${day} 00:00:00`,
            model: "openai/gpt-4.1",
            model_permaslug: "openai/gpt-4.1-2025-04-14",
            endpoint_id: "550e8400-e29b-41d4-a716-446655440000",
            provider_name: "OpenAI",
            usage: 0.00375,
            byok_usage_inference: 0,
            requests: 1,
            prompt_tokens: 1000,
            completion_tokens: 200,
            reasoning_tokens: 25,
          },
          { date: "2026-11-28", model: "openai/gpt-4.1", usage: 99 },
        ],
      }),
    ),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => void server.close());
  const { port } = server.address() as { port: number };
  const daemon = await startFakeDaemon(t, {
    usagePage: () => ({
      records: [{ ...recorded, provider: "openrouter", model: "openai/gpt-4.1" }],
      next: null,
      progress: 1,
    }),
  });
  const argv = ["reconcile", "--socket", daemon.socket, "--provider", "openrouter"];
  const { exitCode, out } = await run(
    [...argv, "--billing-url", `http://127.0.0.1:${port}`, "--fail-above", "0%"],
    { nowMs, env: { OPENROUTER_MANAGEMENT_KEY: "sk-or-v1-x" } },
  );
  t.equal(exitCode, 0);
  t.match(out, /\n {2}gap +0\.00%\n\nno difference$/);
});

t.test("the exit code tells a nightly job", async (t) => {
  const within = await compare(t, { argv: ["--fail-above", "84.22%"] });
  t.equal(within.exitCode, 0);
  const above = await compare(t, { argv: ["--fail-above", "1%"] });
  t.equal(above.exitCode, 4);
  t.equal(above.err, "the gap of 84.22% is above --fail-above 1%");
  t.match(above.out, /^openai, /, "the comparison is printed all the same");
});

t.test("too many requests are repeated when the billing API says so", async (t) => {
  const { exitCode, pauses } = await compare(t, {
    standIn: { tooMany: { times: 2, retryAfter: "7" } },
  });
  t.equal(exitCode, 0);
  t.same(pauses, [7000, 7000]);
  const later = await compare(t, { standIn: { tooMany: { times: 9, retryAfter: "3600" } } });
  t.equal(later.exitCode, 1);
  t.match(later.err, /answered 429 and asks to wait 3600 s: try again then$/);
});

t.test("a key that can't read bills", async (t) => {
  const withKey = (key: string): ReturnType<typeof compare> =>
    compare(t, { env: { OPENAI_ADMIN_KEY: key } });
  const wrong = await withKey("sk-admin-wrong");
  t.equal(wrong.exitCode, 1);
  t.match(
    wrong.err,
    /^error: http:\S+\/organization\/usage\/completions answered 401: You have insufficient .*; it takes an admin key of the organization \(sk-admin-…\), not a project's key$/,
  );
  for (const key of ["sk-proj-abc", ""]) {
    const { exitCode, err, api } = await withKey(key);
    t.equal(exitCode, 2);
    t.match(err, /the billing API takes an admin key of the organization/);
    t.notMatch(err, /abc/, "without the key");
    t.same(api.requests, [], "and nothing is sent");
  }
});

t.test("a key isn't sent in the clear", async (t) => {
  const { exitCode, err } = await compare(t, {
    argv: ["--billing-url", "http://billing.example"],
  });
  t.equal(exitCode, 2);
  t.match(err, /--billing-url must be an https address/);
});

t.test("today isn't over", async (t) => {
  const { out, err } = await compare(t, { argv: ["--from", day, "--to", "2026-11-28"] });
  t.match(out, /^openai, 2026-11-26 to 2026-11-27 /);
  t.equal(
    err,
    "note: 2026-11-28 isn't over, so no bill has all of it: the comparison ends with 2026-11-27",
  );
  const today = await compare(t, { argv: ["--from", "2026-11-28"] });
  t.equal(today.exitCode, 2);
  t.match(today.err, /--from must be before today, 2026-11-28/);
});

t.test("an empty bill, and one without costs yet", async (t) => {
  const empty = await compare(t, { standIn: { results: {} }, argv: ["--fail-above", "1"] });
  t.equal(empty.exitCode, 4);
  t.match(empty.err, /note: the bill has nothing on these days: is it that of the right/);
  t.match(empty.out, /not_billed +-\$0\.003/);
  const { "/organization/costs": _, ...usageAlone } = openaiResults;
  const early = await compare(t, { standIn: { results: usageAlone } });
  t.match(early.err, /note: the bill has usage but no cost yet on 2026-11-26: try again later/);
});

t.test("another currency", async (t) => {
  const euros: OpenaiCost = {
    ...openaiCost("gpt-4o, input", 1),
    amount: { currency: "eur", value: 1 },
  };
  const { exitCode, err } = await compare(t, {
    standIn: { results: { "/organization/costs": { [day]: [euros] } } },
  });
  t.equal(exitCode, 1);
  t.equal(
    err,
    'error: the cost of "gpt-4o, input" on 2026-11-26 is in "eur": only bills in USD are compared',
  );
});

t.test("a provider that isn't configured has no records", async (t) => {
  const directory = temporaryDirectory(t);
  const config = join(directory, "sluice.yaml");
  writeFileSync(join(directory, "bill.csv"), "date,model,amount\n");
  writeFileSync(config, "providers: { openai: { api_key: sk-x } }\n");
  const daemon = await startFakeDaemon(t, {
    usagePage: () => ({ records: [], next: null, progress: 1 }),
  });
  const { exitCode, err } = await run(
    ["reconcile", "--config", config, "--provider", "opanai", "--bill", "bill.csv"],
    { nowMs, cwd: directory, env: { SLUICE_SOCKET: daemon.socket } },
  );
  t.equal(exitCode, 2);
  t.match(err, /there are no records of opanai, and it isn't configured; configured are openai/);
});

t.test("bills in files", async (t) => {
  const directory = temporaryDirectory(t);
  const file = join(directory, "bill");
  const ofFile = (text: string, argv: readonly string[] = []): ReturnType<typeof compare> => {
    writeFileSync(file, text);
    return compare(t, { argv: ["--bill", file, "--json", ...argv] });
  };
  const causesIn = async (text: string, argv: readonly string[] = []): Promise<unknown> => {
    const { out, err } = await ofFile(text, argv);
    return err === "" ? (JSON.parse(out) as { causes: unknown }).causes : err;
  };

  await t.test("a CSV with quantities and one amount", async (t) => {
    const header = "date,model,amount,requests,input_tokens,cached_input_tokens,output_tokens\r\n";
    t.same(await causesIn(`${header}${day},gpt-4o-2024-08-06,0.00375,1,1000,600,200\r\n`), {});
    t.same(await causesIn(`\uFEFF${header}${day},"gpt-4o",0.0045,1,1000,600,200\r\n`), {
      stale_price: "0.00075",
    });
  });

  await t.test("a CSV as spreadsheets write it", async (t) => {
    const quantities = "requests;input_tokens;cached_input_tokens;output_tokens";
    const lines = [
      `\uFEFF"date";"model";"amount";${quantities};note`,
      `${day};"gpt-4o";"0.00375";1;1000;600;200;"two\r\nlines; ""quoted"""`,
      ";;;;;;;",
    ];
    t.same(await causesIn(lines.join("\r\n")), {});
    t.same(await causesIn(lines.join("\r\n").replaceAll(";", "\t")), {});
    const broken = `date,model,amount\n${day},"a\nb",0.00375\n`;
    const { out } = await ofFile(broken);
    const { days } = JSON.parse(out) as { days: readonly { readonly model: string }[] };
    t.ok(
      days.some(({ model }) => model === "a b"),
      "a line break within a cell is a space",
    );
  });

  await t.test("a CSV with a line for each kind", async (t) => {
    const lines = [
      "date,model,kind,quantity,amount,currency",
      `${day},gpt-4o,input,400,0.001,USD`,
      `${day},gpt-4o,cached_input,600,0.00075,USD`,
      `${day},gpt-4o,output,200,0.002,USD`,
      `${day},,credit,,-0.001,USD`,
    ];
    t.same(await causesIn(lines.join("\n")), { credits: "-0.001" });
  });

  await t.test("columns that aren't read, and lines of other days, are named", async (t) => {
    const notesOf = async (text: string): Promise<unknown> =>
      (JSON.parse((await ofFile(text)).out) as { readonly notes: unknown }).notes;
    t.same(await notesOf(`date,model,amount,tokens\n${day},gpt-4o,0.00375,9\n`), [
      "columns that aren't read: tokens",
    ]);
    const nothing =
      "the bill has nothing on these days: is it that of the right organization or project?";
    t.same(await notesOf("date,model,amount\n2020-01-05,m,1\n2020-01-02,m,1\n"), [
      "the bill has lines of 2020-01-02 to 2020-01-05; give --from and --to, or check --project",
      nothing,
    ]);
    t.same(await notesOf("date,model,amount\n"), [nothing]);
    t.same(await notesOf("[]"), [nothing]);
  });

  await t.test("what is wrong is named", async (t) => {
    const cases: readonly (readonly [string, RegExp])[] = [
      [
        "date,amount\n2026-11-26,1\n",
        /the bill has no column model, but \\"date\\", \\"amount\\": a CSV needs date, model, amount/,
      ],
      ["day;model;amount\n", /the bill has no column date, but/],
      ["PK\u0003\u0004 a workbook", /the bill has no column date, but/],
      ["\uFEFF \r\n", /the bill is empty: it has no header/],
      [";;\n", /the bill is empty: it has no header/],
      [
        `date,model,amount\n${day},gpt-4o,1,5\n`,
        /line 2 of the bill has 4 columns, and the header 3: a cell that contains \\",\\" needs quotes/,
      ],
      [
        `date;model;amount\n${day};gpt-4o;1,5\n`,
        /amount, line 2 of the bill, must be a decimal such as 1\.25, not \\"1,5\\": write decimals after a point/,
      ],
      [
        `date;model;amount;input_tokens\n${day};gpt-4o;1;1,000\n`,
        /input_tokens, line 2 of the bill, must be a number from 0, not \\"1,000\\": write decimals after a point, and thousands without/,
      ],
      [`date,model,amount\n${day},"gpt"-4o,1\n`, /line 2 of the bill has text after a closing/],
      [`date,model,amount,Amount\n${day},gpt-4o,1,2\n`, /the bill has two columns amount/],
      [
        Buffer.from(`date,model,amount\n${day},gpt-4o,1\n`, "utf16le").toString(),
        /the bill must be UTF-8/,
      ],
      [`date,model,amount\n${day},gpt-4o,one\n`, /amount, line 2 of the bill, must be a decimal/],
      ["date,model,amount\n26.11.2026,gpt-4o,1\n", /date, line 2 of the bill, must be a date/],
      [`date,model,amount,currency\n${day},gpt-4o,1,EUR\n`, /line 2 of the bill is in \\"EUR\\"/],
      [`date,model,amount\n${day},"gpt-4o,1\n`, /line 2 of the bill has a quote that isn't closed/],
      [
        `date,model,amount,kind\n${day},gpt-4o,1,tokens\n`,
        /kind, line 2 of the bill, must be one of/,
      ],
      [
        `date,model,amount,input_tokens\n${day},gpt-4o,1,1e999\n`,
        /input_tokens, line 2 of the bill, must be a number from 0, not \\"1e999\\"/,
      ],
      [
        '{"usage_start_time": "2026-11-26T00:00:00Z", "cost": 1}\n',
        /line 1 of the bill has no sku/,
      ],
      ["{\n", /line 1 of the bill must be a JSON object/],
    ];
    for (const [text, message] of cases) {
      const { exitCode, err } = await ofFile(text);
      t.equal(exitCode, 1, text);
      t.match(err, message);
    }
  });

  await t.test(
    "a BigQuery export: JSON lines by the hour, credits apart, tax as one",
    async (t) => {
      const line = (sku: string, amount: number, cost: number, more: object = {}): string =>
        JSON.stringify({
          billing_account_id: "01ABCD-2345EF-67890A",
          service: { id: "AEFD-7695-64FA", description: "Gemini API" },
          sku: { id: "0F51-429B-C2DC", description: sku },
          usage_start_time: `${day}T10:00:00Z`,
          usage_end_time: `${day}T11:00:00Z`,
          project: { id: "booksplit", number: "1" },
          cost,
          currency: "USD",
          usage: { amount, unit: "count" },
          credits: [],
          cost_type: "regular",
          ...more,
        });
      const export_ = [
        line("Generate content input token count gpt 4o text", 250, 0.000625),
        line("Generate content input token count gpt 4o text", 150, 0.000375),
        line("Generate content cached input token count gpt 4o text", 600, 0.00075),
        line("Generate content output token count gpt 4o short input text", 200, 0.002, {
          credits: [{ name: "free trial", amount: -0.0005 }],
        }),
        line("Tax", 0, 0.0001, { cost_type: "tax" }),
        line("Generate content output token count gpt 4o text", 9, 9, { project: { id: "soma" } }),
      ].join("\n");
      t.same(await causesIn(export_, ["--project", "booksplit"]), { credits: "-0.0004" });
      const machine = line("N1 Core", 1, 7, { service: { description: "Compute Engine" } });
      const mixed = await ofFile(`${export_}\n${machine}`, ["--project", "booksplit"]);
      const { causes, notes } = JSON.parse(mixed.out) as { causes: unknown; notes: unknown };
      t.same(
        { causes, notes },
        {
          causes: { credits: "-0.0004" },
          notes: ["lines of other services than models are left out: 1"],
        },
      );
      const csv = [
        "usage_start_time,sku_description,project_id,cost,currency,usage_amount,cost_type",
        `${day} 10:00:00 UTC,Generate content search query gemini 3,p,0.028,USD,2,regular`,
        `2026-11-27 23:30:00-05:00,Text Input of gpt-4o,p,5,USD,2,regular`,
      ];
      const { out } = await ofFile(csv.join("\n"));
      t.equal((JSON.parse(out) as { billed_usd: string }).billed_usd, "0.028", "by UTC days");
    },
  );
});

t.test("exported records of several hosts", async (t) => {
  const directory = temporaryDirectory(t);
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const bill = file("bill.csv", `date,model,amount,requests\n${day},gpt-4o,0.0075,2\n`);
  const host = file("host.ndjson", `${JSON.stringify(recorded)}\n`);
  const argv = ["reconcile", "--provider", "openai", "--bill", bill, "--records", host];
  const { exitCode, out } = await run([...argv, "--records", host, "--json"], { nowMs });
  t.equal(exitCode, 0);
  t.equal((JSON.parse(out) as { recorded_usd: string }).recorded_usd, "0.0075");
  const broken = file("broken.ndjson", `${JSON.stringify(recorded)}\n{}\n`);
  const wrong = await run([...argv, "--records", broken], { nowMs });
  t.equal(wrong.exitCode, 2);
  t.match(wrong.err, /broken\.ndjson can't be read: line 2 isn't a record of sluice usage export/);
});

t.test("the records of one of the provider's keys", async (t) => {
  const records = ["a", "b", null].map((key) => ({ ...recorded, provider_key: key }));
  const recordedUsd = async (argv: readonly string[]): Promise<unknown> => {
    const { out } = await compare(t, { records, argv: [...argv, "--json"] });
    return (JSON.parse(out) as { recorded_usd: unknown }).recorded_usd;
  };
  t.equal(await recordedUsd([]), "0.01125");
  t.equal(await recordedUsd(["--provider-key", "a"]), "0.00375");
  t.equal(await recordedUsd(["--provider-key", "a", "--provider-key", "b"]), "0.0075");
});

t.test("each project is compared with the provider keys that belong to it", async (t) => {
  const records = ["a", "b", "other"].map((key) => ({ ...recorded, provider_key: key }));
  const ofProject = (project: string, count: number): readonly OpenaiCost[] =>
    [
      openaiCost("gpt-4o-2024-08-06, input", 0.001 * count),
      openaiCost("gpt-4o-2024-08-06, cached input", 0.00075 * count),
      openaiCost("gpt-4o-2024-08-06, output", 0.002 * count),
    ].map((cost) => ({ ...cost, project_id: project }));
  const usageIn = (project: string, count: number): OpenaiUsage =>
    openaiUsage({
      input_tokens: 1000 * count,
      input_cached_tokens: 600 * count,
      output_tokens: 200 * count,
      num_model_requests: count,
      project_id: project,
    });
  const results = {
    "/organization/usage/completions": { [day]: [usageIn("proj_1", 2), usageIn("proj_2", 1)] },
    "/organization/costs": { [day]: [...ofProject("proj_1", 2), ...ofProject("proj_2", 1)] },
  };
  const scene = { records, standIn: { results } };
  const pairs = (...values: readonly string[]): readonly string[] =>
    values.flatMap((value) => ["--project", value]);
  const crossed = await compare(t, {
    ...scene,
    argv: [...pairs("proj_1=a", "proj_2=b", "proj_2=none"), "--json"],
  });
  const report = JSON.parse(crossed.out) as Readonly<Record<string, unknown>>;
  t.same(report["projects"], [
    {
      project: "proj_1",
      provider_keys: ["a"],
      recorded_usd: "0.00375",
      billed_usd: "0.0075",
      difference_usd: "0.00375",
      gap_usd: "0.00375",
      gap_percent: 50,
    },
    {
      project: "proj_2",
      provider_keys: ["b", "none"],
      recorded_usd: "0.00375",
      billed_usd: "0.00375",
      difference_usd: "0",
      gap_usd: "0",
      gap_percent: 0,
    },
  ]);
  t.same(
    (report["days"] as readonly { readonly project: string }[]).map(({ project }) => project),
    ["proj_1", "proj_2"],
  );
  t.same(report["causes"], { past_sluice: "0.00375" });
  t.same(report["notes"], ["there are no records of the provider key none on these days"]);
  const shown = await compare(t, {
    ...scene,
    columns: 80,
    argv: pairs("proj_1=a", "proj_1=other", "proj_2=b"),
  });
  t.match(
    shown.out,
    /no difference\n\nPROJECT +PROVIDER KEYS +RECORDED +BILLED +GAP\nproj_1 +a, other +\$0\.0075 +\$0\.0075 +0\.00%\nproj_2 +b +/,
  );
  for (const line of shown.out.split("\n")) t.ok([...line].length <= 80, line);
  const wrong = async (argv: readonly string[]): Promise<string> =>
    (await compare(t, { ...scene, argv })).err;
  t.match(await wrong(pairs("p=a", "q=a")), /the provider key a has two projects, p and q/);
  t.match(await wrong(pairs("p=a", "q")), /name a provider key for every project/);
  t.match(await wrong([...pairs("p=a"), "--provider-key", "b"]), /give no --provider-key/);
  t.match(await wrong(pairs("p=")), /--project must be <id> or <id>=<provider key>, not "p="/);
});

t.test("a record that was repriced, and the one that books the difference", async (t) => {
  const unpriced = { ...recorded, input_cost: null, output_cost: null, total_cost: null };
  const zero = { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, total_tokens: 0 };
  const records = [
    { ...unpriced, repriced_cost: 0.00375 },
    { ...recorded, ...zero, status: 102, corrects: "1813000000000.0" },
  ];
  const { out } = await compare(t, { records, argv: ["--json"] });
  const { causes, recorded_usd: usd } = JSON.parse(out) as Record<string, unknown>;
  t.same({ causes, usd }, { causes: { tool_fee: "0.02" }, usd: "0.00375" });
});

t.test("the tables fit a terminal of 80 columns", async (t) => {
  const model = "a-model-with-a-very-long-name-indeed-2026-11-01";
  const quantities = { input_tokens: 123_456_789_012, output_tokens: 9_876_543_210 };
  const { out } = await compare(t, {
    columns: 80,
    records: [],
    standIn: {
      results: {
        "/organization/usage/completions": {
          [day]: [openaiUsage({ model, service_tier: "priority", ...quantities })],
        },
        "/organization/costs": {
          [day]: [
            openaiCost(`priority | ${model}, input`, 308_641.97),
            openaiCost(`priority | ${model}, output`, 98_765.43),
          ],
        },
      },
    },
  });
  t.match(out, /past_sluice/);
  for (const line of out.split("\n")) t.ok([...line].length <= 80, line);
});

t.test("flags that can't be meant", async (t) => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [["--fail-above", "one"], /--fail-above must be a percentage such as 1% or 0\.5%/],
    [["--days", "0"], /--days must be an integer greater than 0/],
    [
      ["--source", "azure"],
      /--source must be one of openai, anthropic, anthropic-analytics, openrouter/,
    ],
    [["--provider", "groq"], /groq has no billing API that Sluice knows: give --bill/],
    [["--provider", "openai,"], /--provider must name a provider/],
  ];
  for (const [argv, message] of cases) {
    const { exitCode, err } = await compare(t, { argv });
    t.equal(exitCode, 2, argv.join(" "));
    t.match(err, message);
  }
});
