/**
 * Gemini's own API at `/v1beta`, as its clients speak it: real processes, and requests as
 * `@google/genai` sends them.
 */
import type { IncomingHttpHeaders } from "node:http";
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { admin, until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";
import { masterKey } from "../../support/processes/sdk-site.js";
import { startModelApi } from "../../support/providers/model-api.js";
import { reply, replyEvents } from "../../support/providers/model-api-call.js";

const api = await startModelApi();
t.teardown(() => api.close());
const site = makeSite(
  t,
  `
providers:
  gemini: { type: gemini, base_url: "${api.baseUrl}/openai", api_key: gemini-secret, models: [gemini-test, gemini-free], retries: 0 }
  openai: { type: openai, base_url: "${api.baseUrl}", api_key: other, models: [gpt-test], retries: 0 }
virtual_models:
  smart: { targets: [{ model: gemini/gemini-test }] }
rate_limits:
  user_paths: [{ path: /, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1000, max_tokens: 1000000 }] }]
  models: [{ model: gemini/gemini-test, limits: [{ period_seconds: ${agesSeconds}, max_requests: 3 }] }]
`,
  { SLUICE_MASTER_KEY: masterKey },
);
await site.startDaemon();
const { ready: url } = await site.startProxy();

interface Seen {
  what: string;
  headers: IncomingHttpHeaders;
  body: string;
}

const usageMetadata = {
  promptTokenCount: 4,
  candidatesTokenCount: 3,
  thoughtsTokenCount: 2,
  totalTokenCount: 9,
};
const candidates = [{ content: { role: "model", parts: [{ text: "hi" }] }, finishReason: "STOP" }];

function answering(answer: unknown): Seen {
  const seen: Seen = { what: "", headers: {}, body: "" };
  api.intercept = (request, response) => {
    seen.what = `${request.method} ${request.url}`;
    seen.headers = request.headers;
    request.on("data", (piece: Buffer) => (seen.body += piece.toString()));
    request.on("end", () =>
      typeof answer === "string" ? replyEvents(response, [answer]) : reply(response, 200, answer),
    );
  };
  return seen;
}

const contents = [{ role: "user", parts: [{ text: "hi" }] }];
const key = { "x-goog-api-key": masterKey };

async function post(path: string, body: unknown, headers: Record<string, string> = key) {
  const response = await fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  return {
    status: response.status,
    text,
    json: text.startsWith("{") ? JSON.parse(text) : null,
    dropped: response.headers.get("x-sluice-dropped"),
    type: response.headers.get("content-type"),
  };
}

/** Once so many requests are counted; otherwise at once. */
async function tokensUsed(requests?: number): Promise<{ requests: number; tokens: number }> {
  const bearer = { authorization: `Bearer ${masterKey}` };
  const rules = await until(
    async () => (await admin(url, "GET /rate-limits", undefined, bearer)).body.rate_limits,
    (now) =>
      now.some(
        ({ subject, requests_used }) =>
          subject === "/" && requests_used === (requests ?? requests_used),
      ),
  );
  const { requests_used, tokens_used } = rules.find(({ subject }) => subject === "/")!;
  return { requests: requests_used, tokens: tokens_used };
}

t.test(
  "contents are generated, whole and as a stream, by the provider's own key and under the limits",
  async (t) => {
    const whole = answering({ candidates, usageMetadata });
    const answer = await post("/v1beta/models/gemini-test:generateContent", { contents });
    t.same(answer.json, { candidates, usageMetadata });
    t.equal(whole.what, "POST /v1/models/gemini-test:generateContent");
    t.same(JSON.parse(whole.body), { contents });
    t.equal(whole.headers["x-goog-api-key"], "gemini-secret");
    t.equal(whole.headers.authorization, undefined);
    const events = [{ candidates }, { candidates, usageMetadata }];
    const text = events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join("");
    const stream = answering(text);
    const path = `/v1beta/models/smart:streamGenerateContent?alt=sse&key=${masterKey}`;
    t.equal((await post(path, { contents }, {})).text, text);
    t.equal(stream.what, "POST /v1/models/gemini-test:streamGenerateContent?alt=sse");
    const embedded = answering({ embeddings: [{ values: [1] }] });
    const requests = [{ model: "models/smart", content: contents[0] }];
    t.equal((await post("/v1beta/models/smart:batchEmbedContents", { requests })).status, 200);
    t.match(JSON.parse(embedded.body), exactly({ requests: [{ model: "models/gemini-test" }] }));
    t.ok((await tokensUsed(3)).tokens > 18, "nine each, and an estimate of what was embedded");
    const refused = await post("/v1beta/models/smart:generateContent", { contents });
    t.match(refused.json, {
      error: { code: 429, status: "RESOURCE_EXHAUSTED", message: /model gemini\/gemini-test/ },
    });
  },
);

t.test("no parameter of a query keeps Google from reporting usage", async (t) => {
  const path = "/v1beta/models/gemini-free:generateContent";
  const native = "models/gemini-free:generateContent";
  for (const query of ["fields=candidates", "%24fields=candidates", "alt=proto&callback=f"]) {
    const { tokens, requests } = await tokensUsed();
    const sent = answering({ candidates, usageMetadata });
    t.equal((await post(`${path}?${query}`, { contents })).status, 200, query);
    t.equal(sent.what, `POST /v1/${native}`, query);
    t.equal((await tokensUsed(requests + 1)).tokens, tokens + 9, query);
    const passed = answering({ candidates });
    const refused = await post(`/p/gemini/v1beta/${native}?${query}`, { contents });
    t.equal(refused.status, 400, query);
    t.match(refused.text, /query holds .*(?:fields|alt)/, query);
    t.equal(passed.what, "", "nothing is sent");
  }
  const chat = answering({ choices: [{ message: { content: "hi" } }], usage: { total_tokens: 9 } });
  const messages = [{ role: "user", content: "hi" }];
  await post("/v1/chat/completions?fields=choices&alt=proto&a=1", { model: "gpt-test", messages });
  t.equal(chat.what, "POST /v1/chat/completions?a=1");
});

t.test("tokens are counted, models listed, and errors have Google's form", async (t) => {
  const counted = answering({ totalTokens: 3 });
  t.same((await post("/v1beta/models/gemini-test:countTokens", { contents })).json, {
    totalTokens: 3,
  });
  t.equal(counted.what, "POST /v1/models/gemini-test:countTokens");
  const translated = answering({ object: "response.input_tokens", input_tokens: 7 });
  const generateContentRequest = { contents, systemInstruction: { parts: [{ text: "be brief" }] } };
  t.same(
    (await post("/v1beta/models/gpt-test:countTokens", { generateContentRequest })).json,
    { totalTokens: 7 },
    "by a provider of another dialect",
  );
  t.equal(translated.what, "POST /v1/responses/input_tokens");
  t.match(JSON.parse(translated.body).input, exactly([{ role: "system" }, { role: "user" }]));
  api.intercept = (_request, response) => reply(response, 404, { error: { message: "no" } });
  t.match(
    (await post("/v1beta/models/gpt-test:countTokens", { contents })).json,
    { totalTokens: /^\d+$/ },
    "estimated",
  );
  const listed = await (await fetch(`${url}/v1beta/models`, { headers: key })).json();
  const names = (listed as { readonly models: readonly { readonly name: string }[] }).models;
  t.match(
    names.slice(0, 2),
    exactly([{ name: "models/smart" }, { name: "models/gemini/gemini-test" }]),
  );
  const one = await (await fetch(`${url}/v1beta/models/gemini-test`, { headers: key })).json();
  t.match(one, { name: "models/gemini-test" });
  for (const [path, body, headers, status, name] of [
    ["/v1beta/models/nope:generateContent", { contents }, key, 404, "NOT_FOUND"],
    ["/v1beta/models/gemini-test:generateContent", {}, key, 400, "INVALID_ARGUMENT"],
    ["/v1beta/models/gpt-test:generateContent", { contents: [1] }, key, 400, "INVALID_ARGUMENT"],
    ["/v1beta/models/gpt-test:embedContent", { content: {} }, key, 400, "INVALID_ARGUMENT"],
    ["/v1beta/models/gemini-test:generateContent", { contents }, {}, 401, "UNAUTHENTICATED"],
    ["/v1beta/cachedContents", {}, key, 404, "NOT_FOUND"],
  ] as const) {
    const { json } = await post(path, body, headers as Record<string, string>);
    t.match(json, { error: { code: status, status: name } }, `${path} ${status}`);
  }
});

t.test("contents are generated by a model of another provider", async (t) => {
  const usage = { prompt_tokens: 4, completion_tokens: 5, total_tokens: 9 };
  const call = { id: "a", type: "function", function: { name: "f", arguments: '{"n":1}' } };
  const message = { role: "assistant", content: null, tool_calls: [call] };
  const whole = answering({
    id: "c-1",
    choices: [{ index: 0, message, finish_reason: "tool_calls" }],
    usage,
  });
  const tools = [{ functionDeclarations: [{ name: "f", parameters: { type: "OBJECT" } }] }];
  const asked = { contents, tools, safetySettings: [{}] };
  const answer = await post("/v1beta/models/gpt-test:generateContent", asked);
  t.strictSame(answer.json, {
    candidates: [
      {
        content: {
          role: "model",
          parts: [{ functionCall: { id: "a", name: "f", args: { n: 1 } } }],
        },
        finishReason: "STOP",
        index: 0,
      },
    ],
    usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 5, totalTokenCount: 9 },
    modelVersion: "gpt-test",
    responseId: "c-1",
  });
  t.equal(whole.what, "POST /v1/chat/completions");
  t.equal(whole.headers.authorization, "Bearer other");
  t.strictSame(JSON.parse(whole.body), {
    messages: [{ role: "user", content: "hi" }],
    tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
    model: "gpt-test",
  });
  t.equal(answer.dropped, "safetySettings");
  const chunks = [
    { id: "c-2", choices: [{ index: 0, delta: { content: "hello" } }] },
    { id: "c-2", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    { id: "c-2", choices: [], usage },
  ];
  const events = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
  answering(`${events}data: [DONE]\n\n`);
  const before = await tokensUsed();
  const path = "/v1beta/models/gpt-test:streamGenerateContent?alt=sse";
  const streamed = (await post(path, { contents })).text.split("\n\n").filter(Boolean);
  t.match(
    streamed.map((event) => JSON.parse(event.replace("data: ", ""))),
    exactly([
      { candidates: [{ content: { parts: [{ text: "hello" }] } }] },
      { candidates: [{ finishReason: "STOP" }], usageMetadata: { totalTokenCount: 9 } },
    ]),
  );
  t.equal((await tokensUsed(before.requests + 1)).tokens, before.tokens + 9);
  answering(`${events}data: [DONE]\n\n`);
  const array = await post("/v1beta/models/gpt-test:streamGenerateContent", { contents });
  t.match(array.type, "application/json");
  t.match(
    JSON.parse(array.text),
    exactly([{ candidates: [{}] }, { usageMetadata: { totalTokenCount: 9 } }]),
  );
  t.equal((await tokensUsed(before.requests + 2)).tokens, before.tokens + 18);
  answering(`${events.split("\n\n")[0]}\n\ndata: {"error":{"message":"broken"}}\n\n`);
  t.match(
    JSON.parse((await post("/v1beta/models/gpt-test:streamGenerateContent", asked)).text),
    exactly([{ candidates: [{}] }, { error: { message: "broken" } }]),
  );
  api.intercept = (_request, response) =>
    reply(response, 503, { error: { message: "too busy", type: "server_error" } });
  t.match((await post("/v1beta/models/gpt-test:generateContent", { contents })).json, {
    error: { code: 503, status: "UNAVAILABLE", message: /too busy/ },
  });
});
