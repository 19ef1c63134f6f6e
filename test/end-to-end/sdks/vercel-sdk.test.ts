/**
 * Vercel's AI SDK as a client of real processes: through chat completions, responses and
 * messages.
 */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import {
  APICallError,
  embed,
  experimental_generateSpeech as generateSpeech,
  generateText,
  jsonSchema,
  RetryError,
  stepCountIs,
  streamText,
  tool,
  experimental_transcribe as transcribe,
} from "ai";
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { masterKey, startSdkSite } from "../../support/processes/sdk-site.js";
import { speech, vector } from "../../support/providers/model-api-answers.js";
import { digestOf } from "../../support/providers/model-api-call.js";
import { greeting, report, thought, tokenCounts } from "../../support/providers/scene.js";

globalThis.AI_SDK_LOG_WARNINGS = false;
const { api, url, limit, counts } = await startSdkSite(t);
let attempts = 0;
const counting: typeof fetch = (...request) => {
  attempts++;
  return fetch(...request);
};
const openai = (path = "/", apiKey = masterKey) =>
  createOpenAI({
    baseURL: `${url}/v1`,
    apiKey,
    fetch: counting,
    headers: { "x-sluice-user-path": path },
  });
const anthropic = (path = "/") =>
  createAnthropic({
    baseURL: `${url}/v1`,
    apiKey: masterKey,
    fetch: counting,
    headers: { "x-sluice-user-path": path },
  });
const ways = [
  { name: "chat completions", path: "/chat/completions", model: openai().chat("gpt-test") },
  { name: "responses", path: "/responses", model: openai()("gpt-test") },
  { name: "messages", path: "/messages", model: anthropic()("claude-test") },
] as const;
const prompt = "hi";
const cities: string[] = [];
const tools = {
  get_weather: tool({
    inputSchema: jsonSchema<{ city: string }>({
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
    }),
    execute: ({ city }) => {
      cities.push(city);
      return { celsius: 14 };
    },
  }),
};

for (const { name, path, model } of ways) {
  t.test(`${name}: a text, complete and streamed`, async (t) => {
    const added = await counts(async () => {
      const result = await generateText({ model, prompt, maxRetries: 0 });
      t.same(
        [result.text, result.finishReason, result.usage.totalTokens],
        [greeting, "stop", tokenCounts.total],
      );
      t.equal(api.last().path, path);
      const streamed = streamText({ model, prompt, maxRetries: 0 });
      const pieces: string[] = [];
      for await (const piece of streamed.textStream) pieces.push(piece);
      t.ok(pieces.length > 1);
      t.equal(pieces.join(""), greeting);
      t.equal((await streamed.usage).totalTokens, tokenCounts.total);
    });
    t.same(added, { requests: 2, tokens: 2 * tokenCounts.total });
  });

  t.test(`${name}: tools are called, and their results sent, until there is a text`, async (t) => {
    cities.length = 0;
    const result = await generateText({
      model,
      prompt,
      tools,
      stopWhen: stepCountIs(3),
      maxRetries: 0,
    });
    t.equal(result.text, report);
    t.equal(result.steps.length, 2);
    const streamed = streamText({ model, prompt, tools, stopWhen: stepCountIs(3), maxRetries: 0 });
    t.equal(await streamed.text, report);
    t.same(cities, ["Kyiv", "Oslo", "Kyiv", "Oslo"]);
  });
}

t.test("thinking arrives with the text", async (t) => {
  const { text, reasoningText } = await generateText({
    model: anthropic()("claude-test"),
    prompt,
    maxRetries: 0,
    providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } },
  });
  t.same([text, reasoningText], [greeting, thought]);
});

t.test("embeddings, speech and recordings work", async (t) => {
  t.same(
    (await embed({ model: openai().embedding("openai/gpt-test"), value: "hi", maxRetries: 0 }))
      .embedding,
    vector,
  );
  t.ok(
    Buffer.from(
      (await generateSpeech({ model: openai().speech("gpt-test"), text: "hi", maxRetries: 0 }))
        .audio.uint8Array,
    ).equals(speech),
  );
  const { text } = await transcribe({
    model: openai().transcription("gpt-test"),
    audio: speech,
    maxRetries: 0,
  });
  t.match(text, digestOf(speech));
});

t.test(
  "the SDK's own retries wait out a 429; a wait of more than a minute is marked as not to be retried",
  async (t) => {
    await Promise.all([
      limit("/slow", { period_seconds: 1, max_requests: 1 }),
      limit("/spent", { period_seconds: agesSeconds, max_requests: 1 }),
    ]);
    const spent = openai("/spent")("gpt-test");
    await generateText({ model: spent, prompt, maxRetries: 0 });
    const error = await generateText({ model: spent, prompt, maxRetries: 0 }).catch(
      (thrown: unknown) => thrown,
    );
    t.ok(APICallError.isInstance(error));
    t.match(error, {
      statusCode: 429,
      message: "rate limit exceeded for /spent: 3000000000s request limit of 1 reached",
      responseHeaders: { "x-should-retry": "false", "retry-after": /^\d{3,}$/ },
    });
    const slow = openai("/slow").chat("gpt-test");
    // On a slow machine each of the three may fall into a window of its own: once more, then.
    do {
      const before = api.calls.length;
      attempts = 0;
      const answers = await Promise.all([
        generateText({ model: slow, prompt, maxRetries: 4 }),
        generateText({ model: slow, prompt, maxRetries: 4 }),
        streamText({ model: anthropic("/slow")("claude-test"), prompt, maxRetries: 4 }).text,
      ]);
      t.same([answers[0].text, answers[1].text, answers[2]], [greeting, greeting, greeting]);
      t.equal(api.calls.length, before + 3, "all are answered in the end");
    } while (attempts === 3);
    t.ok(attempts > 3 && attempts <= 6, `after ${attempts} attempts, each when its time had come`);
  },
);

t.test("failures are the SDK's own errors", async (t) => {
  const wrongs = [
    {
      model: openai("/", "wrong").chat("gpt-test"),
      statusCode: 401,
      message: "authentication failed",
    },
    {
      model: openai()("nope"),
      statusCode: 404,
      message: 'the model "nope" does not exist: GET /v1/models lists those that do',
    },
    {
      model: anthropic()("nope"),
      statusCode: 404,
      message: 'the model "nope" does not exist: GET /v1/models lists those that do',
    },
  ];
  for (const { model, statusCode, message } of wrongs) {
    const error = await generateText({ model, prompt, maxRetries: 2 }).catch(
      (thrown: unknown) => thrown,
    );
    t.ok(APICallError.isInstance(error) && !RetryError.isInstance(error), "it isn't retried");
    t.match(error, { statusCode, message });
  }
});
