/**
 * GET /admin/usage/records through real processes: pages, filters and files of many records, what a
 * rule would have refused of them, while the disk works or not, and what is refused.
 */
import t from "tap";
import type { RecordItem, RecordPage } from "../../../shared/api/record-item.js";
import type { BackTestReport } from "../../../shared/api/rule-item.js";
import { recordFields } from "../../../shared/export/exported-record.js";
import { type ExecutedRequest, settleMany } from "../../support/crash/settle-load.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";

const count = 30_000;
const nowMs = Date.parse("2026-03-01T12:00:00Z");
const executed = (index: number): ExecutedRequest => ({
  userPath: index % 2 === 0 ? "/team/app" : "/other",
  record: {
    requestId: `req_${index}`,
    endpoint: "/v1/chat/completions",
    provider: "test",
    providerType: "openai",
    model: index % 10 === 0 ? "@cf/llama" : "gpt-4o",
    status: index % 1000 === 999 ? 503 : 200,
    inputTokens: 10,
    outputTokens: 1,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    inputCost: 1,
    outputCost: 1,
    totalCost: 2,
    cacheHit: false,
    rewriteTokensSaved: 0,
    rewriteCostSaved: null,
    latencyMs: 12,
    firstByteMs: 7,
    requestedModel: "",
    session: "",
    details: null,
    atMost: null,
    responseId: "",
    keyId: "",
  },
});
const site = makeSite(
  t,
  'providers: { test: { type: openai, api_key: none, base_url: "http://127.0.0.1:9/v1", models: ["*"] } }\n',
);
await site.startClockedDaemon(nowMs);
await settleMany(site.socket, count, executed);
const { ready: url } = await site.startProxy();

const get = (query: string): Promise<Response> => fetch(`${url}/admin/usage/records?${query}`);
const page = async (query: string): Promise<RecordPage> => {
  const answer = await get(query);
  t.equal(answer.status, 200, query);
  return (await answer.json()) as RecordPage;
};

t.test(
  "pages hold every record once, newest first, and a filter those that it names",
  async (t) => {
    const seen: string[] = [];
    const fields = recordFields.map(([name]) => name).sort();
    for (let after = ""; ; ) {
      const { records, next } = await page(`user_path=/team&status=200${after}`);
      for (const record of records) seen.push(record.request_id);
      if (records[0] !== undefined) t.same(Object.keys(records[0]).sort(), fields);
      if (next === null) break;
      after = `&after=${next}`;
    }
    const wanted = Array.from({ length: count }, (_, i) => i).filter((i) => i % 2 === 0);
    t.same(
      seen,
      wanted.reverse().map((i) => `req_${i}`),
    );
    const failed = await page("status=5xx");
    t.same(
      [failed.records.length, failed.next, failed.records[0]?.request_id],
      [count / 1000, null, `req_${count - 1}`],
    );
    const none = await page("model=none");
    t.same([none.records, none.next], [[], null]);
    t.ok(none.looked_back_to !== null, "as far as there are records");
  },
);

t.test("a rule is judged by all of them, from answer to answer", async (t) => {
  const rule = { user_path: "/team", limit_key: { period: "minute" }, max_requests: 1000 };
  const reports: BackTestReport[] = [];
  for (let after: string | null | undefined; after !== null; ) {
    const answer = await fetch(`${url}/admin/rate-limits/test`, {
      method: "POST",
      body: JSON.stringify({ ...rule, ...(after === undefined ? {} : { after }) }),
    });
    t.equal(answer.status, 200);
    const report = (await answer.json()) as BackTestReport;
    reports.push(report);
    after = report.next;
  }
  t.ok(reports.length >= 2, "one answer isn't enough");
  t.match(
    reports.at(-1),
    exactly({
      requests: count / 2,
      paths: [{ user_path: "/team/app" }],
      progress: 1,
    }),
  );
  t.ok(reports.at(-1)!.refused >= count / 2 - 2000, "all came within seconds");
});

t.test("a file holds all of them, and no text in it is a formula", async (t) => {
  const lines = await get("format=ndjson&user_path=/other");
  t.match(lines.headers.get("content-type"), /ndjson/);
  t.match(
    lines.headers.get("content-disposition"),
    /^attachment; filename="sluice-records-\d{4}-\d\d-\d\d\.ndjson"$/,
  );
  const records = (await lines.text())
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as RecordItem);
  t.equal(records.length, count / 2);
  const csv = await get("format=csv&model=@CF/llama");
  t.match(csv.headers.get("content-type"), /^text\/csv/);
  const rows = (await csv.text()).trim().split("\r\n");
  t.equal(rows.length, 1 + count / 10);
  t.equal(rows[0], recordFields.map(([name]) => name).join(","));
  t.match(rows[1], /,'@cf\/llama,/);
  t.equal(await (await get("format=ndjson&request_id=x")).text(), "");
  const groups = await fetch(
    `${url}/admin/usage?by=model&start_date=2026-03-01&end_date=2026-03-01&format=csv`,
  );
  t.match(groups.headers.get("content-disposition"), /sluice-usage-2026-03-01-2026-03-01\.csv/);
  t.same((await groups.text()).split("\r\n").slice(0, 2), [
    "key,name,requests,input_tokens,output_tokens,total_tokens,unpriced_requests,total_cost,unknown_calls,unknown_tokens_at_most,unknown_cost_at_most",
    "test/gpt-4o,,27000,270000,27000,297000,0,0,0,0,0",
  ]);
});

t.test("what isn't a parameter, or isn't right, is a 400 that names it", async (t) => {
  for (const [query, param, message] of [
    ["path=/team", "path", /^unknown parameter path: expected after, limit, user_path/],
    ["limit=0", "limit", /^limit must be an integer from 1 to 200, not 0$/],
    ["limit=1&limit=2", "limit", /more than once/],
    ["after=x", "after", /next of the previous page/],
    ["status=600", "status", /^status must be a status such as 429/],
    ["key=sk-sluice-x", "key", /^key must be a key's id such as key_7, or none$/],
    ["start_date=yesterday", "start_date", /such as 2026-01-31/],
    ["format=xml", "format", /^format must be one of json, csv, ndjson, not "xml"$/],
    ["format=csv&limit=5", "limit", /^limit is for pages: a file holds all records$/],
    ["format=ndjson&after=1.0", "after", /^after is for pages/],
    ["format=csv&status=x", "status", /^status must be/],
  ] as const) {
    const answer = await get(query);
    const body = (await answer.json()) as Record<string, unknown>;
    t.match([answer.status, body], exactly([400, { param, message }]), query);
  }
  const file = await fetch(`${url}/admin/usage?format=csv`);
  t.match([file.status, await file.json()], exactly([400, { param: "by" }]));
});
