/**
 * `/mcp/{server}` through real processes: what an MCP server and its client get in both revisions
 * of streamable HTTP, and that rules, slots, keys and records hold for each server and tool.
 */
import { once } from "node:events";
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { admin, ruleNow, until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";
import {
  type ReceivedRequest,
  startPassthroughProvider,
} from "../../support/providers/passthrough-provider.js";

const upstream = await startPassthroughProvider();
t.teardown(() => upstream.close());
const masterKey = "master-key-of-the-test-0123456789";
const site = makeSite(
  t,
  `
server: { master_key: ${masterKey}, drain_seconds: 0.5 }
providers: { sim: { type: simulator } }
mcp_servers:
  tracker: { url: "${upstream.origin}/base/mcp/?of=sluice", api_key: secret-of-the-server, headers: { x-team: red } }
  gone: { url: "http://127.0.0.1:1/mcp" }
rate_limits:
  user_paths:
    - { path: /, limits: [{ period_seconds: ${agesSeconds}, max_requests: 100000, max_tokens: 100000000 }] }
    - { path: /few, limits: [{ period_seconds: ${agesSeconds}, models: ["mcp:tracker/create_issue"], max_requests: 1 }] }
    - { path: /none, limits: [{ period: day, models: ["mcp:tracker/delete_*"], max_requests: 0 }] }
    - { path: /tools, limits: [{ period_seconds: ${agesSeconds}, models: ["tool:mcp:*"], max_tool_calls: 1 }] }
    - { path: /one, limits: [{ period: concurrent, models: ["mcp:tracker/*"], max_requests: 1 }] }
  providers:
    - { name: "mcp:tracker", limits: [{ period_seconds: ${agesSeconds}, max_requests: 100000 }] }
  models:
    - { model: "mcp:tracker/counted", limits: [{ period_seconds: ${agesSeconds}, max_requests: 100000 }] }
`,
);
const daemon = await site.startDaemon();
const proxy = await site.startProxy();
const url = proxy.ready;
const auth = { authorization: `Bearer ${masterKey}` };

const call = (name: string, id: string | number = 1) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: { at: 12345678901234567890n.toString() } },
});

function post(body: unknown, headers: Record<string, string> = {}, signal?: AbortSignal) {
  return fetch(`${url}/mcp/tracker`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...auth,
      ...headers,
    },
    body: typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}

const stream = { "content-type": "text/event-stream", "mcp-session-id": "session-1" };
const event = (message: object, id = ""): string =>
  `${id === "" ? "" : `id: ${id}\n`}event: message\ndata: ${JSON.stringify(message)}\n\n`;
const result = (id: unknown) => ({ result: { content: [] }, jsonrpc: "2.0", id });
const progress = { jsonrpc: "2.0", method: "notifications/progress", params: { progress: 1 } };

/** Answers each call with its result in JSON. */
async function answerJson({ body, response }: ReceivedRequest): Promise<void> {
  const text = await body.catch(() => "");
  if (text === "") return;
  const { id, params } = JSON.parse(text) as { id: unknown; params?: { name?: string } };
  const failed = { jsonrpc: "2.0", id, error: { code: -32602, message: "no such tool" } };
  response
    .writeHead(200, { "content-type": "application/json" })
    .end(JSON.stringify(params?.name === "unknown" ? failed : result(id)));
}
upstream.answer = (received) => void answerJson(received);

t.test(
  "a call reaches the server with its own credentials, and its answer the client",
  async (t) => {
    const next = upstream.next();
    const response = await post(call("create_issue", "a-1"), {
      "mcp-session-id": "session-1",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "create_issue",
      "mcp-param-region": "eu",
      origin: "https://page.example",
      cookie: "c=1",
      "x-sluice-user-path": "/team",
    });
    t.equal(response.status, 200);
    t.match(await response.json(), { id: "a-1", result: {} });
    t.equal(response.headers.get("x-sluice-target"), "mcp:tracker/create_issue");
    t.ok(response.headers.get("x-ratelimit-limit-requests"));
    const { request, body } = await next;
    t.equal(request.url, "/base/mcp/?of=sluice");
    t.equal(await body, JSON.stringify(call("create_issue", "a-1")), "byte for byte");
    t.match(request.headers, {
      authorization: "Bearer secret-of-the-server",
      "x-team": "red",
      "mcp-session-id": "session-1",
      "mcp-protocol-version": "2026-07-28",
      "mcp-name": "create_issue",
      "mcp-param-region": "eu",
      accept: "application/json, text/event-stream",
    });
    for (const name of ["cookie", "origin", "x-sluice-user-path"])
      t.equal(request.headers[name], undefined, name);
  },
);

t.test("a stream passes event by event, and frees its slot before its last one", async (t) => {
  for (let round = 0; round < 20; round++) {
    const next = upstream.next();
    upstream.answer = () => {};
    const asked = post(call("slow", round), { "x-sluice-user-path": "/one" });
    const { response } = await next;
    response.writeHead(200, stream).write(event(progress, "e1"));
    const answer = await asked;
    t.equal(answer.headers.get("mcp-session-id"), "session-1");
    const reader = answer.body!.getReader();
    const read = async () => Buffer.from((await reader.read()).value ?? []).toString();
    t.equal(await read(), event(progress, "e1"), "before the server has answered");
    const busy = await post(call("other"), { "x-sluice-user-path": "/one" });
    t.equal(busy.status, 429);
    // The server leaves its stream open.
    response.write(event(result(round), "e2"));
    t.equal(await read(), event(result(round), "e2"));
    upstream.answer = (received) => void answerJson(received);
    const again = await post(call("other"), { "x-sluice-user-path": "/one" });
    t.equal(again.status, 200, "the slot is free once the client has the answer");
    await again.json();
    t.equal((await reader.read()).done, true);
    response.end();
  }
});

t.test("a refusal is a JSON-RPC error with the time to wait", async (t) => {
  const ask = () => post(call("create_issue", 7), { "x-sluice-user-path": "/few" });
  t.equal((await ask()).status, 200);
  const refused = await ask();
  t.equal(refused.status, 429);
  t.ok(Number(refused.headers.get("retry-after")) > 60);
  t.match(await refused.json(), {
    jsonrpc: "2.0",
    id: 7,
    error: {
      code: -32000,
      message: `rate limit exceeded for /few on mcp:tracker/create_issue: ${agesSeconds}s request limit of 1 reached`,
      data: { type: "rate_limit_error", code: "rate_limit_exceeded", retry_after: Number },
    },
  });
  const other = await post(call("list_issues"), { "x-sluice-user-path": "/few" });
  t.equal(other.status, 200, "another tool");
  const banned = await post(call("delete_issue", 8), { "x-sluice-user-path": "/none" });
  t.equal(banned.status, 403);
  t.equal(banned.headers.get("retry-after"), null);
  t.match(await banned.json(), { id: 8, error: { data: { code: "model_not_allowed" } } });
});

t.test("a tool's rules are explained", async (t) => {
  const explain = async (model: string, path: string) =>
    (await admin(url, "POST /explain", { user_path: path, model }, auth)).body;
  for (const [tool, admitted] of [
    ["create_issue", false],
    ["list_issues", true],
  ] as const)
    t.match(await explain(`mcp:tracker/${tool}`, "/few"), {
      verdict: { admitted },
      targets: exactly([{ target: `mcp:tracker/${tool}` }]),
    });
  const { targets } = await explain("mcp:tracker/create_issue", "/tools");
  const [{ rules } = { rules: [] }] = targets as { rules: { models?: string[] }[] }[];
  t.ok(rules.some(({ models }) => models?.[0] === "tool:mcp:*"));
});

t.test("notifications, streams of them and the end of a session count nowhere", async (t) => {
  const counted = async () => (await ruleNow(url, "mcp:tracker", agesSeconds, auth)).requests_used;
  const before = await counted();
  upstream.answer = ({ response }) => void response.writeHead(202).end();
  const noted = await post({ jsonrpc: "2.0", method: "notifications/initialized" });
  t.equal(noted.status, 202);
  t.equal(await noted.text(), "");
  t.equal(
    (await post({ jsonrpc: "2.0", id: 3, result: {} })).status,
    202,
    "an answer to the server",
  );
  const next = upstream.next();
  upstream.answer = ({ response }) =>
    void response.writeHead(200, stream).write(event(progress, "e9"));
  const gone = new AbortController();
  const opened = await fetch(`${url}/mcp/tracker`, {
    headers: { ...auth, accept: "text/event-stream", "last-event-id": "e8" },
    signal: gone.signal,
  });
  const { request, abandoned } = await next;
  t.equal(request.headers["last-event-id"], "e8");
  t.equal(
    Buffer.from((await opened.body!.getReader().read()).value!).toString(),
    event(progress, "e9"),
  );
  gone.abort();
  await abandoned;
  upstream.answer = ({ response }) => void response.writeHead(405).end();
  const ended = await fetch(`${url}/mcp/tracker`, { method: "DELETE", headers: auth });
  t.equal(ended.status, 405, "as the server answers");
  t.equal(await counted(), before);
  upstream.answer = (received) => void answerJson(received);
  t.equal((await post({ jsonrpc: "2.0", id: 1, method: "tools/list" })).status, 200);
  t.equal(await counted(), before + 1, "a request counts");
});

t.test("a cancelled call ends at the server and frees its slot", async () => {
  const next = upstream.next();
  upstream.answer = () => {};
  const cancel = new AbortController();
  const asked = post(call("slow"), { "x-sluice-user-path": "/one" }, cancel.signal);
  const { response, abandoned } = await next;
  response.writeHead(200, stream).write(event(progress));
  await asked;
  cancel.abort();
  await abandoned;
  upstream.answer = (received) => void answerJson(received);
  await until(
    async () => (await post(call("other"), { "x-sluice-user-path": "/one" })).status,
    (status) => status === 200,
  );
});

t.test("no client is sent into an OAuth flow, and no secret passes", async (t) => {
  for (const headers of [{}, { authorization: "Bearer wrong" }]) {
    for (const method of ["POST", "GET", "DELETE"]) {
      const response = await fetch(`${url}/mcp/tracker`, {
        method,
        headers,
        ...(method === "POST" ? { body: JSON.stringify(call("x")) } : {}),
      });
      t.equal(response.status, 403, method);
      t.equal(response.headers.get("www-authenticate"), null);
      t.match(await response.json(), {
        jsonrpc: "2.0",
        error: { data: { type: "authentication_error" } },
      });
    }
  }
  for (const path of [
    "/.well-known/oauth-protected-resource/mcp/tracker",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-authorization-server/mcp/tracker",
    "/.well-known/openid-configuration",
  ])
    t.equal((await fetch(url + path)).status, 404, path);
  const challenge = 'Bearer resource_metadata="https://issuer.example/x"';
  for (const status of [401, 403]) {
    upstream.answer = ({ response }) =>
      void response
        .writeHead(status, { "www-authenticate": challenge })
        .end("secret-of-the-server is wrong");
    const response = await post(call("x", 5));
    t.equal(response.status, 502);
    t.equal(response.headers.get("www-authenticate"), null);
    const body = await response.text();
    t.notMatch(body, /secret-of-the-server|issuer/);
    t.match(JSON.parse(body), {
      id: 5,
      error: { code: -32603, data: { code: "provider_credentials" } },
    });
  }
  upstream.answer = ({ response }) =>
    void response.writeHead(307, { location: `${upstream.origin}/elsewhere` }).end();
  t.equal((await post(call("x"))).status, 502, "a redirect");
  upstream.answer = (received) => void answerJson(received);
});

t.test("what the server could read otherwise than Sluice is refused", async (t) => {
  const before = upstream.received.length;
  for (const [body, headers = {}] of [
    [[call("a"), call("b")]],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"x"}}'],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"tools/call","params":{"name":"x"}}'],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","name":"y"}}'],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}'],
    ['{"jsonrpc":"2.0","id":{},"method":"tools/list"}'],
    ['{"jsonrpc":"2.0","method":"tools/list"}'],
    ['{"jsonrpc":"2.0","method":"tools/call","params":{"name":"x"}}'],
    ['{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"x"}}'],
    ['{"jsonrpc":"2.0","method":"resources/read","params":{"uri":"file:///x"}}'],
    ['{"jsonrpc":"2.0","method":"prompts/get","params":{"name":"x"}}'],
    [Buffer.from(JSON.stringify(call("delete_repo\xff")), "latin1")],
    [
      Buffer.from(
        '{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"\xff"}}',
        "latin1",
      ),
    ],
    ["no json"],
    ["7"],
    [call("x"), { "mcp-name": "y" }],
    [call("x"), { "mcp-method": "tools/list" }],
    [call("é"), { "mcp-name": `=?base64?${Buffer.from("e").toString("base64")}?=` }],
  ] as readonly [unknown, Record<string, string>?][]) {
    const response = await post(body, headers);
    t.equal(response.status, 400, JSON.stringify(body));
    t.match(await response.json(), { jsonrpc: "2.0", error: { code: Number, message: String } });
  }
  t.equal(upstream.received.length, before);
  const encoded = { "mcp-name": `=?base64?${Buffer.from("é").toString("base64")}?=` };
  t.equal((await post(call("é"), encoded)).status, 200);
});

t.test("keys for some models call the tools on their list alone", async (t) => {
  const made = await admin(
    url,
    "POST /auth-keys",
    { name: "one", user_path: "/keys", models: ["mcp:tracker/", "mcp:tracker/create_issue"] },
    auth,
  );
  const key = { authorization: `Bearer ${String(made.body["value"])}` };
  t.equal((await post(call("create_issue"), key)).status, 200);
  t.equal((await post({ jsonrpc: "2.0", id: 1, method: "tools/list" }, key)).status, 200);
  t.equal((await post(call("delete_issue"), key)).status, 403);
  const others = await admin(url, "POST /auth-keys", { name: "two", models: ["sim-fast"] }, auth);
  const other = { authorization: `Bearer ${String(others.body["value"])}` };
  t.equal((await post({ jsonrpc: "2.0", id: 1, method: "tools/list" }, other)).status, 403);
  t.equal((await post({ jsonrpc: "2.0", method: "notifications/x" }, other)).status, 403);
  t.equal((await fetch(`${url}/mcp/tracker`, { headers: other })).status, 403);
});

t.test("records name the server, and tools that it has", async (t) => {
  t.equal((await post(call("counted"))).status, 200);
  t.equal((await post(call("unknown"))).status, 200, "an error of JSON-RPC passes");
  const recorded = await until(
    async () => {
      const { body } = await admin(url, "GET /usage?by=model", undefined, auth);
      return JSON.stringify(body);
    },
    (text) => text.includes("counted") && text.includes("(unknown)"),
  );
  t.notMatch(recorded, /"unknown"/);
  const { body } = await admin(url, "GET /usage/records?limit=2", undefined, auth);
  const [unknown, counted] = body["records"] as readonly Record<string, unknown>[];
  t.match(counted, { provider_type: "mcp", total_cost: 0 });
  t.same(counted?.["tool_calls"], ["mcp:tracker/counted=1"]);
  t.same(unknown?.["tool_calls"], ["mcp:tracker/unknown=1"]);
  t.match(
    await (await fetch(`${url}/metrics`, { headers: auth })).text(),
    /sluice_tool_calls_total\{tool="mcp:tracker\/counted"\} 1/,
  );
  for (let i = 0; i < 3; i++) t.equal((await post(call("unknown"))).status, 200);
  const metrics = await (await fetch(`${url}/metrics`, { headers: auth })).text();
  t.match(metrics, /sluice_tool_calls_total\{tool="mcp:tracker\/\(unknown\)"\} 4/);
  t.notMatch(metrics, /tool="mcp:tracker\/unknown"/);
  t.equal((await ruleNow(url, "mcp:tracker/counted", agesSeconds, auth)).requests_used, 1);
});

t.test("a server that isn't there, or isn't configured", async (t) => {
  const to = (server: string) =>
    fetch(`${url}/mcp/${server}`, {
      method: "POST",
      headers: auth,
      body: JSON.stringify(call("x", 9)),
    });
  const gone = await to("gone");
  t.equal(gone.status, 502);
  t.match(await gone.json(), { id: 9, error: { code: -32603 } });
  const unknown = await to("nobody");
  t.equal(unknown.status, 404);
  t.match(await unknown.json(), { error: { message: 'no MCP server "nobody" is configured' } });
});

t.test("a stream outlives the daemon, and is settled with the next one", async (t) => {
  const next = upstream.next();
  upstream.answer = () => {};
  const asked = post(call("slow", "long"), { "x-sluice-user-path": "/one" });
  const { response } = await next;
  response.writeHead(200, stream).write(event(progress));
  const answer = await asked;
  await daemon.kill("SIGKILL");
  response.write(event(progress));
  await site.startDaemon();
  await until(
    async () => (await admin(url, "GET /rate-limits", undefined, auth)).status,
    (status) => status === 200,
  );
  const held = () => ruleNow(url, "/one", 0, auth);
  await until(held, (rule) => rule.in_flight === 1);
  response.end(event(result("long")));
  t.match(await answer.text(), /"id":"long"/);
  await until(held, (rule) => rule.in_flight === 0);
  upstream.answer = (received) => void answerJson(received);
});

t.test("a stopping proxy answers its calls, and ends streams of notifications", async (t) => {
  upstream.answer = ({ response }) => void response.writeHead(200, stream).write(event(progress));
  const running = (await post(call("slow", "running"))).body!.getReader();
  await running.read();
  const last = running.read();
  const next = upstream.next();
  upstream.answer = () => {};
  const silent = post(call("slow", "silent"));
  await next;
  upstream.answer = ({ response }) => void response.writeHead(200, stream).write(event(progress));
  const opened = await fetch(`${url}/mcp/tracker`, { headers: auth });
  const ended = opened.text().then(
    () => "ended",
    () => "cut",
  );
  const exited = once(proxy.child, "exit");
  proxy.child.kill("SIGTERM");
  t.ok(await ended);
  const { value } = await last;
  const error = { code: -32603, message: /the gateway is stopping/ };
  t.match(JSON.parse(Buffer.from(value!).toString().slice("data: ".length)), {
    jsonrpc: "2.0",
    id: "running",
    error,
  });
  await t.rejects(running.read());
  const refused = await silent;
  t.equal(refused.status, 503);
  t.equal(refused.headers.get("retry-after"), "1");
  t.match(await refused.json(), { jsonrpc: "2.0", id: "silent", error });
  await exited;
});
