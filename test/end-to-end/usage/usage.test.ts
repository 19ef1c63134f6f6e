/**
 * Usage through real processes: what the provider sent, byte by byte, is what GET /v1/usage and the
 * records hold, whichever side leaves, dies or lies.
 */

import { once } from "node:events";
import { connect } from "node:net";
import t from "tap";
import { dayOf } from "../../../shared/time.js";
import { connectDaemon } from "../../../shared/wire/daemon-client.js";
import { agesSeconds } from "../../support/ages.js";
import { chat, until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";
import {
  beginStream,
  chunk,
  completion,
  type ReceivedCall,
  replyCompletion,
  startScriptedUpstream,
  usageChunk,
} from "../../support/providers/scripted-upstream.js";

const upstream = await startScriptedUpstream();
const backup = await startScriptedUpstream();
t.teardown(() => Promise.all([upstream.close(), backup.close()]));
const config = `
limiter: { deadline_ms: 30000 }
providers:
  test: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: ["*"] }
  backup: { type: openai, base_url: "${backup.baseUrl}", api_key: none, models: ["*"] }
  nowhere: { type: openai, base_url: "http://127.0.0.1:1/v1", api_key: none, models: ["*"] }
virtual_models:
  smart: { strategy: failover, targets: [{ model: test/model }, { model: backup/model }] }
prices:
  test/model: { input: 3, output: 15, cached_input: 0.3 }
  backup/model: { input: 1, output: 2, per_request: 0.5 }
entitlements: [quota_templates]
rate_limits:
  user_paths:
    - { path: /, limits: [{ period: concurrent, max_requests: 100 }] }
    - { path: /templated, per_child: true, limits: [{ period_seconds: ${agesSeconds}, max_requests: 2 }] }
`;
const site = makeSite(t, config);
let daemon = await site.startDaemon();
const proxy = await site.startProxy();
const url = proxy.ready;

interface UsageBody {
  readonly usage: Readonly<Record<string, number>>;
  readonly [field: string]: unknown;
}

async function usageOf(path: string, query = ""): Promise<UsageBody> {
  const response = await fetch(`${url}/v1/usage${query}`, {
    headers: { "x-sluice-user-path": path },
  });
  t.equal(response.status, 200);
  return (await response.json()) as UsageBody;
}

async function recordsOf(path: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = await connectDaemon({ socketPath: site.socket });
  const answer = await client.call("usage.export", { user_path: path });
  client.close();
  if (!answer.ok) throw new Error(answer.failure.message);
  return (answer.body as { records: Readonly<Record<string, unknown>>[] }).records;
}

/** The one record of a path, once its request has ended. */
async function recordOf(path: string): Promise<Readonly<Record<string, unknown>>> {
  const records = await until(
    () => recordsOf(path),
    (found) => found.length > 0,
  );
  t.equal(records.length, 1, path);
  return records[0]!;
}

const withUsage =
  (usage: unknown) =>
  (call: ReceivedCall): void =>
    void call.response.writeHead(200, { "content-type": "application/json" }).end(
      JSON.stringify({
        ...(JSON.parse(completion(null)) as object),
        ...(usage === undefined ? {} : { usage }),
      }),
    );

t.test(
  "a request is recorded as soon as it is answered, with its tokens, its cost and its times",
  async (t) => {
    upstream.answer = withUsage({
      prompt_tokens: 1000,
      completion_tokens: 200,
      total_tokens: 1200,
      prompt_tokens_details: { cached_tokens: 600 },
    });
    const answered = await chat(url, { path: "/recorded/app" });
    await answered.text();
    const {
      usage,
      budgets,
      rate_limits: rateLimits,
      user_path: path,
      server_time: time,
    } = await usageOf("/recorded");
    const today = dayOf(Date.parse(String(time)));
    t.same(usage, {
      start_date: dayOf(Date.parse(today) - 29 * 86_400_000),
      end_date: today,
      total_requests: 1,
      total_input_tokens: 1000,
      total_output_tokens: 200,
      total_tokens: 1200,
      cached_input_tokens: 600,
      cache_write_input_tokens: 0,
      uncached_input_tokens: 400,
      total_input_cost: 0.00138,
      total_output_cost: 0.003,
      total_cost: 0.00438,
      unpriced_requests: 0,
      rewrite_tokens_saved: 0,
    });
    t.match(
      { budgets, rateLimits, path, time },
      exactly({
        budgets: { length: 0 },
        rateLimits: [{ subject: "/", in_flight: 0 }],
        path: "/recorded",
        time: /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/,
      }),
    );
    t.match(await recordOf("/recorded"), {
      request_id: answered.headers.get("x-request-id"),
      user_path: "/recorded/app",
      key_id: null,
      provider: "test",
      provider_type: "openai",
      model: "model",
      endpoint: "/v1/chat/completions",
      status: 200,
      input_tokens: 1000,
      cached_input_tokens: 600,
      output_tokens: 200,
      total_tokens: 1200,
      total_cost: 0.00438,
      estimated: false,
      cache_hit: false,
    });
    const { latency_ms: latency, first_byte_ms: firstByte } = await recordOf("/recorded");
    t.ok(Number(firstByte) >= 0 && Number(latency) >= Number(firstByte));
    await proxy.printed(
      /"tokens":1200,"input_tokens":1000,"output_tokens":200,"cost_usd":0\.00438/,
    );
  },
);

t.test(
  "each mistake in the parameters is a 400 that says what would do; the path comes first, and the method before it",
  async (t) => {
    const get = async (query: string, headers: Record<string, string> = {}, method = "GET") => {
      const response = await fetch(`${url}/v1/usage${query}`, { method, headers });
      return {
        status: response.status,
        allow: response.headers.get("allow"),
        body: (await response.json()) as object,
      };
    };
    t.match(await get("?days=0", { "x-sluice-user-path": "/a:b" }), {
      status: 400,
      body: {
        error: {
          type: "invalid_request_error",
          message: "invalid X-Sluice-User-Path header",
          code: null,
        },
      },
    });
    t.match(await get("?days=0&start_date=x"), {
      status: 400,
      body: {
        error: {
          message: 'days must be an integer greater than 0, not "0"',
          param: "days",
          code: null,
        },
      },
    });
    t.match(await get("?start_date=2026-02-30"), {
      status: 400,
      body: {
        error: { message: /^start_date must be a date such as 2026-01-31, not "2026-02-30"$/ },
      },
    });
    t.match(await get("?start_date=2024-01-01&end_date=2025-01-01"), {
      status: 400,
      body: { error: { message: "start_date and end_date must span at most 365 days, not 367" } },
    });
    t.match(await get("?days=400"), { status: 200 });
    t.match(await get("", {}, "POST"), { status: 405, allow: "GET" });
  },
);

t.test(
  "a template is the caller's own child of it, and asking neither makes one nor counts",
  async (t) => {
    upstream.answer = (call) => replyCompletion(call, 10);
    const limitsOf = async (path: string) =>
      (await usageOf(path))["rate_limits"] as Record<string, unknown>[];
    for (let i = 0; i < 3; i++)
      t.match(
        await limitsOf("/templated/a/deep"),
        exactly([
          {},
          { subject: "/templated/a", per_child: true, requests_used: 0, requests_remaining: 2 },
        ]),
      );
    await (await chat(url, { path: "/templated/a/x" })).text();
    t.match(
      await limitsOf("/templated/a"),
      exactly([
        {},
        { requests_used: 1, requests_remaining: 1, requests_usage_ratio: 0.5, exhausted: false },
      ]),
    );
    t.match(
      await limitsOf("/templated/b"),
      exactly([{}, { subject: "/templated/b", requests_used: 0 }]),
    );
  },
);

t.test("usage that is missing or invalid is estimated and marked; the log says why", async (t) => {
  const table: readonly (readonly [path: string, usage: unknown])[] = [
    ["/missing", undefined],
    ["/null", null],
    ["/negative", { prompt_tokens: -5, completion_tokens: -7 }],
    ["/huge", { prompt_tokens: 9e15, completion_tokens: 1 }],
    ["/text", { prompt_tokens: "many", completion_tokens: "more" }],
    ["/fraction", { total_tokens: 1.5 }],
    ["/list", [1, 2]],
    ["/nothing", {}],
  ];
  for (const [path, usage] of table) {
    upstream.answer = withUsage(usage);
    await (await chat(url, { path: `/invalid${path}` })).text();
    const record = await recordOf(`/invalid${path}`);
    t.match(record, { status: 200, estimated: true, cached_input_tokens: 0 }, path);
    t.ok(
      Number(record["input_tokens"]) > 10 &&
        Number(record["input_tokens"]) < 100 &&
        Number(record["output_tokens"]) < 200,
      `${path}: ${JSON.stringify(record)}`,
    );
    t.ok(Number(record["total_cost"]) > 0, "and priced");
  }
  await proxy.printed(
    /usage not charged: prompt_tokens must be an integer from 0 to 1000000000, not -5/,
  );
});

t.test(
  "without a price a request is unpriced and seen to be; the operator's price goes before the provider's own figure",
  async (t) => {
    upstream.answer = withUsage({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 });
    await (await chat(url, { path: "/unpriced", model: "test/other" })).text();
    t.match(await recordOf("/unpriced"), {
      input_tokens: 10,
      input_cost: null,
      output_cost: null,
      total_cost: null,
    });
    t.match((await usageOf("/unpriced")).usage, {
      total_requests: 1,
      total_tokens: 15,
      total_cost: 0,
      unpriced_requests: 1,
    });
    upstream.answer = withUsage({
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      cost: 0.25,
    });
    await (await chat(url, { path: "/priced" })).text();
    t.match((await usageOf("/priced")).usage, { total_cost: 0.000105, unpriced_requests: 0 });
    await (await chat(url, { path: "/reported", model: "test/other" })).text();
    t.match((await usageOf("/reported")).usage, { total_cost: 0.25, unpriced_requests: 0 });
    upstream.answer = withUsage({
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      cost: -3,
    });
    await (await chat(url, { path: "/lied", model: "test/other" })).text();
    t.match(
      (await usageOf("/lied")).usage,
      { total_cost: 0, unpriced_requests: 1 },
      "a negative cost is none",
    );
  },
);

t.test(
  "a 200 with an error inside, and an error, are requests that used and cost nothing",
  async (t) => {
    upstream.answer = (call) =>
      void call.response
        .writeHead(200, { "content-type": "application/json" })
        .end('{"error":{"message":"no","code":500}}');
    t.not((await chat(url, { path: "/inside" })).status, 200);
    t.match(await recordOf("/inside"), {
      input_tokens: 0,
      output_tokens: 0,
      total_cost: 0,
      estimated: false,
    });
    upstream.answer = (call) =>
      void call.response
        .writeHead(500, { "content-type": "application/json" })
        .end('{"error":{"message":"no"}}');
    t.equal((await chat(url, { path: "/failed", model: "test/unpriced" })).status, 500);
    t.match(await recordOf("/failed"), { status: 500, total_tokens: 0, total_cost: 0 });
  },
);

t.test("what no provider executed has no record: refused, unknown, unreachable", async (t) => {
  t.equal((await chat(url, { path: "/none", stream: "maybe" })).status, 400);
  t.equal((await chat(url, { path: "/none", model: "nowhere/model" })).status, 502);
  t.same(await recordsOf("/none"), []);
});

t.test("a request that failed over is charged to who executed it, once", async (t) => {
  upstream.answer = (call) => void call.response.writeHead(503).end();
  backup.answer = (call) => replyCompletion(call, 100);
  await (await chat(url, { path: "/over", model: "smart" })).text();
  t.match(await recordOf("/over"), {
    provider: "backup",
    model: "model",
    total_tokens: 100,
    total_cost: 0.5001,
    status: 200,
  });
});

t.test("a stream's usage is asked for and counted; one without usage is estimated", async (t) => {
  upstream.answer = (call) =>
    void beginStream(call).end(
      `${chunk("hello")}${chunk("", "stop")}${usageChunk(123)}data: [DONE]\n\n`,
    );
  t.notMatch(await (await chat(url, { path: "/stream/asked", stream: true })).text(), /usage/);
  t.match(await recordOf("/stream/asked"), { total_tokens: 123, estimated: false });
  upstream.answer = (call) =>
    void beginStream(call).end(`${chunk("x".repeat(400))}${chunk("", "stop")}data: [DONE]\n\n`);
  await (await chat(url, { path: "/stream/untold", stream: true })).text();
  t.match(await recordOf("/stream/untold"), { output_tokens: 100, estimated: true });
});

t.test(
  "a client that aborts, and a provider that dies, at any piece of a stream: what was seen counts, marked",
  async (t) => {
    const pieces = [
      chunk("é".repeat(100)),
      chunk("y".repeat(40)),
      chunk("", "stop"),
      usageChunk(77),
      "data: [DONE]\n\n",
    ].map((text) => Buffer.from(text));
    const bytes = Buffer.concat(pieces);
    const cuts = [
      0,
      1,
      17,
      150,
      pieces[0]!.length,
      pieces[0]!.length + 9,
      pieces[0]!.length + pieces[1]!.length,
      bytes.length - 60,
      bytes.length - 14,
    ];
    let most = 0;
    for (const [i, cut] of cuts.entries()) {
      let called = upstream.nextCall();
      upstream.answer = (call) => void beginStream(call).write(bytes.subarray(0, cut));
      const socket = connect(Number(new URL(url).port), "127.0.0.1");
      const body = JSON.stringify({
        model: "test/model",
        stream: true,
        stream_options: { include_usage: true },
        messages: [],
      });
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nx-sluice-user-path: /cut/client${i}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
      let seen = "";
      socket.on("data", (data: Buffer) => (seen += data.toString("latin1")));
      // All that was sent has passed; every chunk of HTTP's own framing adds to it.
      while (
        seen.length < cut ||
        !seen.includes("\r\n\r\n") ||
        !seen.includes(bytes.subarray(Math.max(0, cut - 8), cut).toString("latin1"))
      )
        await once(socket, "data");
      socket.destroy();
      await (await called).abandoned;
      const left = await recordOf(`/cut/client${i}`);
      // All of the usage had come, and only `[DONE]` is missing.
      const estimated = cut < bytes.length - 14;
      t.match(left, { status: 499, estimated, provider: "test" }, `client at ${cut}`);
      called = upstream.nextCall();
      upstream.answer = (call) =>
        void beginStream(call).write(bytes.subarray(0, cut), () => call.response.destroy());
      await (await chat(url, { path: `/cut/provider${i}`, stream: true }))
        .text()
        .catch(() => "cut");
      const died = await recordOf(`/cut/provider${i}`);
      t.match(died, { status: 200, estimated }, `provider at ${cut}`);
      if (estimated) {
        t.ok(Number(left["output_tokens"]) >= most, "never less than before");
        most = Number(left["output_tokens"]);
      } else t.equal(died["total_tokens"], 77, "the usage had come");
    }
    t.equal(most, 60, "200 and 40 bytes");
  },
);

t.test(
  "kill −9 of the daemon: what was answered and acknowledged is there, and nothing twice",
  async (t) => {
    upstream.answer = (call) => replyCompletion(call, 10);
    for (let i = 0; i < 20; i++) await (await chat(url, { path: "/crash" })).text();
    await daemon.kill("SIGKILL");
    const during = Promise.all(
      Array.from({ length: 10 }, async () => (await chat(url, { path: "/crash" })).text()),
    );
    daemon = await site.startDaemon();
    await during;
    await until(
      () => recordsOf("/crash"),
      (records) => records.length === 30,
    );
    t.match((await usageOf("/crash")).usage, {
      total_requests: 30,
      total_tokens: 300,
      total_cost: 0.0009,
    });
  },
);

t.test("without the daemon it is a 503 of its own", async (t) => {
  const alone = makeSite(
    t,
    "limiter: { deadline_ms: 1 }\nserver: { master_key: master-key-of-the-test }\n",
  );
  const { ready } = await alone.startProxy();
  const get = async (headers: Record<string, string>) => {
    const response = await fetch(`${ready}/v1/usage`, { headers });
    return { status: response.status, body: (await response.json()) as object };
  };
  t.match(await get({}), {
    status: 401,
    body: { error: { type: "authentication_error", message: "missing credentials" } },
  });
  // It could be a key of another gateway: only the daemon knows.
  t.match(await get({ authorization: "Bearer wrong" }), {
    status: 503,
    body: { error: { message: "the limiter daemon does not answer" } },
  });
  t.match(await get({ authorization: "Bearer master-key-of-the-test" }), {
    status: 503,
    body: { error: { type: "internal_error", code: "usage_status_failed", param: null } },
  });
});
