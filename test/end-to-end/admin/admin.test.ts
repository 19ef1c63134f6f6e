/**
 * The five /admin/rate-limits endpoints over HTTP (docs/reference/http-api.md), and who may call
 * them (section 2).
 */
import { writeFileSync } from "node:fs";
import t from "tap";
import { admin, chat } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";
import { startScriptedUpstream } from "../../support/providers/scripted-upstream.js";

const upstream = await startScriptedUpstream();
t.teardown(() => upstream.close());
const providers = `providers: { test: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: ["*"] } }\n`;
const site = makeSite(t, providers, { SET_RATE_LIMIT_TEAM: "rpm=5,tpm=100" });
// Its clock stands still: no minute ends amid a count.
await site.startClockedDaemon(Date.parse("2026-03-10T12:00:00Z"));
const { ready: url } = await site.startProxy();

t.test("a rule is created, listed, edited, reset and deleted", async (t) => {
  const created = await admin(url, "PUT /rate-limits", {
    user_path: " team/app ",
    limit_key: { period: "Hourly" },
    max_requests: 3,
  });
  t.equal(created.status, 200);
  t.match(
    created.body.rate_limits,
    exactly([
      {
        scope: "user_path",
        subject: "/team",
        effective_subject: "/team",
        user_path: "/team",
        per_child: false,
        period_label: "minute",
        period_seconds: 60,
        max_requests: 5,
        max_tokens: 100,
        requests_used: 0,
        requests_remaining: 5,
        tokens_used: 0,
        tokens_remaining: 100,
        in_flight: 0,
        source: "config",
      },
      {
        subject: "/team/app",
        period_label: "hour",
        period_seconds: 3600,
        max_requests: 3,
        source: "manual",
      },
    ]),
  );
  t.match(created.body["server_time"], /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  t.match(created.body.rate_limits[1], {
    window_start: /^[\d-]+T[\d:]+Z$/,
    window_end: /Z$/,
    created_at: /Z$/,
    updated_at: /Z$/,
  });
  t.notOk("max_tokens" in created.body.rate_limits[1]!, "an absent cap isn't listed");

  await (await chat(url, { path: "/team/app" })).arrayBuffer();
  const edited = await admin(url, "PUT /rate-limits", {
    user_path: "/team/app",
    limit_key: { period_seconds: 3600 },
    max_tokens: 500,
  });
  t.match(
    edited.body.rate_limits[1],
    { requests_used: 1, tokens_used: 10, tokens_remaining: 490 },
    "live counters are kept",
  );
  t.notOk("max_requests" in edited.body.rate_limits[1]!, "an omitted cap is removed");

  const reset = await admin(url, "POST /rate-limits/reset-one", {
    scope: "user_path",
    subject: "/team/app",
    period: "hour",
  });
  t.equal(reset.status, 200);
  t.match(
    reset.body.rate_limits,
    exactly([{ requests_used: 1 }, { requests_used: 0, tokens_used: 0 }]),
    "the other rule keeps its counts",
  );
  t.equal(
    (await admin(url, "POST /rate-limits/reset-one", { subject: "/nobody", period: "day" })).status,
    200,
    "an unknown rule too",
  );

  t.same((await admin(url, "POST /rate-limits/reset", { confirmation: " RESET " })).body, {
    status: "ok",
  });
  t.match(
    (await admin(url, "GET /rate-limits")).body.rate_limits,
    exactly([{ requests_used: 0 }, { requests_used: 0 }]),
  );

  const gone = await admin(url, "DELETE /rate-limits", {
    scope: "user_path",
    subject: "/team/app",
    limit_key: { period: "hour" },
  });
  t.equal(gone.body.rate_limits.length, 1);
  const again = await admin(url, "DELETE /rate-limits", {
    scope: "user_path",
    subject: "/team/app",
    limit_key: { period: "hour" },
  });
  t.equal(again.status, 404);
  t.match(again.body, {
    code: "rate_limit_not_found",
    type: "not_found_error",
    status_code: 404,
    param: null,
    provider: null,
  });
});

t.test("what is wrong is refused by name, and changes nothing", async (t) => {
  const before = await admin(url, "GET /rate-limits");
  const minute = { limit_key: { period: "minute" } };
  const table: [string, unknown, RegExp, string | null, number?][] = [
    ["not JSON", "{", /must be a JSON object/, "body"],
    ["a list", [], /must be a JSON object/, "body"],
    ["an unknown field", { ...minute, max_request: 1 }, /unknown field max_request/, "max_request"],
    [
      "an unknown field in the key",
      { limit_key: { periode: "day" }, max_requests: 1 },
      /unknown field limit_key\.periode/,
      "limit_key.periode",
    ],
    ["no key", { max_requests: 1 }, /limit_key is required/, "limit_key"],
    [
      "both periods",
      { limit_key: { period: "day", period_seconds: 60 }, max_requests: 1 },
      /exactly one/,
      "limit_key.period",
    ],
    ["neither period", { limit_key: {}, max_requests: 1 }, /is required/, "limit_key.period"],
    [
      "an unknown period",
      { limit_key: { period: "week" }, max_requests: 1 },
      /not "week"/,
      "limit_key.period",
    ],
    [
      "negative seconds",
      { limit_key: { period_seconds: -1 }, max_requests: 1 },
      /not -1/,
      "limit_key.period_seconds",
    ],
    ["no cap", minute, /max_requests is required, or another cap/, "max_requests"],
    ["zero", { ...minute, max_requests: 0 }, /max_requests must be greater than 0/, "max_requests"],
    [
      "a fraction",
      { ...minute, max_requests: 1.5 },
      /max_requests must be an integer/,
      "max_requests",
    ],
    ["a text", { ...minute, max_tokens: "5" }, /max_tokens must be an integer/, "max_tokens"],
    ["too much", { ...minute, max_tokens: 2 ** 53 }, /max_tokens must be an integer/, "max_tokens"],
    [
      "tokens in flight",
      { limit_key: { period: "concurrent" }, max_requests: 1, max_tokens: 1 },
      /max_tokens/,
      "max_tokens",
    ],
    [
      "no in-flight cap",
      { limit_key: { period: "concurrent" } },
      /max_requests is required/,
      "max_requests",
    ],
    [
      "a path with dots",
      { ...minute, user_path: "/a/../b", max_requests: 1 },
      /user_path must not hold the segment/,
      "user_path",
    ],
    ["a scope of its own", { ...minute, scope: "team", max_requests: 1 }, /scope must be/, "scope"],
    [
      "a provider without a subject",
      { ...minute, scope: "provider", max_requests: 1 },
      /subject is required/,
      "subject",
    ],
    [
      "a provider with a path",
      { ...minute, scope: "provider", subject: "x", user_path: "/a", max_requests: 1 },
      /user_path can't be combined/,
      "user_path",
    ],
    [
      "per child without the entitlement",
      { ...minute, user_path: "/a", per_child: true, max_requests: 1 },
      /quota_templates/,
      "per_child",
      403,
    ],
    [
      "per child of a model",
      { ...minute, scope: "model", subject: "x", per_child: true, max_requests: 1 },
      /user-path rules only/,
      "per_child",
    ],
  ];
  for (const [name, body, message, param, status = 400] of table) {
    const answer = await admin(url, "PUT /rate-limits", body);
    t.equal(answer.status, status, name);
    t.match(
      answer.body,
      {
        message,
        param,
        status_code: status,
        type: status === 403 ? "permission_error" : "invalid_request_error",
        code: status === 403 ? "quota_templates_not_entitled" : null,
        provider: null,
      },
      name,
    );
  }
  for (const body of [
    "[".repeat(8000) + "]".repeat(8000),
    `[${"0.1,".repeat(4000)}1]`,
    { limit_key: { period: [[[]]] } },
  ])
    t.equal((await admin(url, "PUT /rate-limits", body)).status, 400, "a body that no rule has");
  t.equal((await admin(url, "PUT /rate-limits", "x".repeat(20_000))).status, 413);
  t.match(await admin(url, "POST /rate-limits/reset", { confirmation: "yes" }), {
    status: 400,
    body: { message: "confirmation must be reset" },
  });
  t.same(
    (await admin(url, "GET /rate-limits")).body.rate_limits.map((rule) => rule.subject),
    before.body.rate_limits.map((rule) => rule.subject),
  );
});

t.test("unknown routes and wrong methods say what there is", async (t) => {
  const unknown = await fetch(`${url}/v1/nope`);
  t.equal(unknown.status, 404);
  t.same(await unknown.json(), {
    error: {
      type: "not_found_error",
      message: "unknown API endpoint: GET /v1/nope",
      code: null,
      param: null,
    },
  });
  const wrong = await fetch(`${url}/admin/rate-limits/reset`, { method: "GET" });
  t.equal(wrong.status, 405);
  t.equal(wrong.headers.get("allow"), "POST");
  t.match(await wrong.json(), { status_code: 405, code: null });
  const named = await fetch(`${url}/v1/models`, { headers: { "x-request-id": "mine-1" } });
  t.equal(named.headers.get("x-request-id"), "mine-1");
  const insane = await fetch(`${url}/v1/models`, { headers: { "x-request-id": "a b" } });
  t.match(insane.headers.get("x-request-id"), /^req_/);
});

t.test("a request that can't be served consumes nothing", async (t) => {
  const calls = upstream.calls.length;
  const used = async () =>
    (await admin(url, "GET /rate-limits")).body.rate_limits[0]!.requests_used;
  const before = await used();
  const table: [string, string | Record<string, unknown>, number, string | null][] = [
    ["not JSON", "{", 400, null],
    ["no messages", { model: "test/m" }, 400, "messages"],
    ["no model", { messages: [] }, 400, "model"],
    ["an unknown model", { model: "nowhere/m" }, 200, null],
  ];
  for (const [name, body, status, param] of table.slice(0, 3)) {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { "x-sluice-user-path": "/team" },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    t.equal(response.status, status, name);
    const { error } = (await response.json()) as { error: { type: string; param: string | null } };
    t.equal(error.type, "invalid_request_error");
    if (param !== null) t.equal(error.param, param);
  }
  const badPath = await chat(url, { path: "/a/../b" });
  t.equal(badPath.status, 400);
  t.match(await badPath.json(), { error: { message: "invalid X-Sluice-User-Path header" } });
  t.equal(await used(), before);
  t.equal(upstream.calls.length, calls);
});

t.test("with a master key, everything but health asks for it", async (t) => {
  const guarded = makeSite(t, providers, { SLUICE_MASTER_KEY: "master" });
  await guarded.startDaemon();
  const proxy = await guarded.startProxy();
  const master = { authorization: "Bearer master" };
  t.match(await admin(proxy.ready, "GET /rate-limits"), {
    status: 401,
    body: {
      message: "missing credentials",
      type: "authentication_error",
      code: null,
      status_code: 401,
    },
  });
  t.match(
    await admin(proxy.ready, "GET /rate-limits", undefined, { authorization: "Bearer wrong" }),
    { status: 401, body: { message: "authentication failed" } },
  );
  t.match(await admin(proxy.ready, "GET /rate-limits", undefined, { authorization: "Basic abc" }), {
    status: 401,
    body: { message: /malformed/ },
  });
  t.equal((await admin(proxy.ready, "GET /rate-limits", undefined, master)).status, 200);
  t.equal(
    (await admin(proxy.ready, "GET /rate-limits", undefined, { "x-api-key": "master" })).status,
    200,
  );
  const chatAnswer = await chat(proxy.ready);
  t.equal(chatAnswer.status, 401);
  t.match(await chatAnswer.json(), {
    error: {
      type: "authentication_error",
      message: "missing credentials",
      code: null,
      param: null,
    },
  });
  t.same(await (await fetch(`${proxy.ready}/health`)).json(), { status: "ok" });
  const asked = await fetch(`${proxy.ready}/health`, { headers: master });
  t.match(await asked.json(), {
    status: "ok",
    version: /\d/,
    limiter: { reachable: true, failure_mode: "closed" },
  });
  t.equal((await fetch(`${proxy.ready}/ready`)).status, 200);
  const described = await fetch(`${proxy.ready}/openapi.json`);
  t.match(await described.json(), { openapi: "3.1.0", info: { version: "1.0" } });
  const known = { "if-none-match": described.headers.get("etag")! };
  t.equal((await fetch(`${proxy.ready}/openapi.json`, { headers: known })).status, 304);
});

t.test("with rate limits disabled nothing is enforced, and the admin API says so", async (t) => {
  const disabled = makeSite(t, providers, {
    RATE_LIMITS_ENABLED: "false",
    SET_RATE_LIMIT_: "rpm=1",
  });
  await disabled.startDaemon();
  const proxy = await disabled.startProxy();
  for (let i = 0; i < 3; i++) t.equal((await chat(proxy.ready)).status, 200);
  t.match(await admin(proxy.ready, "GET /rate-limits"), {
    status: 503,
    body: { code: "feature_unavailable", status_code: 503 },
  });
});

t.test(
  "a template in the configuration without the entitlement stops the start of both processes, naming the path",
  async (t) => {
    const site = makeSite(
      t,
      `${providers}rate_limits: { user_paths: [ { path: /team, per_child: true, limits: [ { period: minute, max_requests: 1 } ] } ] }\n`,
    );
    await t.rejects(
      site.startDaemon(),
      /per_child on \/team requires the entitlement quota_templates/,
    );
    await t.rejects(
      site.startProxy(),
      /per_child on \/team requires the entitlement quota_templates/,
    );
  },
);

t.test("a list of more rules than a page leaves in pieces and is whole", async (t) => {
  const site = makeSite(t, providers, { SLUICE_ENTITLEMENTS: "quota_templates" });
  writeFileSync(
    site.configFile,
    JSON.stringify({
      rate_limits: {
        user_paths: Array.from({ length: 1200 }, (_, i) => ({
          path: `/many/${i}`,
          limits: [{ period: "minute", max_requests: i + 1 }],
        })),
      },
      providers: { test: { type: "simulator" } },
    }),
  );
  await site.startDaemon();
  const { ready } = await site.startProxy();
  const { status, body } = await admin(ready, "GET /rate-limits");
  t.equal(status, 200);
  t.same(
    body.rate_limits.map(({ max_requests: cap }) => cap).sort((a, b) => Number(a) - Number(b)),
    Array.from({ length: 1200 }, (_, i) => i + 1),
  );
  t.match(body["server_time"], /Z$/);
});

t.test("an open gateway refuses to listen beyond loopback", async (t) => {
  const open = makeSite(t, providers, { HOST: "0.0.0.0" });
  await open.startDaemon();
  await t.rejects(open.startProxy(), /no master key is set/);
});
