/**
 * Rules for tools through real processes: what the answers of a provider report, whole and
 * streamed, decides on the next request that carries the tool, in each dialect.
 */
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { ruleNow, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import {
  type ReceivedRequest,
  startPassthroughProvider,
} from "../../support/providers/passthrough-provider.js";

const upstream = await startPassthroughProvider();
t.teardown(() => upstream.close());
const site = makeSite(
  t,
  `
providers:
  test: { type: openai, base_url: "${upstream.origin}/v1", api_key: secret, models: ["*"], operations: [responses, chat_completions] }
  claude: { type: anthropic, base_url: "${upstream.origin}/v1", api_key: secret, models: ["*"] }
mcp_servers:
  github: { url: "${upstream.origin}/mcp" }
rate_limits:
  user_paths:
    - { path: /whole, limits: [{ period_seconds: ${agesSeconds}, models: ["tool:mcp:github/*"], max_tool_calls: 2 }] }
    - { path: /stream, limits: [{ period_seconds: ${agesSeconds}, models: ["tool:web_search"], max_tool_calls: 2 }] }
    - { path: /claude, limits: [{ period_seconds: ${agesSeconds}, models: ["tool:mcp:*"], max_tool_calls: 1 }] }
    - { path: /direct, limits: [{ period_seconds: ${agesSeconds}, models: ["tool:mcp:github/*"], max_tool_calls: 2 }] }
    - { path: /held, limits: [{ period: concurrent, models: ["tool:web_search"], max_requests: 1 }] }
    - { path: /ban, limits: [{ period: day, models: ["tool:web_search", "tool:mcp:*"], max_requests: 0 }] }
`,
);
const daemon = await site.startDaemon();
const { ready: url } = await site.startProxy();

const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
const mcpCall = { type: "mcp_call", id: "m", server_label: "github", name: "search", output: "" };
const search = { type: "web_search_call", id: "w", action: { type: "search" } };
const message = {
  type: "message",
  id: "a",
  role: "assistant",
  content: [{ type: "output_text", text: "done", annotations: [] }],
};

function answer(received: ReceivedRequest, output: readonly object[], stream: boolean): void {
  const response = { id: "resp_1", object: "response", status: "completed", output, usage };
  if (!stream) {
    received.response.writeHead(200, { "content-type": "application/json" });
    return void received.response.end(JSON.stringify(response));
  }
  received.response.writeHead(200, { "content-type": "text/event-stream" });
  for (const item of output)
    received.response.write(
      `data: ${JSON.stringify({ type: "response.output_item.done", output_index: 0, item })}\n\n`,
    );
  received.response.end(`data: ${JSON.stringify({ type: "response.completed", response })}\n\n`);
}

function post(path: string, userPath: string, body: object): Promise<Response> {
  return fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-sluice-user-path": userPath },
    body: JSON.stringify(body),
  });
}

const connector = { type: "mcp", server_label: "github", server_url: "https://mcp.example" };
const ask = (userPath: string, tools: readonly object[], stream = false) =>
  post("/v1/responses", userPath, { model: "test/m", input: "hi", tools, stream });

const counted = (subject: string, calls: number) =>
  until(
    () => ruleNow(url, subject, agesSeconds),
    (rule) => rule["tool_calls_used"] === calls,
  );

t.test("a whole answer of the Responses API", async (t) => {
  upstream.answer = (received) => answer(received, [mcpCall, mcpCall, message], false);
  t.equal((await ask("/whole", [connector])).status, 200);
  await counted("/whole", 2);
  const before = upstream.received.length;
  const refused = await ask("/whole", [connector]);
  t.equal(refused.status, 429);
  t.ok(Number(refused.headers.get("retry-after")) > 0);
  t.match(await refused.json(), {
    error: {
      code: "rate_limit_exceeded",
      message: `rate limit exceeded for /whole on tool:mcp:github/*: ${agesSeconds}s tool call limit of 2 reached`,
    },
  });
  t.equal(upstream.received.length, before, "the provider isn't called");
  t.equal((await ask("/whole", [{ ...connector, server_label: "other" }])).status, 200);
  t.equal((await ask("/whole", [])).status, 200);
});

t.test("a stream of the Responses API", async (t) => {
  upstream.answer = (received) => answer(received, [search, search, message], true);
  const first = await ask("/stream", [{ type: "web_search" }], true);
  t.match(await first.text(), /response.completed/);
  await counted("/stream", 2);
  t.equal((await ask("/stream", [{ type: "web_search_preview" }], true)).status, 429);
});

t.test("Messages with MCP servers", async (t) => {
  const content = [
    { type: "mcp_tool_use", id: "t", name: "search", server_name: "docs", input: {} },
    { type: "text", text: "done" },
  ];
  const whole = { id: "msg_1", type: "message", role: "assistant", model: "m", content, usage };
  upstream.answer = ({ response }) =>
    void response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ ...whole, stop_reason: "end_turn" }));
  const body = {
    model: "claude/m",
    max_tokens: 9,
    messages: [{ role: "user", content: "hi" }],
    mcp_servers: [{ type: "url", name: "docs", url: "https://mcp.example" }],
  };
  t.equal((await post("/v1/messages", "/claude", body)).status, 200);
  await counted("/claude", 1);
  t.equal((await post("/v1/messages", "/claude", body)).status, 429);
});

t.test("calls to /mcp count as those of the provider's connectors do", async (t) => {
  upstream.answer = ({ response }) =>
    void response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: { content: [] } }));
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "search" } };
  for (let i = 0; i < 2; i++) t.equal((await post("/mcp/github", "/direct", call)).status, 200);
  await counted("/direct", 2);
  const refused = await post("/mcp/github", "/direct", call);
  t.equal(refused.status, 429);
  t.match(await refused.json(), { id: 1, error: { message: /tool call limit of 2 reached/ } });
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  t.equal((await post("/mcp/github", "/direct", list)).status, 200);
});

t.test("a ban has words of its own, and reaches no provider", async (t) => {
  const before = upstream.received.length;
  for (const [path, body] of [
    ["/v1/responses", { model: "test/m", input: "hi", tools: [{ type: "web_search" }] }],
    ["/v1/responses", { model: "test/m", input: "hi", tools: [connector], stream: true }],
    ["/v1/chat/completions", { model: "test/m", messages: [], web_search_options: {} }],
    ["/mcp/github", { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "a" } }],
  ] as const) {
    const refused = await post(path, "/ban", body);
    t.equal(refused.status, 403, path);
    t.equal(refused.headers.get("retry-after"), null);
    const text = await refused.text();
    t.match(text, /tool not allowed for \/ban on tool:mcp:\*, tool:web_search/);
    t.match(text, /"code":"tool_not_allowed"/);
  }
  t.equal(upstream.received.length, before);
});

t.test("a request in flight holds its slot over a crash of the daemon", async (t) => {
  let end = (): void => {};
  const answered = new Promise<void>((resolve) => {
    end = resolve;
  });
  let calls = 0;
  upstream.answer = (received) => {
    calls++;
    void answered.then(() => answer(received, [message], false));
  };
  const running = ask("/held", [{ type: "web_search" }]);
  await until(
    () => Promise.resolve(calls),
    (count) => count === 1,
  );
  await daemon.kill("SIGKILL");
  await site.startDaemon();
  await until(
    () => ruleNow(url, "/held", 0),
    (rule) => rule["in_flight"] === 1,
  );
  t.equal((await ask("/held", [{ type: "web_search" }])).status, 429);
  end();
  t.equal((await running).status, 200);
});
