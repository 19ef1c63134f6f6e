/**
 * The SDKs at a hard cap, through real processes: an answer that the cap ends is a normal answer
 * that stopped at its maximum of output, in each dialect, native, translated and passed unchanged.
 */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { streamText } from "ai";
import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";
import t, { type Test } from "tap";
import { agesSeconds } from "../../support/ages.js";
import { admin, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { masterKey } from "../../support/processes/sdk-site.js";
import { startEndlessStreams, token } from "../../support/providers/endless-streams.js";

globalThis.AI_SDK_LOG_WARNINGS = false;
const provider = await startEndlessStreams();
t.teardown(() => provider.close());
const site = makeSite(
  t,
  `
server: { passthrough: on }
providers:
  openai: { type: openai, base_url: "${provider.baseUrl}", api_key: a, models: [gpt-test], retries: 0 }
  chatty: { type: openai, base_url: "${provider.baseUrl}", api_key: a, models: [llama-test], operations: [chat_completions], retries: 0 }
  claude: { type: anthropic, base_url: "${provider.baseUrl}", api_key: a, models: [claude-test], retries: 0 }
  gemini: { type: gemini, base_url: "${provider.baseUrl}/openai", api_key: a, models: [gemini-test], retries: 0 }
`,
  { SLUICE_MASTER_KEY: masterKey },
);
await site.startDaemon();
const { ready: url } = await site.startProxy();
const bearer = { authorization: `Bearer ${masterKey}` };

const maxTokens = 1000;
/** What the end of a small cap may be passed by: a chunk, and what is read at a time. */
const overshoot = 1000;
let paths = 0;

/** A path of its own with a hard cap. */
async function cappedPath(): Promise<Record<string, string>> {
  const path = `/capped${++paths}`;
  const { status, body } = await admin(
    url,
    "PUT /rate-limits",
    {
      user_path: path,
      limit_key: { period_seconds: agesSeconds },
      max_tokens: maxTokens,
      hold: "hard",
    },
    bearer,
  );
  if (status !== 200) throw new Error(`the rule was answered with ${JSON.stringify(body)}`);
  return { "x-sluice-user-path": path };
}

/** The tokens that the path has used, once its request is settled. */
async function used(headers: Record<string, string>): Promise<number> {
  const path = headers["x-sluice-user-path"];
  const rules = await until(
    async () =>
      (await admin(url, "GET /rate-limits", undefined, bearer)).body.rate_limits.filter(
        ({ subject }) => subject === path,
      ),
    ([rule]) => rule !== undefined && rule.tokens_used > 0,
  );
  return rules[0]!.tokens_used;
}

/** Hardly less than the cap is used, and hardly more. */
async function nearCap(t: Test, headers: Record<string, string>): Promise<void> {
  const tokens = await used(headers);
  t.ok(tokens > 0.95 * maxTokens && tokens <= maxTokens + overshoot, `${tokens} are used`);
  const call = provider.calls.at(-1)!;
  await until(
    () => Promise.resolve(call.isLeft),
    (isLeft) => isLeft,
  );
  t.pass("the provider's work is cancelled");
  await isCutBy(t, headers);
}

/** Its record says which cap has ended the path's answer. */
async function isCutBy(t: Test, headers: Record<string, string>): Promise<void> {
  const path = headers["x-sluice-user-path"]!;
  const { body } = await admin(url, `GET /usage/records?user_path=${path}`, undefined, bearer);
  const [record] = body["records"] as readonly { readonly cut_by: string }[];
  t.match(
    record?.cut_by,
    new RegExp(`^the .* token limit of ${path}$`),
    "its record says which cap",
  );
}

const isOfTokens = (text: string): boolean =>
  text.length > maxTokens && text === token.repeat(text.length / token.length);

const messages = [{ role: "user" as const, content: "hi" }];
const openaiAt = (headers: Record<string, string>, path = "/v1") =>
  new OpenAI({ baseURL: url + path, apiKey: masterKey, maxRetries: 0, defaultHeaders: headers });
const anthropicAt = (headers: Record<string, string>, path = "") =>
  new Anthropic({ baseURL: url + path, apiKey: masterKey, maxRetries: 0, defaultHeaders: headers });

t.test("a chat completion stops with the reason length, and the usage", async (t) => {
  for (const model of ["gpt-test", "claude-test", "gemini-test"]) {
    const headers = await cappedPath();
    const stream = openaiAt(headers).chat.completions.stream({
      model,
      messages,
      stream_options: { include_usage: true },
    });
    const { choices, usage } = await stream.finalChatCompletion();
    t.equal(choices[0]?.finish_reason, "length", model);
    t.ok(isOfTokens(choices[0]?.message.content ?? ""), model);
    t.equal(usage?.total_tokens, await used(headers), model);
    await nearCap(t, headers);
  }
});

t.test("a legacy completion stops likewise", async (t) => {
  const headers = await cappedPath();
  const stream = await openaiAt(headers).completions.create({
    model: "gpt-test",
    prompt: "hi",
    stream: true,
  });
  let finish: string | null = null;
  for await (const { choices } of stream) finish = choices[0]?.finish_reason ?? finish;
  t.equal(finish, "length");
  await nearCap(t, headers);
});

t.test("a message stops with max_tokens, also while it thinks", async (t) => {
  for (const model of ["claude-test", "gpt-test"])
    for (const kind of ["text", "thinking"] as const) {
      provider.kind = kind;
      const headers = await cappedPath();
      const stream = anthropicAt(headers).messages.stream({ model, max_tokens: 32_000, messages });
      const message = await stream.finalMessage();
      t.equal(message.stop_reason, "max_tokens", `${model}, ${kind}`);
      if (model === "claude-test" || kind === "text") {
        const [block] = message.content;
        t.equal(block?.type, kind);
        if (block?.type === "thinking") t.equal(block.signature, "unsigned");
      }
      t.ok(message.usage.output_tokens > maxTokens / 2);
      await nearCap(t, headers);
    }
  provider.kind = "text";
});

t.test("a response stops as incomplete, over HTTP and over a WebSocket", async (t) => {
  for (const model of ["gpt-test", "llama-test", "claude-test"]) {
    const headers = await cappedPath();
    const stream = openaiAt(headers).responses.stream({ model, input: "hi" });
    const response = await stream.finalResponse();
    t.equal(response.status, "incomplete", model);
    t.equal(response.incomplete_details?.reason, "max_output_tokens");
    t.ok(isOfTokens(response.output_text), model);
    await nearCap(t, headers);
  }
  const headers = await cappedPath();
  const socket = new ResponsesWS(openaiAt(headers), { headers });
  const ended = new Promise<unknown>((resolve, reject) => {
    socket.on("event", (event) => {
      if (event.type === "response.incomplete" || event.type === "error") resolve(event);
    });
    socket.on("error", reject);
  });
  socket.send({ type: "response.create", model: "gpt-test", input: "hi" });
  t.match(await ended, {
    type: "response.incomplete",
    response: { incomplete_details: { message: /cut at a hard cap: .*token limit/ } },
  });
  socket.close();
  await nearCap(t, headers);
});

t.test("Gemini's API stops with MAX_TOKENS, and names the cap", async (t) => {
  for (const model of ["gemini-test", "gpt-test"]) {
    const headers = await cappedPath();
    const response = await fetch(`${url}/v1beta/models/${model}:streamGenerateContent?alt=sse`, {
      method: "POST",
      headers: { ...headers, "x-goog-api-key": masterKey, "content-type": "application/json" },
      body: JSON.stringify({ contents: [{ role: "user", parts: [{ text: "hi" }] }] }),
    });
    t.equal(response.headers.get("x-sluice-hard-cap"), "true");
    const last = JSON.parse((await response.text()).trim().split("\n\n").at(-1)!.slice(5));
    t.match(last, {
      candidates: { 0: { finishReason: "MAX_TOKENS", finishMessage: /cut at a hard cap: / } },
    });
    t.equal(last.usageMetadata.totalTokenCount, await used(headers), model);
    await nearCap(t, headers);
  }
});

t.test("what passes unchanged stops likewise", async (t) => {
  const chat = await cappedPath();
  const stream = openaiAt(chat, "/p/openai").chat.completions.stream({
    model: "gpt-test",
    messages,
  });
  t.equal((await stream.finalChatCompletion()).choices[0]?.finish_reason, "length");
  await nearCap(t, chat);
  const message = await cappedPath();
  const native = anthropicAt(message, "/p/claude").messages.stream({
    model: "claude-test",
    max_tokens: 32_000,
    messages,
  });
  t.equal((await native.finalMessage()).stop_reason, "max_tokens");
  await nearCap(t, message);
});

/** The tokens that a client gets of a stream in each dialect, native and translated. */
const asks: Readonly<Record<string, (headers: Record<string, string>) => Promise<string>>> = {
  async chat(headers) {
    const stream = openaiAt(headers).chat.completions.stream({ model: "gpt-test", messages });
    const [choice] = (await stream.finalChatCompletion()).choices;
    t.equal(choice?.finish_reason, "length");
    return choice?.message.content ?? "";
  },
  async "chat from messages"(headers) {
    const stream = openaiAt(headers).chat.completions.stream({ model: "claude-test", messages });
    return (await stream.finalChatCompletion()).choices[0]?.message.content ?? "";
  },
  async messages(headers) {
    const asked = { model: "claude-test", max_tokens: 32_000, messages };
    const message = await anthropicAt(headers).messages.stream(asked).finalMessage();
    t.equal(message.stop_reason, "max_tokens");
    return message.content[0]?.type === "text" ? message.content[0].text : "";
  },
  async responses(headers) {
    const stream = openaiAt(headers).responses.stream({ model: "gpt-test", input: "hi" });
    const response = await stream.finalResponse();
    t.equal(response.status, "incomplete");
    return response.output_text;
  },
  async gemini(headers) {
    const response = await fetch(`${url}/v1beta/models/gemini-test:streamGenerateContent?alt=sse`, {
      method: "POST",
      headers: { ...headers, "x-goog-api-key": masterKey, "content-type": "application/json" },
      body: JSON.stringify({ contents: [{ role: "user", parts: [{ text: "hi" }] }] }),
    });
    const text = await response.text();
    t.match(text, "MAX_TOKENS");
    return [...text.matchAll(/"text":"(\w+)"/g)].map(([, part]) => part).join("");
  },
  async passthrough(headers) {
    const openai = openaiAt(headers, "/p/openai");
    const stream = openai.chat.completions.stream({ model: "gpt-test", messages });
    return (await stream.finalChatCompletion()).choices[0]?.message.content ?? "";
  },
};

t.test("a cap holds however the provider sends its stream, in each dialect", async (t) => {
  t.teardown(() => Object.assign(provider, { framing: "chunked", atOnce: 4 }));
  provider.atOnce = 2000;
  for (const framing of ["chunked", "length", "close", "gzip"] as const)
    for (const [name, ask] of Object.entries(asks)) {
      // It passes as it is, so it isn't read.
      if (name === "passthrough" && framing === "gzip") continue;
      provider.framing = framing;
      const headers = await cappedPath();
      const tokens = (await ask(headers)).length / token.length;
      t.ok(tokens > 0 && tokens <= maxTokens + 8, `${name}, ${framing}: the client gets ${tokens}`);
    }
});

t.test("the AI SDK reports the reason length", async (t) => {
  const headers = await cappedPath();
  const options = { apiKey: masterKey, headers };
  const openai = createOpenAI({ baseURL: `${url}/v1`, ...options });
  const models = [openai.chat("gpt-test"), openai.responses("gpt-test")];
  const claude = createAnthropic({ baseURL: `${url}/v1`, ...options });
  for (const model of [...models, claude("claude-test")]) {
    const path = await cappedPath();
    const result = streamText({ model, prompt: "hi", maxRetries: 0, headers: path });
    t.equal(await result.finishReason, "length", model.provider);
    await nearCap(t, path);
  }
});

t.test("a tool's call that the cap cuts isn't handed out as complete", async (t) => {
  provider.kind = "call";
  t.teardown(() => {
    provider.kind = "text";
  });
  const tools = [{ type: "function" as const, function: { name: "search", parameters: {} } }];
  const chat = await cappedPath();
  const stream = openaiAt(chat).chat.completions.stream({ model: "gpt-test", messages, tools });
  t.equal((await stream.finalChatCompletion()).choices[0]?.finish_reason, "length");
  const message = await cappedPath();
  const stopped: string[] = [];
  const native = anthropicAt(message).messages.stream({
    model: "claude-test",
    max_tokens: 32_000,
    messages,
    tools: [{ name: "search", input_schema: { type: "object" } }],
  });
  native.on("contentBlock", ({ type }) => void stopped.push(type));
  t.equal((await native.finalMessage()).stop_reason, "max_tokens");
  t.same(stopped, [], "the block of the call doesn't stop");
  const items: string[] = [];
  const response = openaiAt(await cappedPath()).responses.stream({
    model: "gpt-test",
    input: "hi",
    tools: [{ type: "function", name: "search", parameters: {}, strict: false }],
  });
  response.on("event", ({ type }) => {
    if (type === "response.output_item.done") items.push(type);
  });
  t.match(await response.finalResponse(), { status: "incomplete", output: { length: 0 } });
  t.same(items, []);
});

t.test("an answer that isn't streamed gets a maximum that fits", async (t) => {
  const asks: readonly (readonly [
    string,
    (headers: Record<string, string>) => Promise<unknown>,
  ])[] = [
    [
      "max_completion_tokens",
      (headers) =>
        openaiAt(headers).chat.completions.create({
          model: "gpt-test",
          messages,
          max_completion_tokens: 30_000,
        }),
    ],
    [
      "max_tokens",
      (headers) => openaiAt(headers).chat.completions.create({ model: "claude-test", messages }),
    ],
    [
      "max_output_tokens",
      (headers) => openaiAt(headers).responses.create({ model: "gpt-test", input: "hi" }),
    ],
    [
      "max_tokens",
      (headers) =>
        anthropicAt(headers, "/p/claude").messages.create({
          model: "claude-test",
          max_tokens: 20_000,
          messages,
        }),
    ],
  ];
  for (const [field, ask] of asks) {
    const headers = await cappedPath();
    await ask(headers);
    const { body, tokens } = provider.calls.at(-1)!;
    t.equal(body[field], tokens);
    t.ok(tokens >= 64 && tokens <= maxTokens, `${field} ${tokens}`);
    t.equal(await used(headers), tokens + 10);
    await isCutBy(t, headers);
  }
  const headers = await cappedPath();
  await openaiAt(headers).chat.completions.create({ model: "gpt-test", messages, max_tokens: 30 });
  await used(headers);
  const path = headers["x-sluice-user-path"]!;
  const { body } = await admin(url, `GET /usage/records?user_path=${path}`, undefined, bearer);
  const [record] = body["records"] as readonly { readonly cut_by: string | null }[];
  t.equal(record?.cut_by, null, "its own maximum has ended it");
});
