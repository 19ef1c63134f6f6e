/**
 * Budgets of sessions through real processes: agents name their session as real clients do, and
 * one that has spent its amount is refused until it starts another, also after the daemon was
 * killed.
 */
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
mcp_servers: { tools: { url: "${upstream.baseUrl}/mcp" } }
budgets:
  user_paths: [{ path: /agents, limits: [{ period: session, amount: 0.5 }] }]
`,
  { SLUICE_MASTER_KEY: "master", SET_BUDGET_OTHER: "session=0.25" },
);
const evening = Date.parse("2026-11-30T23:59:00Z");
let daemon = await site.startClockedDaemon(evening);
const { ready: url } = await site.startProxy();

function ask(path: string, headers: Record<string, string>, more: object = {}): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: "Bearer master", "x-sluice-user-path": path, ...headers },
    body: JSON.stringify({
      ...{ model: "test/model", messages: [{ role: "user", content: "hi" }] },
      ...more,
    }),
  });
}

async function statusOf(...asked: Parameters<typeof ask>): Promise<number> {
  const response = await ask(...asked);
  await response.text();
  return response.status;
}

async function admin(path: string, body?: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(`${url}/admin${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: "Bearer master" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await response.json()) as Record<string, unknown>;
}

const claude = (session: string) => ({ "x-claude-code-session-id": session });

t.test("a session that has spent its amount is told to start another", async (t) => {
  for (let i = 0; i < 2; i++) t.equal(await statusOf("/agents/ci", claude("s1")), 200);
  const calls = upstream.calls.length;
  const refused = await ask("/agents/ci", claude("s1"));
  t.same(
    [refused.status, refused.headers.get("x-should-retry"), await refused.json()],
    [
      429,
      "false",
      {
        error: {
          type: "rate_limit_error",
          message:
            "budget exceeded for /agents/ci session limit: spent 0.5 of 0.5; start a new session",
          code: "budget_exceeded",
          param: null,
        },
      },
    ],
  );
  t.ok(Number(refused.headers.get("retry-after")) > 6 * 86_400);
  t.equal(upstream.calls.length, calls);
  t.equal(await statusOf("/agents/ci", claude("s2")), 200, "another session");
  t.equal(await statusOf("/agents/ci", {}), 200, "no session");
});

t.test("agents that wait for hours are refused as they understand it", async (t) => {
  const opencode = await ask("/agents/ci", {
    "user-agent": "opencode/1.18.0",
    "x-session-affinity": "s1",
  });
  t.equal(opencode.status, 402);
  t.match(await opencode.json(), {
    error: {
      code: "insufficient_quota",
      message: /^the session budget of \/agents\/ci is reached, until .*; start a new session$/,
    },
  });
});

t.test(
  "a session in the body counts, and a sub-agent's request is one of its parent",
  async (t) => {
    const inBody = { metadata: { session_id: "b1" } };
    for (let i = 0; i < 2; i++) t.equal(await statusOf("/agents", {}, inBody), 200);
    t.equal(await statusOf("/agents", {}, inBody), 429);
    const child = { "x-session-affinity": "child", "x-parent-session-id": "root" };
    for (let i = 0; i < 2; i++) t.equal(await statusOf("/agents", child), 200);
    t.equal(await statusOf("/agents", { "x-session-affinity": "root" }), 429);
  },
);

t.test("what a spent session asks for elsewhere is refused, too", async (t) => {
  const calls = upstream.calls.length;
  const post = async (path: string, body: object): Promise<unknown> => {
    const response = await fetch(`${url}${path}`, {
      method: "POST",
      headers: {
        ...{ authorization: "Bearer master", "x-sluice-user-path": "/agents/ci" },
        ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
        ...claude("s1"),
      },
      body: JSON.stringify(body),
    });
    return [response.status, /start a new session/.test(await response.text())];
  };
  const call = { name: "search", arguments: {} };
  t.same(
    [
      await post("/v1/embeddings", { model: "test/model", input: "hi" }),
      await post("/p/test/files", { model: "test/model" }),
      await post("/mcp/tools", { jsonrpc: "2.0", id: 1, method: "tools/call", params: call }),
      await post("/v1/batches", {
        ...{ input_file_id: "file-1", endpoint: "/v1/chat/completions" },
        completion_window: "24h",
      }),
    ],
    Array.from({ length: 4 }, () => [429, true]),
  );
  t.equal(upstream.calls.length, calls);
});

t.test("a caller sees what the session that it names has left", async (t) => {
  const usage = await fetch(`${url}/v1/usage`, {
    headers: {
      ...{ authorization: "Bearer master", "x-sluice-user-path": "/agents/ci" },
      ...claude("s1"),
    },
  });
  t.match(await usage.json(), {
    budgets: exactly([{ session: "s1", amount: 0.5, spent: 0.5, remaining: 0, exceeded: true }]),
  });
});

t.test("a variable declares a budget of sessions, too", async (t) => {
  t.equal(await statusOf("/other", claude("s1")), 200);
  t.equal(await statusOf("/other", claude("s1")), 429);
});

t.test("the list of sessions has what is left, and an explanation why it is refused", async (t) => {
  const { sessions } = await admin("/sessions?user_path=/agents/ci");
  t.match(
    (sessions as { session: string; budget?: object }[])
      .map(({ session, budget }) => ({ session, budget }))
      .sort((a, b) => (a.session < b.session ? -1 : 1)),
    exactly([
      { session: "s1", budget: { amount: 0.5, spent: 0.5, remaining: 0 } },
      { session: "s2", budget: { amount: 0.5, spent: 0.25, remaining: 0.25 } },
    ]),
  );
  const question = { user_path: "/agents/ci", model: "test/model" };
  t.match(
    await admin("/explain", { ...question, session: "s1" }),
    exactly({
      verdict: { admitted: false, message: /session limit: spent 0.5 of 0.5/ },
      budgets: [{ session: "s1", template: "/agents", spent: 0.5 }],
    }),
  );
  t.match(await admin("/explain", { ...question, session: "s2" }), { verdict: { admitted: true } });
});

t.test("midnight and a killed daemon change nothing", async (t) => {
  await daemon.kill("SIGKILL");
  daemon = await site.startClockedDaemon(evening + 120_000);
  t.equal(await statusOf("/agents/ci", claude("s1")), 429);
  t.equal(await statusOf("/agents/ci", claude("s2")), 200);
  t.equal(await statusOf("/agents/ci", claude("s2")), 429);
});
