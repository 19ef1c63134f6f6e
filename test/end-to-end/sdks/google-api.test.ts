/**
 * Gemini's own API at `/v1beta`, as its clients speak it: real processes, and requests as
 * `@google/genai` sends them.
 */
import type { IncomingHttpHeaders } from "node:http";
import t from "tap";
import { admin, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { ageSeconds, masterKey } from "../../support/processes/sdk-site.js";
import { startModelApi } from "../../support/providers/model-api.js";
import { reply, replyEvents } from "../../support/providers/model-api-call.js";

const api = await startModelApi();
t.teardown(() => api.close());
const site = makeSite(
  t,
  `
providers:
  gemini: { type: gemini, base_url: "${api.baseUrl}/openai", api_key: gemini-secret, models: [gemini-test], retries: 0 }
  openai: { type: openai, base_url: "${api.baseUrl}", api_key: other, models: [gpt-test], retries: 0 }
virtual_models:
  smart: { targets: [{ model: gemini/gemini-test }] }
rate_limits:
  user_paths: [{ path: /, limits: [{ period_seconds: ${ageSeconds}, max_requests: 1000, max_tokens: 1000000 }] }]
  models: [{ model: gemini/gemini-test, limits: [{ period_seconds: ${ageSeconds}, max_requests: 3 }] }]
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
  return { status: response.status, text, json: text.startsWith("{") ? JSON.parse(text) : null };
}

async function tokensUsed(requests: number): Promise<number> {
  const bearer = { authorization: `Bearer ${masterKey}` };
  const rules = await until(
    async () => (await admin(url, "GET /rate-limits", undefined, bearer)).body.rate_limits,
    (now) =>
      now.some(({ subject, requests_used }) => subject === "/" && requests_used === requests),
  );
  return rules.find(({ subject }) => subject === "/")!.tokens_used;
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
    t.match(JSON.parse(embedded.body), { requests: [{ model: "models/gemini-test" }] });
    t.ok((await tokensUsed(3)) > 18, "nine each, and an estimate of what was embedded");
    const refused = await post("/v1beta/models/smart:generateContent", { contents });
    t.match(refused.json, {
      error: { code: 429, status: "RESOURCE_EXHAUSTED", message: /model gemini\/gemini-test/ },
    });
  },
);

t.test("tokens are counted, models listed, and errors told in Google's form", async (t) => {
  const counted = answering({ totalTokens: 3 });
  t.same((await post("/v1beta/models/gemini-test:countTokens", { contents })).json, {
    totalTokens: 3,
  });
  t.equal(counted.what, "POST /v1/models/gemini-test:countTokens");
  t.match((await post("/v1beta/models/gpt-test:countTokens", { contents })).json, {
    totalTokens: /^\d+$/,
  });
  const listed = await (await fetch(`${url}/v1beta/models`, { headers: key })).json();
  const names = (listed as { readonly models: readonly { readonly name: string }[] }).models;
  t.match(names, [{ name: "models/smart" }, { name: "models/gemini/gemini-test" }]);
  const one = await (await fetch(`${url}/v1beta/models/gemini-test`, { headers: key })).json();
  t.match(one, { name: "models/gemini-test" });
  for (const [path, body, headers, status, name] of [
    ["/v1beta/models/nope:generateContent", { contents }, key, 404, "NOT_FOUND"],
    ["/v1beta/models/gemini-test:generateContent", {}, key, 400, "INVALID_ARGUMENT"],
    ["/v1beta/models/gpt-test:generateContent", { contents }, key, 400, "INVALID_ARGUMENT"],
    ["/v1beta/models/gemini-test:generateContent", { contents }, {}, 401, "UNAUTHENTICATED"],
    ["/v1beta/cachedContents", {}, key, 404, "NOT_FOUND"],
  ] as const) {
    const { json } = await post(path, body, headers as Record<string, string>);
    t.match(json, { error: { code: status, status: name } }, `${path} ${status}`);
  }
});
