/**
 * Web search for a model that has none, through real processes: a model that speaks chat
 * completions, a search provider as Tavily describes its API, and the official SDKs as clients.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { admin, until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";
import { masterKey } from "../../support/processes/sdk-site.js";

type Json = Readonly<Record<string, unknown>>;

interface Message {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly { readonly id: string }[];
}

interface ModelRequest {
  readonly messages: readonly Message[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
  readonly tool_choice?: unknown;
  readonly stream?: boolean;
}

const page = {
  title: "Releases",
  url: "https://example.org/releases",
  content: "Version 9 is out.",
};

/** What the model says in each turn: a text, or calls of tools. */
type Turn = string | readonly (readonly [name: string, given: Json])[];
let turns: Turn[] = [];
const asked: ModelRequest[] = [];
let calls = 0;

function model(body: ModelRequest, response: ServerResponse): void {
  asked.push(body);
  const turn = turns.shift() ?? "";
  if (turn === "fail") return void response.writeHead(400).end('{"error":{"message":"no"}}');
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const made = (typeof turn === "string" ? [] : turn).map(([name, given], index) => ({
    index,
    id: `call_${++calls}`,
    type: "function",
    function: { name, arguments: JSON.stringify(given) },
  }));
  const head = { id: "chatcmpl-1", created: 1, model: "plain" };
  const reason = made.length === 0 ? "stop" : "tool_calls";
  const content = typeof turn === "string" ? turn : "Let me look.";
  if (body.stream !== true) {
    const message = {
      role: "assistant",
      content,
      ...(made.length === 0 ? {} : { tool_calls: made }),
    };
    const choices = [{ index: 0, message, finish_reason: reason }];
    response.writeHead(200, { "content-type": "application/json" });
    return void response.end(
      JSON.stringify({ ...head, object: "chat.completion", choices, usage }),
    );
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (delta: Json, finish: string | null = null): void =>
    void response.write(
      `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`,
    );
  if (turn === endless) return goOn(send, response);
  send({ role: "assistant", content: content.slice(0, 6) });
  send({ content: content.slice(6) });
  for (const { index, id, type, function: called } of made) {
    send({ tool_calls: [{ index, id, type, function: { name: called.name, arguments: "" } }] });
    send({ tool_calls: [{ index, function: { arguments: called.arguments } }] });
  }
  send({}, reason);
  response.write(
    `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices: [], usage })}\n\n`,
  );
  response.end("data: [DONE]\n\n");
}

/** A search whose query doesn't end. */
const endless = "endless";

function goOn(send: (delta: Json) => void, response: ServerResponse): void {
  const called = { name: "web_search", arguments: '{"query":"' };
  send({ tool_calls: [{ index: 0, id: `call_${++calls}`, type: "function", function: called }] });
  const timer = setInterval(() => {
    for (let i = 0; i < 4; i++)
      send({ tool_calls: [{ index: 0, function: { arguments: "four" } }] });
  }, 1);
  response.on("close", () => clearInterval(timer));
}

const searches: { readonly key: unknown; readonly body: Json }[] = [];
let searchStatus = 200;
/** Set: the search provider stays silent, and calls this when it is left. */
let onLeft: (() => void) | null = null;

function search({ headers }: IncomingMessage, body: Json, response: ServerResponse): void {
  searches.push({ key: headers.authorization, body });
  if (onLeft !== null) return void response.on("close", onLeft);
  response.writeHead(searchStatus, { "content-type": "application/json" });
  const more = { ...page, url: "https://other.example/x", score: 0.5 };
  response.end(JSON.stringify({ query: body["query"], results: [page, more], response_time: 0.1 }));
}

const server = createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => {
    const body = JSON.parse(Buffer.concat(pieces).toString()) as Json;
    if (request.url === "/search") search(request, body, response);
    else model(body as unknown as ModelRequest, response);
  });
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
t.teardown(() => {
  server.closeAllConnections();
  server.close();
});
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const site = makeSite(
  t,
  `
limiter: { deadline_ms: 30000 }
providers:
  plain: { type: openai, base_url: "${origin}/v1", api_key: none, models: [plain], operations: [chat_completions], retries: 0 }
tools:
  web_search: { provider: tavily, base_url: "${origin}", api_key: tvly-secret, max_searches: 3, cost_per_search: 0.008 }
prices:
  plain/plain: { input: 1, output: 10 }
budgets:
  user_paths: [{ path: /, limits: [{ period_seconds: ${agesSeconds}, amount: 1000 }] }]
rate_limits:
  user_paths:
    - { path: /few, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1 }] }
${["chat", "messages", "responses", "google"].map((name) => `    - { path: /capped/${name}, limits: [{ period_seconds: ${agesSeconds}, max_tokens: 1500, hold: hard }] }`).join("\n")}
`,
  { SLUICE_MASTER_KEY: masterKey },
);
await site.startDaemon();
const { ready: url } = await site.startProxy();

async function tenant(path: string): Promise<string> {
  const bearer = { authorization: `Bearer ${masterKey}` };
  const { body } = await admin(url, "POST /auth-keys", { name: path, user_path: path }, bearer);
  return (body as unknown as { readonly value: string }).value;
}

interface Status {
  readonly usage: Json;
  readonly budgets: readonly { readonly spent: number }[];
}

const statusOf = async (key: string): Promise<Status> =>
  (await (
    await fetch(`${url}/v1/usage`, { headers: { authorization: `Bearer ${key}` } })
  ).json()) as Status;

const counted = (key: string, requests: number): Promise<Status> =>
  until(
    () => statusOf(key),
    ({ usage }) => usage["total_requests"] === requests,
  );

function begin(...next: Turn[]): void {
  turns = next;
  asked.length = 0;
  searches.length = 0;
  searchStatus = 200;
  onLeft = null;
}

const look: Turn = [["web_search", { query: "newest version" }]];
const cited = "It is [version 9](https://example.org/releases).";
const sdk = (apiKey: string): Anthropic => new Anthropic({ baseURL: url, apiKey, maxRetries: 0 });
const tool = { type: "web_search_20250305", name: "web_search" } as const;
/** As Claude Code's WebSearch asks. */
const claudeCode = {
  model: "plain",
  max_tokens: 1000,
  system: "You are an assistant for performing a web search tool use",
  messages: [
    { role: "user" as const, content: "Perform a web search for the query: newest version" },
  ],
  tools: [{ ...tool, max_uses: 8 }],
  tool_choice: { type: "tool" as const, name: "web_search" },
};

t.test("Messages: a search as Claude Code asks for it, whole and streamed", async (t) => {
  for (const stream of [false, true]) {
    const key = await tenant(stream ? "/streamed" : "/whole");
    begin(look, cited);
    const { messages } = sdk(key);
    const message = await (stream
      ? messages.stream(claudeCode).finalMessage()
      : messages.create(claudeCode));
    t.match(searches, exactly([{ key: "Bearer tvly-secret", body: { query: "newest version" } }]));
    t.match(message, {
      role: "assistant",
      stop_reason: "end_turn",
      usage: { input_tokens: 20, output_tokens: 10, server_tool_use: { web_search_requests: 1 } },
    });
    t.match(
      message.content,
      exactly([
        { type: "text", text: "Let me look." },
        {
          type: "server_tool_use",
          id: /^srvtoolu_\w+$/,
          name: "web_search",
          input: { query: "newest version" },
        },
        {
          type: "web_search_tool_result",
          tool_use_id: /^srvtoolu_\w+$/,
          content: [
            { type: "web_search_result", title: "Releases", url: page.url, encrypted_content: /./ },
            { url: "https://other.example/x" },
          ],
        },
        {
          type: "text",
          text: cited,
          citations: [{ type: "web_search_result_location", url: page.url, title: "Releases" }],
        },
      ]),
    );
    t.match(asked[0], {
      tools: exactly([{ function: { name: "web_search" } }]),
      tool_choice: { function: { name: "web_search" } },
    });
    t.match(asked[1], { tool_choice: "auto" }, "the call is forced once");
    t.match(asked[1]!.messages.at(-1), { role: "tool", content: /Version 9 is out\./ });
    const { usage, budgets } = await counted(key, 2);
    t.match(usage, { total_input_tokens: 20, total_output_tokens: 10, total_cost: 0.00812 });
    t.equal(budgets[0]!.spent, stream ? 0.01624 : 0.00812, "of all callers");
  }
});

t.test("Messages: what the client sends back becomes calls and results again", async (t) => {
  const key = await tenant("/back");
  begin(look, cited, "Bye.");
  const { messages } = sdk(key);
  const first = await messages.create(claudeCode);
  const { tool_choice: _, ...rest } = claudeCode;
  await messages.create({
    ...rest,
    messages: [
      ...claudeCode.messages,
      { role: "assistant", content: first.content as Anthropic.ContentBlockParam[] },
      { role: "user", content: "Thanks." },
    ],
  });
  t.match(
    asked.at(-1)!.messages,
    exactly([
      { role: "system" },
      { role: "user" },
      { role: "assistant", content: "Let me look.", tool_calls: [{ id: /^srvtoolu_/ }] },
      { role: "tool", content: /Version 9 is out\./ },
      { role: "assistant", content: cited },
      { role: "user", content: "Thanks." },
    ]),
  );
});

t.test("Messages: a search beside a call of the client's ends the turn", async (t) => {
  const key = await tenant("/mixed");
  const weather = { name: "weather", input_schema: { type: "object" as const, properties: {} } };
  for (const stream of [false, true]) {
    begin(
      [
        ["web_search", { query: "a" }],
        ["weather", {}],
      ],
      "Done.",
    );
    const { messages } = sdk(key);
    const body = { ...claudeCode, tools: [weather, tool], tool_choice: { type: "auto" as const } };
    const message = await (stream ? messages.stream(body).finalMessage() : messages.create(body));
    t.equal(message.stop_reason, "tool_use");
    t.same(
      message.content.map(({ type }) => type),
      ["text", "server_tool_use", "tool_use", "web_search_tool_result"],
    );
    t.equal(asked.length, 1);
    const call = message.content.find(({ type }) => type === "tool_use") as { id: string };
    await messages.create({
      ...body,
      messages: [
        ...claudeCode.messages,
        { role: "assistant", content: message.content as Anthropic.ContentBlockParam[] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: "sun" }] },
      ],
    });
    t.same(
      asked.at(-1)!.messages.map(({ role, tool_calls: made }) => [role, made?.length]),
      [
        ["system", undefined],
        ["user", undefined],
        ["assistant", 2],
        ["tool", undefined],
        ["tool", undefined],
      ],
    );
  }
});

const openai = (apiKey: string): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
const citation = {
  url: page.url,
  title: "Releases",
  start_index: 6,
  end_index: cited.length - 1,
};

t.test("Responses: calls, annotations and sources, whole and streamed", async (t) => {
  const body = {
    model: "plain",
    input: "newest version?",
    tools: [
      {
        type: "web_search" as const,
        user_location: { type: "approximate" as const, country: "DE" },
      },
    ],
    include: ["web_search_call.action.sources" as const],
  };
  for (const stream of [false, true]) {
    const key = await tenant(`/responses-${stream}`);
    begin(look, cited);
    const types: string[] = [];
    const { responses } = openai(key);
    let answer: OpenAI.Responses.Response;
    if (stream) {
      const events = responses.stream(body);
      const numbers: number[] = [];
      for await (const event of events) {
        types.push(event.type);
        numbers.push(event.sequence_number);
      }
      t.same(
        numbers,
        numbers.map((_, i) => i),
      );
      answer = await events.finalResponse();
    } else answer = await responses.create(body);
    t.match(answer, {
      status: "completed",
      tools: exactly([{ type: "web_search" }]),
      usage: { input_tokens: 20, output_tokens: 10, total_tokens: 30 },
    });
    t.match(
      answer.output,
      exactly([
        { type: "message", content: [{ text: "Let me look." }] },
        {
          type: "web_search_call",
          id: /^ws_/,
          status: "completed",
          action: {
            type: "search",
            query: "newest version",
            sources: [{ type: "url", url: page.url }, { url: "https://other.example/x" }],
          },
        },
        {
          type: "message",
          content: [{ text: cited, annotations: [{ type: "url_citation", ...citation }] }],
        },
      ]),
    );
    t.match(asked[1]!.messages.at(-1), { role: "tool", content: /Version 9 is out\./ });
    if (stream)
      t.same(
        types.filter((type) =>
          /search|annotation|item\.(?:added|done)|response\.completed/.test(type),
        ),
        [
          "response.output_item.added",
          "response.output_item.done",
          "response.output_item.added",
          "response.web_search_call.in_progress",
          "response.web_search_call.searching",
          "response.web_search_call.completed",
          "response.output_item.done",
          "response.output_item.added",
          "response.output_text.annotation.added",
          "response.output_item.done",
          "response.completed",
        ],
      );
    await counted(key, 2);
    // Sent back, its call is left out: the text has the results.
    begin("Bye.");
    const input = [...answer.output, { role: "user" as const, content: "Thanks." }];
    await responses.create({ ...body, input: input as OpenAI.Responses.ResponseInput });
    t.same(
      asked[0]!.messages.map(({ role }) => role),
      ["assistant", "assistant", "user"],
    );
  }
});

t.test("Chat completions: annotations, whole and streamed", async (t) => {
  const body = {
    model: "plain",
    messages: [{ role: "user" as const, content: "newest version?" }],
    web_search_options: {},
  };
  const text = `Let me look.\n\n${cited}`;
  const annotations = [
    {
      type: "url_citation",
      url_citation: { ...citation, start_index: 20, end_index: text.length - 1 },
    },
  ];
  const { chat } = openai(await tenant("/chat"));
  begin(look, cited);
  const whole = await chat.completions.create(body);
  t.match(whole, {
    choices: exactly([{ finish_reason: "stop", message: { content: text, annotations } }]),
    usage: { total_tokens: 30 },
  });
  t.notOk(whole.choices[0]!.message.tool_calls);
  begin(look, cited);
  const said: string[] = [];
  const deltas: unknown[] = [];
  let usage: unknown;
  const streamed = { ...body, stream: true, stream_options: { include_usage: true } } as const;
  for await (const chunk of await chat.completions.create(streamed)) {
    said.push(chunk.choices[0]?.delta.content ?? "");
    if (chunk.choices[0] !== undefined) deltas.push(chunk.choices[0]);
    usage = chunk.usage ?? usage;
  }
  t.equal(said.join(""), text);
  t.match(deltas.at(-1), { delta: { annotations }, finish_reason: "stop" });
  t.notMatch(JSON.stringify(deltas), /tool_call/);
  t.match(usage, { total_tokens: 30 });
});

t.test("a call of the client's beside a search: it alone is delivered", async (t) => {
  const parameters = { type: "object", properties: {} };
  const called = { name: "weather", parameters };
  const both: Turn = [
    ["web_search", { query: "a" }],
    ["weather", {}],
  ];
  const { chat, responses } = openai(await tenant("/beside"));
  for (const stream of [false, true]) {
    begin(both);
    const asks = {
      model: "plain",
      messages: [{ role: "user" as const, content: "?" }],
      web_search_options: {},
      tools: [{ type: "function" as const, function: called }],
    };
    const { choices } = stream
      ? await chat.completions.stream(asks).finalChatCompletion()
      : await chat.completions.create(asks);
    t.match(choices, exactly([{ finish_reason: "tool_calls" }]));
    t.match(choices[0]!.message.tool_calls, exactly([{ function: { name: "weather" } }]));
    begin(both);
    const body = {
      model: "plain",
      input: "?",
      tools: [
        { type: "web_search" as const },
        { type: "function" as const, strict: false, ...called },
      ],
    };
    const { output } = stream
      ? await responses.stream(body).finalResponse()
      : await responses.create(body);
    t.match(output, exactly([{ type: "message" }, { type: "function_call", name: "weather" }]));
    t.equal(searches.length, 0);
  }
});

t.test("Gemini: grounding, whole and streamed", async (t) => {
  const key = await tenant("/gemini");
  const body = JSON.stringify({
    contents: [{ role: "user", parts: [{ text: "newest version?" }] }],
    tools: [{ googleSearch: {} }],
  });
  const at = `${url}/v1beta/models/plain`;
  const headers = { "x-goog-api-key": key, "content-type": "application/json" };
  const groundingMetadata = {
    webSearchQueries: ["newest version"],
    groundingChunks: [
      { web: { uri: page.url, title: "Releases" } },
      { web: { uri: "https://other.example/x" } },
    ],
    groundingSupports: [
      {
        segment: { startIndex: 18, endIndex: "Let me look.".length + cited.length - 1 },
        groundingChunkIndices: [0],
      },
    ],
  };
  begin(look, cited);
  const whole = (await (
    await fetch(`${at}:generateContent`, { method: "POST", headers, body })
  ).json()) as Json;
  t.match(whole, {
    candidates: exactly([
      {
        content: { parts: exactly([{ text: "Let me look." }, { text: cited }]) },
        finishReason: "STOP",
        groundingMetadata,
      },
    ]),
    usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 10, totalTokenCount: 30 },
  });
  begin(look, cited);
  const streamed = await (
    await fetch(`${at}:streamGenerateContent?alt=sse`, { method: "POST", headers, body })
  ).text();
  const chunks = streamed
    .split("\n\n")
    .filter((event) => event !== "")
    .map((event) => JSON.parse(event.slice("data: ".length)) as { candidates: readonly Json[] });
  const said = chunks.flatMap(({ candidates: [first] }) =>
    (first!["content"] as { parts: readonly { text?: string }[] }).parts.map(
      ({ text = "" }) => text,
    ),
  );
  t.equal(said.join(""), `Let me look.${cited}`);
  t.match(chunks.at(-1), {
    candidates: exactly([{ finishReason: "STOP", groundingMetadata }]),
    usageMetadata: { totalTokenCount: 30 },
  });
  t.notMatch(streamed, /functionCall/);
  t.match(asked[1]!.messages.at(-1), { role: "tool", content: /Version 9 is out\./ });
});

t.test("a failed search is a result, and the request goes on", async (t) => {
  const key = await tenant("/failing");
  for (const [status, code] of [
    [500, "unavailable"],
    [429, "too_many_requests"],
  ] as const) {
    begin(look, "I could not look.");
    searchStatus = status;
    const message = await sdk(key).messages.create(claudeCode);
    t.match(message.content[2], {
      type: "web_search_tool_result",
      content: { type: "web_search_tool_result_error", error_code: code },
    });
    t.match(message.content[3], { type: "text", text: "I could not look." });
    t.match(message.usage, { server_tool_use: { web_search_requests: 0 } });
  }
});

t.test("searches are bounded, by the client and by the operator; domains are kept", async (t) => {
  const key = await tenant("/bounded");
  const { messages } = sdk(key);
  begin(look, look, look, look, look, "Enough.");
  const all = await messages.create({ ...claudeCode, tool_choice: { type: "auto" } });
  t.equal(searches.length, 3);
  t.match(asked.at(-1), { tool_choice: "none" });
  t.match(all.content.at(-1), { content: { error_code: "max_uses_exceeded" } });
  begin(
    [
      ["web_search", { query: "a" }],
      ["web_search", { query: "b" }],
    ],
    "Enough.",
  );
  const one = await messages.create({
    ...claudeCode,
    tools: [{ ...tool, max_uses: 1, allowed_domains: ["example.org"] }],
  });
  t.match(searches, exactly([{ body: { query: "a", include_domains: ["example.org"] } }]));
  t.match(one.content[3], { content: exactly([{ url: page.url }]) });
  t.match(one.content[4], { content: { error_code: "max_uses_exceeded" } });
});

t.test("each turn is limited; a refused or failed turn ends the request", async (t) => {
  const key = await tenant("/few");
  begin(look, cited);
  const refused: unknown = await sdk(key)
    .messages.create(claudeCode)
    .catch((error: unknown) => error);
  t.match(refused, { status: 429 });
  t.equal(asked.length, 1);
  begin(look, "fail");
  const failing = sdk(await tenant("/turn-fails")).messages;
  const failed: unknown = await failing
    .stream(claudeCode)
    .finalMessage()
    .catch((error: unknown) => error);
  t.match(failed, { message: /no/ });
});

t.test("a client that leaves cancels its search", async (t) => {
  begin(look, cited);
  const left = new Promise<void>((resolve) => {
    onLeft = resolve;
  });
  const leaving = new AbortController();
  const stream = sdk(await tenant("/left")).messages.stream(claudeCode, { signal: leaving.signal });
  stream.on("error", () => {});
  const done = stream.finalMessage().catch((error: unknown) => error);
  await until(
    async () => searches.length,
    (count) => count === 1,
  );
  leaving.abort();
  await left;
  t.match(await done, { message: /abort/i });
  t.equal(asked.length, 1);
});

t.test("a request without a search passes as ever", async (t) => {
  const key = await tenant("/without");
  begin("Hello.");
  const { tools: _, tool_choice: __, ...plain } = claudeCode;
  const message = await sdk(key).messages.create(plain);
  t.match(message.content, exactly([{ type: "text", text: "Hello." }]));
  t.equal(searches.length, 0);
});

t.test("a hard cap ends an answer within a search, once, in each dialect", async (t) => {
  const messages = [{ role: "user", content: "hi" }];
  const asks = {
    chat: [
      "/v1/chat/completions",
      { messages, web_search_options: {} },
      '"finish_reason":"length"',
    ],
    messages: [
      "/v1/messages",
      { messages, max_tokens: 9000, tools: [{ type: "web_search_20250305", name: "web_search" }] },
      '"stop_reason":"max_tokens"',
    ],
    responses: [
      "/v1/responses",
      { input: "hi", tools: [{ type: "web_search" }] },
      'data: {"type":"response.incomplete"',
    ],
    google: [
      "/v1beta/models/plain:streamGenerateContent?alt=sse",
      { contents: [{ role: "user", parts: [{ text: "hi" }] }], tools: [{ googleSearch: {} }] },
      '"finishReason":"MAX_TOKENS"',
    ],
  } as const;
  for (const [name, [path, body, end]] of Object.entries(asks)) {
    // In a comment, in a field, or in both.
    const names = name === "responses" ? 2 : 1;
    turns = [endless];
    const before = { asked: asked.length, searches: searches.length };
    const response = await fetch(url + path, {
      method: "POST",
      headers: {
        authorization: `Bearer ${masterKey}`,
        "content-type": "application/json",
        "x-sluice-user-path": `/capped/${name}`,
      },
      body: JSON.stringify({ model: "plain", stream: true, ...body }),
    });
    const text = await response.text();
    t.equal(text.split(end).length, 2, `${name}: ${text}`);
    t.notMatch(text, '"error":{', name);
    t.equal(text.match(/cut at a hard cap: the \d+s token limit of/g)?.length, names, name);
    t.equal(asked.length, before.asked + 1, "no other turn");
    t.equal(searches.length, before.searches);
  }
});
