/** What a proxy counts, and how many series callers can make of it. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import t from "tap";
import { unvouchedModelsMax } from "../../../proxy/metrics/labels.js";
import type { EndedAttempt } from "../../../proxy/metrics/proxy-counts.js";
import type { Usage } from "../../../proxy/usage/usage.js";
import { linesOf } from "../../../shared/metrics/series.js";
import { writeMetrics } from "../../../shared/metrics/write-metrics.js";
import { parseMetrics } from "../../support/parse-metrics.js";
import { fakeMetrics } from "../fake-metrics.js";

const usage: Usage = {
  inputTokens: 100,
  outputTokens: 7,
  totalTokens: 107,
  cachedInputTokens: 30,
  cacheWriteInputTokens: 20,
  reportedCost: null,
  details: null,
};
const target = { provider: "openai", model: "gpt-x" };
const ended = {
  method: "POST",
  route: "/v1/chat/completions",
  endpoint: "chat_completions",
  status: 200,
  target,
  userPath: "/a/b/c",
  stream: true,
  seconds: 0.3,
};
const charge = {
  target,
  userPath: "/a/b/c",
  usage,
  estimated: false,
  cost: 1_500_000,
  isUnpriced: false,
  atMost: null,
  isAnswered: true,
};
const attempt: EndedAttempt = {
  target,
  operation: "chat_completions",
  stream: true,
  startedMonoMs: 1000,
  endedMonoMs: 1030,
  forwarded: {
    status: 200,
    outcome: "complete",
    usage,
    estimated: false,
    firstByteMonoMs: 1015,
  },
};

t.test("a request is counted by its target and its status", async (t) => {
  const { counts, samples } = fakeMetrics();
  counts.countRequest(ended);
  counts.countRequest({ ...ended, status: 429, target: null, stream: null });
  counts.countRequest({ ...ended, endpoint: null, route: "/v1/models", method: "GET" });
  t.same(samples("sluice_requests_total"), [
    'sluice_requests_total{endpoint="chat_completions",provider="openai",model="gpt-x",code="200",stream="true"} 1',
    'sluice_requests_total{endpoint="chat_completions",code="429"} 1',
  ]);
  t.same(
    samples("http_server_request_duration_seconds_count"),
    [
      ["POST", "/v1/chat/completions", 200],
      ["POST", "/v1/chat/completions", 429],
      ["GET", "/v1/models", 200],
    ].map(
      ([method, route, code]) =>
        `http_server_request_duration_seconds_count{http_request_method="${method}",http_route="${route}",http_response_status_code="${code}"} 1`,
    ),
  );
});

t.test("the types of tokens add up, and a cost is in dollars", async (t) => {
  const { counts, samples } = fakeMetrics();
  counts.countCharge(charge);
  counts.countCharge({ ...charge, estimated: true, cost: null, isUnpriced: true });
  const at = 'provider="openai",model="gpt-x"';
  t.same(
    samples("sluice_tokens_total"),
    ["false", "true"].flatMap((estimated) =>
      [
        ["input", 50],
        ["cached_input", 30],
        ["cache_write_input", 20],
        ["output", 7],
      ].map(
        ([type, tokens]) =>
          `sluice_tokens_total{${at},type="${type}",estimated="${estimated}"} ${tokens}`,
      ),
    ),
  );
  t.same(samples("sluice_cost_usd_total", "sluice_unpriced_requests_total"), [
    `sluice_cost_usd_total{${at}} 0.0000015`,
    `sluice_unpriced_requests_total{${at}} 1`,
  ]);
});

t.test("an attempt is counted by the conventions, a failed one by its kind of error", async (t) => {
  const { counts, samples } = fakeMetrics();
  counts.countAttempt(attempt);
  for (const [status, outcome] of [
    [503, "upstream_error"],
    [200, "upstream_cut"],
    [499, "client_gone"],
  ] as const)
    counts.countAttempt({
      ...attempt,
      target: { provider: "google", model: "gem" },
      operation: "embed_content",
      forwarded: { status, outcome, usage: null, estimated: true, firstByteMonoMs: null },
    });
  const own =
    'gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="gpt-x"';
  const google =
    'gen_ai_operation_name="embeddings",gen_ai_provider_name="gcp.gemini",gen_ai_request_model="gem"';
  const duration = "gen_ai_client_operation_duration_seconds";
  t.same(samples(`${duration}_count`), [
    `${duration}_count{${own}} 1`,
    `${duration}_count{${google},error_type="503"} 1`,
    `${duration}_count{${google},error_type="upstream_cut"} 1`,
    `${duration}_count{${google},error_type="client_gone"} 1`,
  ]);
  t.same(samples("gen_ai_client_operation_time_to_first_chunk_seconds_sum"), [
    `gen_ai_client_operation_time_to_first_chunk_seconds_sum{${own}} 0.015`,
  ]);
  t.same(samples("gen_ai_client_token_usage_sum"), [
    `gen_ai_client_token_usage_sum{${own},gen_ai_token_type="input"} 100`,
    `gen_ai_client_token_usage_sum{${own},gen_ai_token_type="output"} 7`,
  ]);
});

t.test("two providers of one type with the same model have one series", async (t) => {
  const { counts, samples } = fakeMetrics();
  // Unknown providers have the same, empty type.
  for (const provider of ["one", "two", "two"])
    counts.countAttempt({ ...attempt, target: { provider, model: "m" } });
  for (const name of [
    "gen_ai_client_operation_duration_seconds_count",
    "gen_ai_client_operation_time_to_first_chunk_seconds_count",
    "gen_ai_client_token_usage_count",
  ]) {
    const lines = samples(name);
    t.equal(new Set(lines.map((line) => line.replace(/ \d+$/, ""))).size, lines.length);
    t.ok(
      lines.every((line) => line.endsWith(" 3")),
      lines.join("\n"),
    );
  }
});

t.test("what else happens is counted", async (t) => {
  const { counts, samples } = fakeMetrics();
  counts.countRefusal({ reason: "rate_limit", scope: "user_path", dimension: "tokens" });
  counts.countRefusal({ reason: "denied", scope: "", dimension: "" });
  counts.observeVerdict(0.2);
  counts.observePreparation(-1);
  counts.failedOver(target, "no_answer");
  counts.countCutStream("deadline");
  counts.countCacheLookup("hit");
  counts.countSavedTokens(12);
  t.same(
    samples(
      "sluice_refused_total",
      "sluice_admission_seconds_sum",
      "sluice_overhead_seconds_sum",
      "sluice_failovers_total",
      "sluice_streams_cut_total",
      "sluice_cache_requests_total",
      "sluice_rewrite_tokens_saved_total",
    ),
    [
      'sluice_refused_total{reason="rate_limit",scope="user_path",dimension="tokens"} 1',
      'sluice_refused_total{reason="denied"} 1',
      "sluice_admission_seconds_sum 0.0002",
      "sluice_overhead_seconds_sum 0",
      'sluice_failovers_total{from="openai",reason="no_answer"} 1',
      'sluice_streams_cut_total{by="deadline"} 1',
      'sluice_cache_requests_total{result="hit"} 1',
      "sluice_rewrite_tokens_saved_total 12",
    ],
  );
});

t.test("user paths are a label if the operator wants it, cut, and few at a time", async (t) => {
  const { counts, samples } = fakeMetrics({ pathDepth: 2, seriesMax: 100_000 });
  counts.countCharge(charge);
  t.match(samples("sluice_cost_usd_total")[0], 'path="/a/b"}');
  for (let i = 0; i < 3000; i++) counts.countCharge({ ...charge, userPath: `/of/${i}/more` });
  const series = samples("sluice_cost_usd_total");
  t.equal(series.length, 251);
  t.equal(series.filter((line) => line.includes('path="other"')).length, 1);
});

/** Names that a caller may choose, each one its own. */
function hostileNames(): string[] {
  const names: string[] = [];
  for (let i = 0; i < 400; i++)
    names.push(`m"${i}`, `m\\${i}`, `m\n${i}`, `\u0000${i}`, `${"é".repeat(50)}${i}`, `\ud800${i}`);
  // The same letters, large and small.
  for (let i = 0; i < 1024; i++)
    names.push(
      [..."vouchedfor"].map((letter, j) => ((i >> j) & 1 ? letter.toUpperCase() : letter)).join(""),
    );
  return [...names, "other", "__proto__", "constructor", 'a",provider="b'];
}

t.test("hostile names make neither unread text nor more series than allowed", async (t) => {
  for (const seriesMax of [2000, 10_000]) {
    const metrics = fakeMetrics({ vouched: ["vouchedfor"], pathDepth: 8, seriesMax });
    const { counts } = metrics;
    for (const model of hostileNames()) {
      for (const isAnswered of [false, true]) {
        const to = { provider: "any", model };
        const status = isAnswered ? 200 : 404;
        const forwarded = { ...attempt.forwarded, status };
        counts.countAttempt({ ...attempt, target: to, forwarded });
        counts.countCharge({ ...charge, target: to, userPath: `/${model}`, isAnswered });
        counts.countRequest({
          ...ended,
          target: to,
          method: model,
          status: 200 + (model.length % 400),
          userPath: `/${model}`,
        });
      }
    }
    const families = (await metrics.read())!;
    const lines = families
      .flatMap(({ metric, series }) => series.map(() => linesOf(metric)))
      .reduce((sum, own) => sum + own, 0);
    t.ok(lines <= seriesMax, `${lines} of ${seriesMax}`);
    const models = new Set<string>();
    for (const format of ["prometheus", "openmetrics"] as const) {
      // As it is sent: what is no character is replaced.
      const text = Buffer.from([...writeMetrics(families, format)].join("")).toString();
      const parsed = parseMetrics(text, format === "openmetrics");
      for (const { samples } of parsed.values())
        for (const { labels } of samples) models.add(labels["gen_ai_request_model"] ?? "");
    }
    t.ok(models.size <= unvouchedModelsMax + 3, `${models.size} models`);
    t.ok(models.has("other"));
  }
});

t.test("a model that no list has gets a label once its provider has answered", async (t) => {
  const { counts, samples } = fakeMetrics({ vouched: ["known"] });
  const models = (): string[] =>
    samples("gen_ai_client_operation_duration_seconds_count").map(
      (line) => /request_model="([^"]*)"/.exec(line)![1]!,
    );
  const fail = { ...attempt.forwarded, status: 404, outcome: "upstream_error" } as const;
  counts.countAttempt({ ...attempt, target: { provider: "p", model: "typo" }, forwarded: fail });
  t.same(models(), ["other"]);
  counts.countAttempt({ ...attempt, target: { provider: "p", model: "known" }, forwarded: fail });
  counts.countAttempt({ ...attempt, target: { provider: "p", model: "new" } });
  counts.countAttempt({ ...attempt, target: { provider: "p", model: "new" }, forwarded: fail });
  t.same(models(), ["other", "known", "new", "new"]);
});

t.test(
  "the largest paths have series of their own, however many small ones came first",
  async (t) => {
    const { counts, samples } = fakeMetrics({ pathDepth: 1 });
    // Other metrics take all the room that they get.
    for (let i = 0; i < 2_000; i++) {
      counts.countAttempt({ ...attempt, target: { provider: "openai", model: `m${i}` } });
      counts.countRequest({ ...ended, endpoint: null, route: `/r${i}` });
    }
    t.match(samples("gen_ai_client_operation_duration_seconds_count").join("\n"), /"other"/);
    for (let i = 0; i < 5_000; i++) counts.countRequest({ ...ended, userPath: `/small-${i}` });
    for (let i = 0; i < 2_000; i++) counts.countRequest({ ...ended, userPath: `/large-${i % 20}` });
    const ofPaths = samples("sluice_requests_total");
    for (let i = 0; i < 20; i++) t.ok(ofPaths.some((line) => line.includes(`path="/large-${i}"`)));
    t.ok(ofPaths.length < 1_000, `${ofPaths.length} series`);
    t.equal(sumOf(ofPaths), 7_000, "no request is lost");
  },
);

function sumOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

t.test(
  "no series decreases or disappears, and their sum is right, whichever paths are the largest",
  async (t) => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            first: fc.nat(3_000),
            paths: fc.integer({ min: 1, max: 600 }),
            requests: fc.integer({ min: 1, max: 6_000 }),
            status: fc.constantFrom(200, 429, 502),
          }),
          { minLength: 2, maxLength: 8 },
        ),
        (phases) => {
          const { counts, samples } = fakeMetrics({ pathDepth: 1, seriesMax: 2_000 });
          let before = new Map<string, number>();
          let sent = 0;
          for (const { first, paths, requests, status } of phases) {
            for (let i = 0; i < requests; i++)
              counts.countRequest({ ...ended, status, userPath: `/p${first + (i % paths)}` });
            sent += requests;
            const lines = samples("sluice_requests_total");
            const now = new Map(
              lines.map((line) => [line.replace(/ \S+$/, ""), Number(line.split(" ").at(-1))]),
            );
            if (sumOf(lines) !== sent) return false;
            for (const [series, value] of before)
              if (!((now.get(series) ?? -1) >= value)) return false;
            before = now;
          }
          return true;
        },
      ),
      { numRuns: 30 },
    );
    t.pass();
  },
);

t.test(
  "the page on metrics has the number of series of twenty targets at eight endpoints",
  async (t) => {
    const { counts } = fakeMetrics();
    const operations = [
      ["chat_completions", "/v1/chat/completions"],
      ["responses", "/v1/responses"],
      ["messages", "/v1/messages"],
      ["completions", "/v1/completions"],
      ["embeddings", "/v1/embeddings"],
      ["generate_content", "/v1beta/models/{model}:generateContent"],
      ["stream_generate_content", "/v1beta/models/{model}:streamGenerateContent"],
      ["embed_content", "/v1beta/models/{model}:embedContent"],
    ] as const;
    for (let i = 0; i < 20; i++)
      for (const [operation, route] of operations) {
        const of = { provider: "openai", model: `m${i}` };
        const stream = !/embed/.test(operation);
        counts.countRequest({ ...ended, route, endpoint: operation, target: of, stream });
        counts.countAttempt({ ...attempt, operation, target: of, stream });
        counts.countCharge({ ...charge, target: of });
      }
    const all = counts.table.families();
    const lines = all.flatMap(({ metric, series }) => series.map(() => linesOf(metric)));
    const total = lines.reduce((sum, each) => sum + each, 0);
    t.equal(counts.table.leftOut, 0, "they fit");
    const page = readFileSync(
      new URL("../../../../docs/reference/metrics.md", import.meta.url),
      "utf8",
    );
    t.ok(page.includes(`make ${total.toLocaleString("en")} series`), `${total} on metrics.md`);
  },
);

t.test("a metric shows an open circuit, and when it has closed", async (t) => {
  const { counts, samples } = fakeMetrics({ vouched: ["gpt-x"] });
  t.same(samples("sluice_open_circuits"), []);
  counts.circuitsAreOpen([
    target,
    { provider: "openai", model: "a" },
    { provider: "openai", model: "b" },
  ]);
  t.same(samples("sluice_open_circuits"), [
    'sluice_open_circuits{provider="openai",model="gpt-x"} 1',
    'sluice_open_circuits{provider="openai",model="other"} 2',
  ]);
  counts.circuitsAreOpen([]);
  t.same(
    samples("sluice_open_circuits").map((line) => line.at(-1)),
    ["0", "0"],
  );
});
