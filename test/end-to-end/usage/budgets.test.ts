/**
 * Budgets through real processes: a gateway with prices spends until it is refused, a day ends, an
 * operator resets, the daemon is killed. The daemon's wall clock is set by the test.
 */
import OpenAI from "openai";
import t from "tap";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";
import { startScriptedUpstream } from "../../support/providers/scripted-upstream.js";

const upstream = await startScriptedUpstream();
t.teardown(() => upstream.close());
// Ten tokens of input an answer: a quarter of a dollar at 25,000 dollars per million.
const site = makeSite(
  t,
  `
limiter: { deadline_ms: 30000 }
providers: { test: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: ["*"] } }
prices: { test/model: { input: 25000, output: 0 } }
entitlements: [quota_templates]
rate_limits: { user_paths: [{ path: /team, limits: [{ period: hour, max_requests: 1000 }] }] }
budgets:
  user_paths:
    - { path: /team, limits: [{ period: daily, amount: 1 }] }
    - { path: /each, per_child: true, limits: [{ period: monthly, amount: 0.5 }] }
`,
  { SLUICE_MASTER_KEY: "master", SET_BUDGET_SDK: "hourly=0.25" },
);
const evening = Date.parse("2026-11-30T23:59:00Z");
let daemon = await site.startClockedDaemon(evening);
const proxy = await site.startProxy();
const url = proxy.ready;

async function admin(
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${url}/admin${path}`, {
    method,
    headers: { authorization: "Bearer master" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

function ask(path: string): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: "Bearer master", "x-sluice-user-path": path },
    body: JSON.stringify({ model: "test/model", messages: [{ role: "user", content: "hi" }] }),
  });
}

async function statusOf(path: string): Promise<number> {
  const response = await ask(path);
  await response.text();
  return response.status;
}

async function budgets(): Promise<readonly Record<string, unknown>[]> {
  return (await admin("GET", "/budgets")).body["budgets"] as Record<string, unknown>[];
}

const spent = async (): Promise<unknown[]> =>
  (await budgets()).map(({ subject, spent: usd }) => [subject, usd]);

t.test(
  "four requests spend the amount; the fifth is refused with an honest wait, and the upstream isn't called",
  async (t) => {
    for (let i = 0; i < 4; i++) t.equal(await statusOf("/team/app"), 200);
    const calls = upstream.calls.length;
    const refused = await ask("/team/app");
    t.equal(refused.status, 429);
    t.same(await refused.json(), {
      error: {
        type: "rate_limit_error",
        message: "budget exceeded for /team daily limit: spent 1 of 1",
        code: "budget_exceeded",
        param: null,
      },
    });
    const header = (name: string): string | null => refused.headers.get(name);
    t.same(
      [
        "retry-after",
        "retry-after-ms",
        "x-should-retry",
        "x-ratelimit-limit-requests",
        "x-ratelimit-remaining-requests",
        "x-ratelimit-reset-requests",
      ].map(header),
      ["60", "60000", null, "1000", "996", "60"],
      "with the headers of the rule as it stands: this request isn't taken from it",
    );
    t.equal(upstream.calls.length, calls);
    await proxy.printed(
      /"outcome":"over_budget".*budget exceeded for \/team daily limit: spent 1 of 1/,
    );
    await daemon.setClock(evening + 59_999);
    const late = await ask("/team");
    t.equal(late.headers.get("retry-after"), "1", "at 23:59:59.999");
    await late.text();
  },
);

t.test("GET /v1/usage shows the caller its budgets as the operator's list does", async (t) => {
  const response = await fetch(`${url}/v1/usage?start_date=2026-11-30&end_date=2026-11-30`, {
    headers: { authorization: "Bearer master", "x-sluice-user-path": "/team/app" },
  });
  t.match(
    await response.json(),
    exactly({
      usage: { total_cost: 1 },
      budgets: [
        {
          subject: "/team",
          user_path: "/team",
          amount: 1,
          spent: 1,
          remaining: 0,
          usage_ratio: 1,
          exceeded: true,
          resets_in_seconds: 1,
          period_end: "2026-12-01T00:00:00Z",
        },
      ],
    }),
  );
  t.match(
    await budgets(),
    exactly([
      { subject: "/each", per_child: true },
      { subject: "/sdk", source: "config" },
      { subject: "/team", spent: 1, usage_ratio: 1, has_usage: true, last_reset_at: null },
    ]),
  );
});

t.test("explain says how a request would be answered", async (t) => {
  const { body } = await admin("POST", "/explain", { user_path: "/team/app", model: "test/model" });
  t.match(
    body,
    exactly({
      verdict: {
        admitted: false,
        message: "budget exceeded for /team daily limit: spent 1 of 1",
        retry_after: 1,
      },
      budgets: [{ subject: "/team", exceeded: true, retry_after: 1 }],
    }),
  );
});

t.test("after the wait the day is another one", async (t) => {
  await daemon.setClock(evening + 60_000);
  t.equal(await statusOf("/team"), 200);
  t.same(await spent(), [
    ["/each", 0],
    ["/sdk", 0],
    ["/team", 0.25],
  ]);
});

t.test("children of a template spend for themselves, and the SDK says what happened", async (t) => {
  t.same(
    [
      await statusOf("/each/a"),
      await statusOf("/each/a/deep"),
      await statusOf("/each/a"),
      await statusOf("/each/b"),
    ],
    [200, 200, 429, 200],
  );
  const sdk = new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: "master",
    maxRetries: 0,
    defaultHeaders: { "x-sluice-user-path": "/sdk" },
  });
  const create = () =>
    sdk.chat.completions.create({
      model: "test/model",
      messages: [{ role: "user", content: "hi" }],
    });
  await create();
  const error = await create().then(
    () => null,
    (reason: unknown) => reason,
  );
  t.ok(error instanceof OpenAI.RateLimitError);
  t.match(error, {
    status: 429,
    code: "budget_exceeded",
    type: "rate_limit_error",
    message: "429 budget exceeded for /sdk hourly limit: spent 0.25 of 0.25",
  });
});

t.test("the admin endpoints: write, edit, reset, delete, settings", async (t) => {
  const key = { scope: "user_path", subject: "/team", budget_key: { period: "daily" } };
  t.match(
    await admin("PUT", "/budgets", { ...key, amount: 0.2 }),
    exactly({
      status: 200,
      body: {
        budgets: [
          {},
          {},
          {
            subject: "/team",
            amount: 0.2,
            spent: 0.25,
            remaining: -0.05,
            usage_ratio: 1.25,
            source: "manual",
          },
        ],
      },
    }),
  );
  t.equal(await statusOf("/team"), 429);
  await daemon.setClock(evening + 65_000);
  t.match(
    await admin("POST", "/budgets/reset-one", { subject: "/team", period: "daily" }),
    exactly({
      status: 200,
      body: {
        budgets: [
          {},
          {},
          {
            subject: "/team",
            spent: 0,
            last_reset_at: "2026-12-01T00:00:05Z",
            period_start: "2026-12-01T00:00:05Z",
          },
        ],
      },
    }),
  );
  t.equal(await statusOf("/team"), 200);
  t.match(await admin("POST", "/budgets/reset-one", { subject: "/nobody", period: "daily" }), {
    status: 404,
    body: { code: "budget_not_found", message: "no daily budget on user_path /nobody" },
  });
  const deleted = await admin("DELETE", "/budgets", key);
  t.match(
    deleted,
    exactly({
      status: 200,
      body: {
        budgets: [{ subject: "/each" }, { subject: "/sdk" }],
        server_time: "2026-12-01T00:00:05.000Z",
      },
    }),
  );
  t.equal((deleted.body["budgets"] as unknown[]).length, 2);
  t.same(await admin("DELETE", "/budgets", key), {
    status: 404,
    body: {
      code: "budget_not_found",
      message: "no daily budget on user_path /team",
      param: null,
      provider: null,
      status_code: 404,
      type: "not_found_error",
    },
  });
  t.match(
    await admin("PUT", "/budgets", {
      user_path: "/team",
      budget_key: { period: "daily" },
      amount: 5,
    }),
    exactly({ body: { budgets: [{}, {}, { subject: "/team", spent: 0.25 }] } }),
    "made again, it knows what was spent since the reset",
  );
  t.match(await admin("PUT", "/budgets", { ...key, amount: 0 }), {
    status: 400,
    body: {
      code: null,
      param: "amount",
      message: "amount must be a finite number of US dollars greater than 0, not 0",
    },
  });
  t.same(await admin("POST", "/budgets/reset", { confirmation: " RESET " }), {
    status: 200,
    body: { status: "ok" },
  });
  t.same(await spent(), [
    ["/each", 0],
    ["/sdk", 0],
    ["/team", 0],
  ]);
  t.match(await admin("GET", "/budgets/settings"), {
    status: 200,
    body: { daily_reset_hour: 0, weekly_reset_weekday: 1, monthly_reset_day: 1 },
  });
  t.match(await admin("PUT", "/budgets/settings", { daily_reset_hour: 24 }), {
    status: 400,
    body: {
      param: "daily_reset_hour",
      message: "daily_reset_hour must be an integer from 0 to 23, not 24",
    },
  });
  t.match(await admin("PUT", "/budgets/settings", { daily_reset_hour: 6 }), {
    status: 200,
    body: { daily_reset_hour: 6, daily_reset_minute: 0 },
  });
  t.match((await budgets())[2], { period_end: "2026-12-01T06:00:00Z" });
});

t.test(
  "answered requests are charged after kill -9 of the daemon, immediately and to the cent",
  async (t) => {
    await daemon.setClock(Date.parse("2026-12-02T10:00:00Z"));
    for (let i = 0; i < 3; i++) t.equal(await statusOf("/team/x"), 200);
    const before = await fetch(`${url}/v1/usage`, {
      headers: { authorization: "Bearer master", "x-sluice-user-path": "/team/x" },
    });
    t.match(await before.json(), exactly({ budgets: [{ spent: 0.75 }] }));
    await daemon.kill("SIGKILL");
    daemon = await site.startClockedDaemon(Date.parse("2026-12-02T10:00:01Z"));
    t.equal(await statusOf("/team/x"), 200);
    const after = (await budgets()).find(({ subject }) => subject === "/team");
    t.match(after, { spent: 1, amount: 5 }, "with the request after it");
  },
);
