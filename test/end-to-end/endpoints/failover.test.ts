/**
 * Failover through real processes: which failures another target answers for, and what is counted
 * where.
 */
import { createServer } from "node:net";
import t, { type Test } from "tap";
import { connectDaemon } from "../../../shared/wire/daemon-client.js";
import { agesSeconds } from "../../support/ages.js";
import { admin, chat, ruleNow, until } from "../../support/client.js";
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
import { startTraceCollector } from "../../support/providers/trace-collector.js";

const first = await startScriptedUpstream();
const second = await startScriptedUpstream();
const collector = await startTraceCollector();
/** Takes a connection and ends it. */
const resetting = createServer((socket) => socket.on("data", () => socket.resetAndDestroy()));
await new Promise<void>((resolve) => resetting.listen(0, "127.0.0.1", resolve));
t.teardown(() =>
  Promise.all([
    first.close(),
    second.close(),
    collector.close(),
    new Promise((resolve) => resetting.close(resolve)),
  ]),
);
const resettingPort = (resetting.address() as { port: number }).port;
const site = makeSite(
  t,
  `
limiter: { deadline_ms: 60000 }
tracing: { endpoint: "${collector.url}", sampler: parentbased_always_off }
providers:
  one: { type: openai, base_url: "${first.baseUrl}", api_key: none, models: ["*"], retries: 0, breaker_failures: 0, first_byte_timeout_ms: 400, idle_timeout_ms: 400 }
  weak: { type: openai, base_url: "${first.baseUrl}", api_key: none, models: ["m"], retries: 0, breaker_failures: 2, breaker_open_ms: 1000 }
  patient: { type: openai, base_url: "${first.baseUrl}", api_key: none, models: ["m"], retries: 2 }
  two: { type: openai, base_url: "${second.baseUrl}", api_key: none, models: ["m"], retries: 0, breaker_failures: 0 }
  refusing: { type: openai, base_url: "http://127.0.0.1:1/v1", api_key: none, models: ["m"], retries: 0, breaker_failures: 0 }
  resetting: { type: openai, base_url: "http://127.0.0.1:${resettingPort}/v1", api_key: none, models: ["m"], retries: 0, breaker_failures: 0 }
  nameless: { type: openai, base_url: "http://no-such-host.invalid/v1", api_key: none, models: ["m"], retries: 0, breaker_failures: 0 }
  tls: { type: openai, base_url: "https://127.0.0.1:${new URL(first.baseUrl).port}/v1", api_key: none, models: ["m"], retries: 0, breaker_failures: 0 }
virtual_models:
  healed: { strategy: failover, targets: [{ model: weak/m }, { model: two/b }] }
  smart: { strategy: failover, targets: [{ model: one/a }, { model: two/b }] }
  refused: { strategy: failover, targets: [{ model: refusing/m }, { model: two/b }] }
  reset: { strategy: failover, targets: [{ model: resetting/m }, { model: two/b }] }
  unnamed: { strategy: failover, targets: [{ model: nameless/m }, { model: two/b }] }
  plaintext: { strategy: failover, targets: [{ model: tls/m }, { model: two/b }] }
  long: { strategy: failover, targets: [{ model: refusing/m }, { model: resetting/m }, { model: one/a }, { model: two/b }] }
  dead: { strategy: failover, targets: [{ model: refusing/m }, { model: one/a }] }
  dying: { strategy: failover, targets: [{ model: one/a }, { model: refusing/m }] }
rate_limits:
  user_paths:
    - { path: /, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1000, max_tokens: 1000000 }, { period: concurrent, max_requests: 1 }] }
    - { path: /interns, limits: [{ period_seconds: ${agesSeconds}, max_requests: 2, models: ["one/*", "!one/b"] }] }
    - { path: /guests, limits: [{ period: day, max_requests: 0, models: ["one/*"] }] }
  models:
    - { model: one/a, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1000, max_tokens: 1000000 }, { period: concurrent, max_requests: 1 }] }
    - { model: two/b, limits: [{ period_seconds: ${agesSeconds}, max_requests: 900, max_tokens: 1000000 }, { period: concurrent, max_requests: 1 }] }
`,
);
const daemon = await site.startDaemon();
const proxy = await site.startProxy();
const url = proxy.ready;

/**
 * What was counted since the last look, once all is at rest: requests and tokens of the path, of
 * one/a, of two/b.
 */
const look = async (): Promise<{ readonly used: readonly number[]; readonly inFlight: number }> => {
  const rules = await Promise.all(
    ["/", "one/a", "two/b"].map((subject) =>
      Promise.all([ruleNow(url, subject, agesSeconds), ruleNow(url, subject, 0)]),
    ),
  );
  return {
    used: rules.flatMap(([day]) => [day!.requests_used, day!.tokens_used]),
    inFlight: rules.reduce((sum, [, gauge]) => sum + gauge!.in_flight, 0),
  };
};
const usedBefore = { values: [0, 0, 0, 0, 0, 0] as readonly number[] };
async function counted(): Promise<number[]> {
  const { used } = await until(look, ({ inFlight }) => inFlight === 0);
  const since = used.map((value, i) => value - usedBefore.values[i]!);
  usedBefore.values = used;
  return since;
}

/**
 * The same after an attempt at one/a that was lost once it had left: what that was charged stays
 * with it, and isn't in what is returned.
 */
async function countedAfterLoss(t: Test, what: string): Promise<number[]> {
  const [requests, tokens, atFirst, lost, ...atSecond] = await counted();
  t.ok(lost! > 0, `${what}: the prompt is charged`);
  return [requests!, tokens! - lost!, atFirst!, 0, ...atSecond];
}

/** The usage records of a response, whose settle left before it ended. */
async function recorded(response: Response): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const id = response.headers.get("x-request-id")!;
  const client = await connectDaemon({ socketPath: site.socket });
  const answer = await client.call("usage.export", { limit: 1000 });
  client.close();
  if (!answer.ok) throw new Error(answer.failure.message);
  return (answer.body as { records: readonly Readonly<Record<string, unknown>>[] }).records.filter(
    (record) => record["request_id"] === id,
  );
}

const named = (target: string): object => ({
  provider: target.split("/")[0],
  model: target.split("/")[1],
});

/** The log line of a response. */
async function logged(response: Response): Promise<Record<string, unknown>> {
  const id = response.headers.get("x-request-id")!;
  const line = await until(
    async () =>
      proxy
        .output()
        .split("\n")
        .find((text) => text.includes(id)),
    (text) => text !== undefined,
  );
  return JSON.parse(line!) as Record<string, unknown>;
}

const json = { "content-type": "application/json" };
const fails =
  (status: number, body: unknown, headers: Record<string, string> = {}) =>
  (call: ReceivedCall): void =>
    void call.response.writeHead(status, { ...json, ...headers }).end(JSON.stringify(body));
const error = (message: string, code: string | null = null): unknown => ({
  error: { message, type: "x", param: null, code },
});

t.test(
  "another target answers, under its own name, and each rule counts what was done there",
  async (t) => {
    const table: readonly (readonly [
      what: string,
      answer: (call: ReceivedCall) => void,
      why: string,
    ])[] = [
      ["a server error", fails(500, error("oops")), "500"],
      ["too many requests", fails(429, error("slow down"), { "retry-after": "30" }), "429"],
      [
        "a missing model",
        fails(404, error("The model `a` does not exist", "model_not_found")),
        "404 model_not_found",
      ],
      [
        "a retired model",
        fails(400, error("The model `a` has been decommissioned", "model_decommissioned")),
        "400 model_decommissioned",
      ],
      ["an error inside a 200", fails(200, error("Provider returned error")), "502"],
      ["an error as a text inside a 200", fails(200, { error: "model overloaded" }), "502"],
      [
        "an older vLLM's error inside a 200",
        fails(200, { object: "error", message: "down", code: 503 }),
        "503",
      ],
      [
        "a page instead of an answer",
        (call) => void call.response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
        "200 with a page of HTML or XML",
      ],
      ["silence", () => {}, "no response for 400 ms"],
      [
        "a broken answer",
        (call) =>
          void call.response
            .writeHead(200, { ...json, "content-length": "500" })
            .write('{"cho', () => call.response.destroy()),
        "it closed the connection",
      ],
    ];
    const lost = new Set(["silence", "a broken answer"]);
    for (const [what, answer, why] of table) {
      first.answer = answer;
      const response = await chat(url, { model: "smart", big: 12345678901234567890n.toString() });
      t.equal(response.status, 200, what);
      t.equal(response.headers.get("x-sluice-target"), "two/b");
      t.equal(
        response.headers.get("x-ratelimit-limit-requests"),
        "900",
        "the limits are those of the target that answered",
      );
      t.equal(await response.text(), completion(10));
      t.same(
        [first.calls.at(-1)!.body, second.calls.at(-1)!.body].map(
          (body) => (JSON.parse(body) as { model: string }).model,
        ),
        ["a", "b"],
      );
      t.match(
        await logged(response),
        exactly({
          target: "two/b",
          tries: 2,
          tried: [{ target: "one/a", why }],
          outcome: "complete",
        }),
        what,
      );
      t.same(
        await (lost.has(what) ? countedAfterLoss(t, what) : counted()),
        [1, 10, 1, 0, 1, 10],
        `${what}: one request of the path, which has one slot alone`,
      );
    }
  },
);

t.test("a target that can't be reached in any way", async (t) => {
  for (const [model, why] of [
    ["refused", /ECONNREFUSED/],
    ["reset", /ECONNRESET|closed the connection/],
    ["unnamed", /ENOTFOUND|EAI_AGAIN/],
    ["plaintext", /SSL|TLS|EPROTO/],
  ] as const) {
    const response = await chat(url, { model });
    t.equal(response.status, 200, model);
    t.match(
      await logged(response),
      exactly({ target: "two/b", tries: 2, tried: [{ why }] }),
      model,
    );
  }
  const [requests, tokens, ...others] = await counted();
  t.same([requests, ...others], [4, 0, 0, 4, 40]);
  t.ok(tokens! > 40, "the one that was reset had left");
  first.answer = (call) => replyCompletion(call, 7);
  const response = await chat(url, { model: "long" });
  t.match(
    await logged(response),
    exactly({
      target: "one/a",
      tries: 3,
      tried: [{ target: "refusing/m" }, { target: "resetting/m" }],
    }),
  );
  const [one, all, ...rest] = await counted();
  t.same([one, ...rest], [1, 1, 7, 0, 0]);
  t.ok(all! > 7);
});

t.test("a target that fails is asked again, and that counts as one request", async (t) => {
  const statuses = [503, 429];
  first.answer = (call) => {
    const status = statuses.shift();
    if (status === undefined) replyCompletion(call, 7);
    else call.response.writeHead(status, json).end("{}");
  };
  const response = await chat(url, { model: "patient/m" });
  t.equal(response.status, 200);
  t.match(
    await logged(response),
    exactly({
      target: "patient/m",
      tries: 3,
      tried: [
        { target: "patient/m", why: "503" },
        { target: "patient/m", why: "429" },
      ],
    }),
  );
  t.match(await recorded(response), exactly([{ total_tokens: 7 }]));
  t.same(await counted(), [1, 7, 0, 0, 0, 0]);
  first.answer = (call) => call.response.writeHead(429, { ...json, "retry-after": "60" }).end("{}");
  const calls = first.calls.length;
  t.equal((await chat(url, { model: "patient/m" })).headers.get("retry-after"), "60");
  t.equal(first.calls.length, calls + 1, "so long a wait is the caller's");
  t.same(await counted(), [1, 0, 0, 0, 0, 0]);
});

t.test(
  "a target that keeps failing is left alone, counted and named, and tried again",
  async (t) => {
    const targetNow = async (): Promise<string | null> =>
      (await chat(url, { model: "healed" })).headers.get("x-sluice-target");
    const weakNow = async (): Promise<readonly unknown[]> => {
      const answer = await (await fetch(`${url}/admin/targets`)).json();
      const { targets } = answer as { targets: readonly { target: string }[] };
      return targets.filter(({ target }) => target === "weak/m");
    };
    const asked = (): number => first.calls.length;
    second.answer = (call) => replyCompletion(call, 1);
    first.answer = fails(503, error("down"));
    const before = asked();
    for (let i = 0; i < 3; i++) t.equal(await targetNow(), "two/b");
    t.equal(asked(), before + 2, "the third request doesn't try it");
    const health = (await (await fetch(`${url}/health`)).json()) as object;
    t.match(health, { targets: { open: 1 } });
    t.match(await weakNow(), exactly([{ state: "open", failures: 2 }]));
    await proxy.printed(/"target":"weak\/m","why":"503".*a target keeps failing/);
    first.answer = (call) => replyCompletion(call, 1);
    t.equal(await until(targetNow, (target) => target === "weak/m"), "weak/m");
    t.same(await weakNow(), []);
    await counted();
  },
);

t.test("a stream is taken over until an answer begins", async (t) => {
  second.answer = (call) =>
    void beginStream(call).end(
      `${chunk("hello")}${chunk("", "stop")}${usageChunk(20)}data: [DONE]\n\n`,
    );
  const table: readonly (readonly [
    what: string,
    answer: (call: ReceivedCall) => void,
    why: RegExp,
  ])[] = [
    ["a head and silence", (call) => void beginStream(call), /nothing for 400 ms/],
    [
      "a head and the end of the connection",
      (call) => void setImmediate(() => beginStream(call).destroy()),
      /closed the connection|ECONNRESET/,
    ],
    ["a stream without anything", (call) => void beginStream(call).end(), /an empty stream/],
    [
      "an error first of all",
      (call) =>
        void beginStream(call).end('data: {"error":{"message":"overloaded","code":529}}\n\n'),
      /529/,
    ],
    [
      "a comment, then an error",
      (call) =>
        void beginStream(call).end(
          ': OPENROUTER PROCESSING\n\ndata: {"error":{"message":"overloaded","code":529}}\n\n',
        ),
      /529/,
    ],
    [
      "what a filter saw, then an error",
      (call) =>
        void beginStream(call).write('data: {"choices":[],"prompt_filter_results":[]}\n\n', () =>
          call.response.end('data: {"error":"overloaded"}\n\n'),
        ),
      /502/,
    ],
    [
      "a comment and the end of the connection",
      (call) => void beginStream(call).write(": at work\n\n", () => call.response.destroy()),
      /closed the connection|ECONNRESET/,
    ],
    ["an error instead of a stream", fails(503, error("no")), /503/],
  ];
  for (const [what, answer, why] of table) {
    first.answer = answer;
    const response = await chat(url, { model: "smart", stream: true });
    t.equal(response.headers.get("x-sluice-target"), "two/b", what);
    t.equal(await response.text(), `${chunk("hello")}${chunk("", "stop")}data: [DONE]\n\n`, what);
    t.match(await logged(response), exactly({ tried: [{ target: "one/a", why }] }));
    const isLost = /silence|end of the connection/.test(what);
    t.same(await (isLost ? countedAfterLoss(t, what) : counted()), [1, 20, 1, 0, 1, 20], what);
  }
});

t.test("the beginning of an answer with another target isn't held for anything", async (t) => {
  first.answer = (call) => void beginStream(call).write(chunk("a"));
  const response = await chat(url, { model: "smart", stream: true });
  t.equal(Buffer.from((await response.body!.getReader().read()).value!).toString(), chunk("a"));
  await response.body?.cancel().catch(() => {});
  first.calls.at(-1)!.response.destroy();
  await counted();
});

t.test(
  "what isn't the target's failure, and what comes after the first byte, isn't tried elsewhere",
  async (t) => {
    const before = second.calls.length;
    for (const status of [400, 409, 413, 422]) {
      first.answer = fails(status, error("no"));
      const response = await chat(url, { model: "smart" });
      t.equal(response.status, status);
      t.equal(response.headers.get("x-sluice-target"), "one/a");
      t.notOk("tried" in (await logged(response)), "nothing else was tried");
    }
    first.answer = (call) =>
      void beginStream(call).write(chunk("half"), () => call.response.destroy());
    await t.rejects((await chat(url, { model: "smart", stream: true })).text());
    first.answer = fails(500, error("oops"));
    const direct = await chat(url, { model: "one/a" });
    t.same(
      [direct.status, direct.headers.get("x-sluice-target")],
      [500, "one/a"],
      "a direct model has one target",
    );
    t.notOk("tried" in (await logged(direct)));
    t.equal(second.calls.length, before);
    const [requests, , ofOne, , ofTwo] = await counted();
    t.same([requests, ofOne, ofTwo], [6, 6, 0]);
  },
);

t.test("a client that leaves takes its request with it: no other target is tried", async (t) => {
  const before = second.calls.length;
  const called = first.nextCall();
  first.answer = () => {};
  const leaving = new AbortController();
  const answering = chat(url, { model: "smart" }, leaving.signal).catch(() => {});
  const call = await called;
  leaving.abort();
  await answering;
  await call.abandoned;
  await counted();
  t.equal(second.calls.length, before);
  first.answer = fails(500, error("oops"));
  const again = second.nextCall();
  second.answer = () => {};
  const late = new AbortController();
  const taken = chat(url, { model: "smart" }, late.signal).catch(() => {});
  const { abandoned } = await again;
  late.abort();
  await taken;
  await abandoned;
  t.same(
    (await counted()).filter((_, i) => i % 2 === 0),
    [1, 1, 1],
    "the one that took over is ended too, and all slots are free",
  );
});

t.test(
  "when all fail the client gets the most helpful error, from the target that sent it",
  async (t) => {
    const table: readonly (readonly [
      one: (call: ReceivedCall) => void,
      two: (call: ReceivedCall) => void,
      status: number,
      target: string,
      retryAfter: string | null,
    ])[] = [
      [fails(500, error("a")), fails(503, error("b")), 503, "two/b", null],
      [fails(503, error("a")), fails(404, error("b", "model_not_found")), 503, "one/a", null],
      [
        fails(429, error("a"), { "retry-after": "5" }),
        fails(429, error("b"), { "retry-after": "30" }),
        429,
        "one/a",
        "5",
      ],
      [fails(500, error("a")), fails(400, error("b")), 400, "two/b", null],
    ];
    for (const [one, two, status, target, retryAfter] of table) {
      first.answer = one;
      second.answer = two;
      const response = await chat(url, { model: "smart" });
      t.same(
        [
          response.status,
          response.headers.get("x-sluice-target"),
          response.headers.get("retry-after"),
        ],
        [status, target, retryAfter],
      );
      t.match(await response.json(), { error: { provider: target.slice(0, 3) } });
      t.match(await logged(response), { status, target, tries: 2 });
      t.same(await counted(), [1, 0, 1, 0, 1, 0]);
      t.match(
        await recorded(response),
        exactly([{ status, total_tokens: 0, total_cost: 0, ...named(target) }]),
        "and the record names it",
      );
    }
    first.answer = fails(503, error("busy"), { "retry-after": "7" });
    for (const model of ["dying", "dead"]) {
      const response = await chat(url, { model });
      t.same(
        [
          response.status,
          response.headers.get("x-sluice-target"),
          response.headers.get("retry-after"),
        ],
        [503, "one/a", "7"],
        `${model}: a target's own error, not that the other can't be reached`,
      );
      t.match(await logged(response), { status: 503, target: "one/a", tries: 2 });
      t.match(await recorded(response), exactly([{ status: 503, provider: "one", model: "a" }]));
    }
    await counted();
  },
);

t.test(
  "when the others have no capacity the client gets the failure, not our limits",
  async (t) => {
    await admin(url, "PUT /rate-limits", {
      user_path: "/",
      limit_key: { period: "concurrent" },
      max_requests: 9,
    });
    const holding = second.nextCall();
    second.answer = () => {};
    const held = chat(url, { model: "two/b" });
    const call = await holding;
    first.answer = fails(503, error("down"), { "retry-after": "4" });
    const response = await chat(url, { model: "smart" });
    t.same(
      [
        response.status,
        response.headers.get("retry-after"),
        response.headers.get("x-sluice-target"),
      ],
      [503, "4", "one/a"],
    );
    t.match(await response.json(), { error: { message: "down", provider: "one" } });
    t.match(
      await logged(response),
      exactly({
        tries: 1,
        tried: [{ target: "one/a", why: "503" }],
        note: /^no other target: rate limit exceeded for model two\/b: concurrent request limit of 1 reached$/,
      }),
    );
    t.equal(
      (await ruleNow(url, "/", 0)).in_flight,
      1,
      "its slots are free though the other's isn't",
    );
    t.match(
      await recorded(response),
      exactly([{ status: 503, provider: "one", model: "a" }]),
      "the record names the target that failed",
    );
    replyCompletion(call, 10);
    await held;
    await counted();
  },
);

t.test(
  "a request whose caller records its trace leaves spans: its own, and one for each attempt",
  async (t) => {
    first.answer = fails(503, error("a secret of the provider"));
    second.answer = (taken) => replyCompletion(taken, 10);
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    const ask = (flags: string): Promise<Response> =>
      fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { ...json, traceparent: `00-${traceId}-b7ad6b7169203331-${flags}` },
        body: JSON.stringify({
          model: "smart",
          messages: [{ role: "user", content: "my prompt" }],
        }),
      });
    await (await ask("00")).text();
    t.match(second.calls.at(-1)!.headers["traceparent"], /-b7ad6b7169203331-00$/);
    const response = await ask("01");
    await response.text();
    t.match(await logged(response), { trace_id: traceId, tries: 2 });
    const { spans } = await until(
      async () => collector,
      (c) => c.spans.length >= 3,
    );
    const [server, failed, answered] = ["POST /v1/chat/completions", "chat a", "chat b"].map(
      (name) => spans.find((span) => span.name === name)!,
    );
    t.match(
      server,
      exactly({
        traceId,
        parentSpanId: "b7ad6b7169203331",
        kind: 2,
        events: [{ name: "sluice.admission", attributes: { "sluice.verdict": "admitted" } }],
        attributes: {
          "http.route": "/v1/chat/completions",
          "http.response.status_code": 200,
          "gen_ai.request.model": "smart",
          "sluice.target": "two/b",
          "sluice.tries": 2,
          "sluice.request_id": response.headers.get("x-request-id"),
        },
      }),
    );
    const below = { traceId, parentSpanId: server!.spanId, kind: 3 };
    t.match(failed, {
      ...below,
      status: { code: 2 },
      attributes: { "error.type": "503", "http.response.status_code": 503 },
    });
    t.match(answered, {
      ...below,
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "b",
        "gen_ai.response.model": "test",
        "gen_ai.usage.input_tokens": 10,
        "sluice.provider": "two",
        "server.address": "127.0.0.1",
      },
    });
    for (const [upstream, span] of [
      [first, failed],
      [second, answered],
    ] as const)
      t.equal(
        upstream.calls.at(-1)!.headers["traceparent"],
        `00-${traceId}-${span!.spanId}-01`,
        "each provider is told of the span of its own request",
      );
    t.equal(spans.length, 3, "and of the caller that doesn't record it there are none");
    const sent = collector.requests.map(({ body }) => body).join("");
    for (const secret of ["my prompt", "a secret", "hello"]) t.notMatch(sent, secret);
    const metrics = await until(
      async () => (await fetch(`${url}/metrics`)).text(),
      (text) => text.includes("sluice_spans_total"),
    );
    t.match(metrics, /^sluice_spans_total\{result="exported"\} 3$/m);
    await counted();
  },
);

t.test(
  "a rule of a path for some models counts attempts, and refuses these models alone",
  async (t) => {
    first.answer = fails(500, error("oops"));
    second.answer = (taken) => replyCompletion(taken, 10);
    const path = "/interns/ann";
    const failed = await chat(url, { model: "smart", path });
    t.equal(failed.headers.get("x-sluice-target"), "two/b");
    first.answer = (taken) => replyCompletion(taken, 10);
    const ask = async (model: string): Promise<readonly unknown[]> => {
      const response = await chat(url, { model, path });
      const { error } = (await response.json()) as { error?: { message: string } };
      return [response.status, response.headers.get("x-sluice-target"), error?.message ?? null];
    };
    t.same(await ask("one/a"), [200, "one/a", null]);
    t.same(await ask("one/a"), [
      429,
      null,
      `rate limit exceeded for /interns on one/*, !one/b: ${agesSeconds}s request limit of 2 reached`,
    ]);
    t.same(await ask("smart"), [200, "two/b", null], "the next target has room");
    t.same(await ask("one/b"), [200, "one/b", null], "it is left out");
    for (const api of ["messages", "responses"]) {
      const response = await fetch(`${url}/v1/${api}`, {
        method: "POST",
        headers: { ...json, "x-sluice-user-path": path },
        body: JSON.stringify({
          model: "one/a",
          max_tokens: 5,
          ...(api === "messages"
            ? { messages: [{ role: "user", content: "hi" }] }
            : { input: "hi" }),
        }),
      });
      t.equal(response.status, 429, api);
    }
    t.equal((await chat(url, { model: "one/a" })).status, 200, "another path");
    await counted();
  },
);

t.test("a ban of models on a path is a 403, and a target that isn't banned is taken", async (t) => {
  first.answer = (taken) => replyCompletion(taken, 10);
  second.answer = (taken) => replyCompletion(taken, 10);
  const path = "/guests/ann";
  const message = "model not allowed for /guests on one/*: day rule with max_requests 0";
  const refused = await chat(url, { model: "one/a", path });
  t.equal(refused.status, 403);
  t.same(await refused.json(), {
    error: { type: "permission_error", message, code: "model_not_allowed", param: "model" },
  });
  for (const name of ["retry-after", "retry-after-ms", "x-ratelimit-limit-requests"])
    t.equal(refused.headers.get(name), null, name);
  const smart = await chat(url, { model: "smart", path });
  t.same([smart.status, smart.headers.get("x-sluice-target")], [200, "two/b"]);
  await smart.text();
  const contents = [{ role: "user", parts: [{ text: "hi" }] }];
  const messages = [{ role: "user", content: "hi" }];
  for (const [at, body] of [
    ["/v1/messages", { model: "one/a", max_tokens: 5, messages, stream: true }],
    ["/v1/responses", { model: "one/a", input: "hi" }],
    ["/v1/embeddings", { model: "one/a", input: "hi" }],
    ["/v1beta/models/one/a:generateContent", { contents }],
    ["/p/one/chat/completions", { model: "a", messages }],
  ] as const) {
    const response = await fetch(`${url}${at}`, {
      method: "POST",
      headers: { ...json, "x-sluice-user-path": path },
      body: JSON.stringify(body),
    });
    t.equal(response.status, 403, at);
    t.match(
      await response.json(),
      { error: { message: new RegExp(`^${message.replaceAll("*", "\\*")}`) } },
      at,
    );
  }
  await counted();
});

t.test(
  "a failover while the daemon is dead goes on when it is back, and all of it is settled",
  async (t) => {
    const called = first.nextCall();
    first.answer = () => {};
    const answering = chat(url, { model: "smart" });
    const call = await called;
    await daemon.kill("SIGKILL");
    fails(500, error("oops"))(call);
    await site.startDaemon();
    second.answer = (taken) => replyCompletion(taken, 10);
    const response = await answering;
    t.equal(response.headers.get("x-sluice-target"), "two/b");
    t.same((await counted()).slice(4), [1, 10]);
  },
);
