import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import {
  logRequest,
  reportDetails,
  requestAttributes,
} from "../../../proxy/handlers/report-request.js";
import type { Admission } from "../../../proxy/limiter/admission.js";
import { RequestRecord } from "../../../proxy/request-record.js";
import type { Log } from "../../../shared/log.js";
import { requestFields } from "../../../shared/logging/log-fields.js";
import type { RequestReport } from "../../../shared/wire/request-report.js";
import { exactly } from "../../support/patterns/exactly.js";
import { root } from "../../tidy/source-tree.js";
import { FakeExchange } from "../fake-exchange.js";

interface Logged {
  readonly level: string;
  readonly text: string;
  readonly fields: Record<string, unknown>;
}

interface Circumstances {
  readonly path?: string;
  readonly headers?: readonly string[];
  readonly sample?: number;
  readonly drawn?: number;
}

/** The line of a request; null: there is none. */
function logged(record: RequestRecord, circumstances: Circumstances = {}): Logged | null {
  const { path = "/v1/chat/completions", headers = [], sample = 1, drawn = 0.5 } = circumstances;
  const lines: Logged[] = [];
  const log = {
    isLevelEnabled: () => true,
    line: (level: string, text: string) =>
      lines.push({ level, text, fields: JSON.parse(`{${text}}`) as Record<string, unknown> }),
  } as unknown as Log;
  const config = { logging: { sample } } as Parameters<typeof logRequest>[0]["config"];
  const exchange = new FakeExchange({ path, headers });
  logRequest({ log, config, random: () => drawn }, { exchange, record, endedMonoMs: 112.34 });
  t.ok(lines.length <= 1);
  return lines[0] ?? null;
}

function ended(status: number, outcome: RequestRecord["outcome"]): RequestRecord {
  const record = new RequestRecord(100);
  record.end(status, outcome);
  return record;
}

t.test(
  "times are written to a tenth of a millisecond, and never as less than nothing",
  async (t) => {
    for (const [ms, text] of [
      [0, "0"],
      [0.04, "0"],
      [0.05, "0.1"],
      [0.95, "1"],
      [9.94, "9.9"],
      [9.96, "10"],
      [12, "12"],
      [1e6 + 0.1, "1000000.1"],
      [-3.2, "0"],
    ] as const) {
      const record = new RequestRecord(0);
      record.end(200, "complete");
      record.firstByteMonoMs = ms;
      t.match(logged(record)?.text, new RegExp(`"first_byte_ms":${text}(?:,|$)`), `${ms}`);
    }
  },
);

/** One with all that a line can hold. */
function full(): RequestRecord {
  const record = new RequestRecord(100);
  record.clientAddress = "203.0.113.7";
  record.setCaller({ userPath: '/team "a"', keyId: "key_7" });
  record.traceId = "0af7651916cd43dd8448eb211c80319c";
  record.session = "s-1";
  record.admission = { shadow: ["/team minute"] } as unknown as Admission;
  record.loop = { kind: "turns", times: 7, turns: 1, tools: [] };
  record.model = "smart";
  record.stream = true;
  record.target = { provider: "claude", model: "opus" };
  record.earlierFailures = [{ target: { provider: "openai", model: "gpt" }, why: "503" }];
  record.attemptCount = 2;
  record.savedBytes = 40;
  record.breach = {
    scope: "user_path",
    subject: "/team",
    periodSeconds: 60,
    dimension: "requests",
  };
  record.setResult({
    status: 200,
    outcome: "complete",
    usage: {
      inputTokens: 3,
      outputTokens: 4,
      totalTokens: 7,
      cachedInputTokens: 0,
      cacheWriteInputTokens: 0,
      reportedCost: null,
      details: null,
    },
    estimated: true,
    executed: true,
    firstByteMonoMs: 105.06,
    providerRequestId: "req_011",
    cutBy: "the day token limit of /team",
    note: "a note",
    failed: null,
    bug: null,
    finish: () => {},
  });
  record.cost = 2_500_000;
  return record;
}

t.test("an immediately refused request has a line with what is always known", async (t) => {
  t.match(logged(ended(401, "refused")), {
    level: "info",
    fields: {
      request_id: "req_test",
      method: "POST",
      path: "/v1/chat/completions",
      status: 401,
      outcome: "refused",
      ms: 12.3,
    },
  });
});

t.test("the line of an executed request has everything that was noted on its way", async (t) => {
  const line = logged(full(), { headers: ["User-Agent", "OpenAI/Python 2.1"] });
  t.match(
    line?.fields,
    exactly({
      client: "203.0.113.7",
      user_agent: "OpenAI/Python 2.1",
      trace_id: "0af7651916cd43dd8448eb211c80319c",
      user_path: '/team "a"',
      key: "key_7",
      model: "smart",
      stream: true,
      target: "claude/opus",
      tries: 2,
      tried: [{ target: "openai/gpt", why: "503" }],
      provider_request_id: "req_011",
      first_byte_ms: 5.1,
      tokens: 7,
      input_tokens: 3,
      output_tokens: 4,
      cost_usd: 0.0000025,
      rewrite_bytes_saved: 40,
      loop: 7,
      estimated: true,
      shadow: ["/team minute"],
      rule: "user_path /team minute requests",
      note: "a note",
    }),
  );
});

t.test("a budget that refuses is named with its own periods", async (t) => {
  const record = ended(429, "over_budget");
  record.breach = {
    scope: "label",
    subject: "ci",
    periodSeconds: 2_592_000,
    dimension: "budget",
  };
  t.equal(logged(record)?.fields["rule"], "label ci monthly budget");
});

t.test("the list of fields is complete, and in the order in which they are written", async (t) => {
  const headers = ["User-Agent", "curl"];
  const all = Object.keys(logged(full(), { headers })?.fields ?? {});
  const sampled = Object.keys(logged(ended(200, "answered"), { sample: 0.6 })?.fields ?? {});
  t.equal(sampled.at(-1), "sample");
  t.same(
    [...all, "sample"],
    requestFields.map(({ name }) => name),
  );
});

t.test("a key is redacted wherever a caller puts it", async (t) => {
  const key = `sk-sluice-${"k".repeat(43)}`;
  const line = logged(ended(404, "refused"), {
    path: `/v1/models/${key}`,
    headers: ["User-Agent", key],
  });
  t.notOk(line?.text.includes(key));
});

t.test("what callers write forges no line and steers no terminal", async (t) => {
  const hostile = 'x"}\n{"level":"fatal"}\r\u001b]0;t\u0007\u009b31m\u2028\u202eevil\u2069\u007f';
  const record = full();
  record.clientAddress = hostile;
  record.model = hostile;
  record.userPath = hostile;
  record.note = hostile;
  record.providerRequestId = hostile;
  record.target = { provider: hostile, model: hostile };
  record.earlierFailures = [{ target: { provider: hostile, model: hostile }, why: hostile }];
  const line = logged(record, { path: hostile, headers: ["User-Agent", hostile] });
  t.notMatch(line?.text, /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/);
  t.match(line?.fields, { model: hostile, user_agent: hostile, note: hostile, path: hostile });
});

t.test("failures of the server are warnings, probes are for debugging alone", async (t) => {
  for (const [path, status, outcome, level] of [
    ["/v1/chat/completions", 200, "complete", "info"],
    ["/v1/chat/completions", 429, "rate_limited", "info"],
    ["/v1/chat/completions", 499, "client_gone", "info"],
    ["/v1/chat/completions", 502, "upstream_error", "warn"],
    ["/v1/chat/completions", 500, "internal_error", "warn"],
    ["/v1/chat/completions", 599, "shutdown", "warn"],
    ["/health", 200, "answered", "debug"],
    ["/ready", 503, "answered", "debug"],
    ["/health", 405, "refused", "info"],
  ] as const)
    t.equal(logged(ended(status, outcome), { path })?.level, level, `${path} ${status}`);
});

t.test("only plain successes are sampled, and say so", async (t) => {
  for (const [drawn, lines] of [
    [0.099, 1],
    [0.1, 0],
    [0.9, 0],
  ] as const) {
    const line = logged(ended(200, "complete"), { sample: 0.1, drawn });
    t.equal(line === null ? 0 : 1, lines, String(drawn));
    if (line !== null) t.equal(line.fields["sample"], 0.1);
  }
  t.notOk(logged(ended(200, "complete"), { sample: 0, drawn: 0 }));
  const always: readonly [string, RequestRecord][] = [
    ["a refusal", ended(429, "rate_limited")],
    ["a failure", ended(502, "upstream_error")],
    ["a client that left", ended(499, "client_gone")],
    ["an error in a stream", ended(200, "upstream_error")],
    ["a cut stream", ended(200, "upstream_cut")],
    ["a failover", Object.assign(ended(200, "complete"), { earlierFailures: [] })],
    ["a remark", Object.assign(ended(200, "complete"), { note: "usage unknown" })],
  ];
  for (const [what, record] of always) {
    const line = logged(record, { sample: 0, drawn: 0 });
    t.ok(line !== null && !("sample" in line.fields), what);
  }
});

const exchange = { id: "req_1", method: "POST", path: "/v1/chat/completions" };

function recordOf(change: (record: RequestRecord) => void): RequestRecord {
  const record = new RequestRecord(0);
  record.route = "/v1/chat/completions";
  change(record);
  return record;
}

const always = {
  "http.request.method": "POST",
  "http.route": "/v1/chat/completions",
  "url.path": "/v1/chat/completions",
  "url.scheme": "http",
  "sluice.request_id": "req_1",
};

t.test("the attributes of a request", async (t) => {
  const table: readonly [string, (record: RequestRecord) => void, object][] = [
    [
      "answered",
      (record) => {
        record.end(200, "complete");
        record.setCaller({ userPath: "/team/alice", keyId: "key_7" });
        record.model = "smart";
        record.target = { provider: "one", model: "gpt" };
        record.attemptCount = 2;
        record.cost = 1_500_000_000_000;
        record.addWait(20);
        record.note = "a note";
      },
      {
        "http.response.status_code": 200,
        "sluice.outcome": "complete",
        "gen_ai.request.model": "smart",
        "sluice.target": "one/gpt",
        "sluice.tries": 2,
        "sluice.wait_seconds": 0.02,
        "sluice.key": "key_7",
        "sluice.cost_usd": 1.5,
      },
    ],
    [
      "refused by a rule",
      (record) => {
        record.end(429, "rate_limited");
        record.breach = {
          scope: "model",
          subject: "one/gpt",
          periodSeconds: 60,
          dimension: "requests",
        };
      },
      {
        "http.response.status_code": 429,
        "sluice.outcome": "rate_limited",
        "sluice.rule": "model one/gpt minute requests",
      },
    ],
    [
      "failed",
      (record) => record.end(503, "limiter_unavailable"),
      {
        "http.response.status_code": 503,
        "error.type": "503",
        "sluice.outcome": "limiter_unavailable",
      },
    ],
  ];
  const page = readFileSync(join(root, "docs/reference/tracing.md"), "utf8");
  for (const [name, change, expected] of table) {
    const attributes = requestAttributes(exchange, recordOf(change));
    t.same(attributes, { ...always, ...expected }, name);
    for (const each of Object.keys(attributes)) t.ok(page.includes(`\`${each}\``), each);
  }
});

t.test("a key in a path is cut out", async (t) => {
  const path = `/v1/files/sk-sluice-${"a".repeat(8)}${"b".repeat(35)}`;
  const attributes = requestAttributes(
    { ...exchange, path },
    recordOf((r) => r.end(404, "refused")),
  );
  t.notMatch(String(attributes["url.path"]), /b{5}/);
});

t.test("details have the texts of errors if the operator wants them", async (t) => {
  const finish = (): void => {};
  const error = { status: 400, code: "context_window", message: "a secret of the prompt" };
  const why = "400 a secret of the prompt";
  const failed = {
    why,
    status: 400,
    refusesCredentials: false,
    isAnswered: true,
    retryAfterMs: null,
    isWorthRetrying: false,
  };
  const detailOf = (texts: boolean): RequestReport => {
    const record = new RequestRecord(0);
    record.endpoint = "chat_completions";
    const target = { provider: "one", model: "m" };
    const forwarded = { status: 400, outcome: "upstream_error" as const, failed, error, finish };
    record.addAttempt({ target, ms: 1, retry: 0, forwarded });
    record.end(400, "upstream_error");
    record.deliveredFinish = finish;
    record.note = why;
    const added: RequestReport[] = [];
    const reports = {
      keepsTexts: texts,
      noteRequest: () => {},
      hasRoom: () => true,
      add: (report: RequestReport) => added.push(report),
    };
    const exchange = {
      id: "r",
      method: "POST",
      path: "/",
      failure: error,
      header: (): undefined => undefined,
    };
    reportDetails(
      { metrics: { reports } } as unknown as Parameters<typeof reportDetails>[0],
      { exchange, record, endedMonoMs: 1 } as unknown as Parameters<typeof reportDetails>[1],
    );
    return added[0]!;
  };
  t.match(
    detailOf(true),
    exactly({ error_message: error.message, attempts: [{ delivered: true }] }),
  );
  const codes = detailOf(false);
  t.match(
    codes,
    exactly({
      error_code: "context_window",
      attempts: [{ reason: "invalid_request", error_code: "context_window" }],
    }),
  );
  t.notMatch(JSON.stringify(codes), /secret/);
});
