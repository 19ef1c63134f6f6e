/**
 * The SDKs as clients of real processes, each with a provider that speaks another dialect than it
 * does.
 */

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";
import t from "tap";
import { masterKey, startSdkSite } from "../../support/processes/sdk-site.js";
import { anthropicKey, jsonOf, reply } from "../../support/providers/model-api-answers.js";
import { greeting, report, tokenCounts, wantedCalls } from "../../support/providers/scene.js";

globalThis.AI_SDK_LOG_WARNINGS = false;
const { api, url, counts } = await startSdkSite(t);
const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: masterKey, maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: url, apiKey: masterKey, maxRetries: 0 });
const vercelOpenai = createOpenAI({ baseURL: `${url}/v1`, apiKey: masterKey });
const vercelAnthropic = createAnthropic({ baseURL: `${url}/v1`, apiKey: masterKey });
const messages = [{ role: "user" as const, content: "hi" }];
const parameters = {
  type: "object" as const,
  properties: { city: { type: "string" } },
  required: ["city"],
};
const twice = { requests: 2, tokens: 2 * tokenCounts.total };

t.test("a chat client reaches an Anthropic provider: plain and streamed", async (t) => {
  const model = "claude-test";
  const added = await counts(async () => {
    const whole = await openai.chat.completions.create({
      model,
      messages: [{ role: "system", content: "Be brief." }, ...messages],
    });
    t.match(whole, {
      object: "chat.completion",
      model,
      choices: [
        { index: 0, message: { role: "assistant", content: greeting }, finish_reason: "stop" },
      ],
      usage: {
        prompt_tokens: tokenCounts.input,
        completion_tokens: tokenCounts.output,
        total_tokens: tokenCounts.total,
        prompt_tokens_details: { cached_tokens: tokenCounts.cached },
      },
    });
    t.match(api.last(), {
      path: "/messages",
      headers: { "x-api-key": anthropicKey, "anthropic-version": "2023-06-01" },
    });
    t.match(jsonOf(api.last()), {
      model,
      system: [{ type: "text", text: "Be brief." }],
      messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
      max_tokens: 32000,
    });
    const streamed = await openai.chat.completions
      .stream({ model, messages, stream_options: { include_usage: true } })
      .finalChatCompletion();
    t.match(streamed, {
      choices: [{ message: { content: greeting }, finish_reason: "stop" }],
      usage: { total_tokens: tokenCounts.total },
    });
  });
  t.same(added, twice);
  const usages: unknown[] = [];
  for await (const { usage } of await openai.chat.completions.create({
    model,
    messages,
    stream: true,
  }))
    if (usage !== undefined && usage !== null) usages.push(usage);
  t.same(usages, [], "who doesn't ask for usage isn't told it");
});

t.test("a chat client's tools at an Anthropic provider", async (t) => {
  const asked = {
    model: "claude-test",
    tools: [{ type: "function" as const, function: { name: "get_weather", parameters } }],
  };
  const called = wantedCalls("toolu").map(({ id, name, input }) => [id, name, input]);
  const whole = (await openai.chat.completions.create({ ...asked, messages })).choices[0]!;
  t.same([whole.finish_reason, ...callsOf(whole.message)], ["tool_calls", ...called]);
  const streamed = (
    await openai.chat.completions.stream({ ...asked, messages }).finalChatCompletion()
  ).choices[0]!;
  t.same([streamed.finish_reason, ...callsOf(streamed.message)], ["tool_calls", ...called]);
  const results = wantedCalls("toolu").map(({ id }) => ({
    role: "tool" as const,
    tool_call_id: id,
    content: "14",
  }));
  t.equal(
    (
      await openai.chat.completions.create({
        ...asked,
        messages: [...messages, whole.message, ...results],
      })
    ).choices[0]!.message.content,
    report,
  );
  t.match(jsonOf(api.last())["messages"], [
    {},
    {
      role: "assistant",
      content: wantedCalls("toolu").map((call) => ({ type: "tool_use", ...call })),
    },
    {
      role: "user",
      content: wantedCalls("toolu").map(({ id }) => ({ type: "tool_result", tool_use_id: id })),
    },
  ]);
});

function callsOf({ tool_calls: calls }: OpenAI.ChatCompletionMessage): unknown[] {
  return (calls ?? []).map(
    (call) =>
      call.type === "function" && [
        call.id,
        call.function.name,
        JSON.parse(call.function.arguments),
      ],
  );
}

for (const model of ["chatty/llama-test", "openai/gpt-test"]) {
  t.test(
    `a messages client reaches a chat provider (${model}): plain, streamed, with tools`,
    async (t) => {
      const asked = { model, max_tokens: 1024, messages };
      const usage = {
        input_tokens: tokenCounts.input - tokenCounts.cached,
        cache_read_input_tokens: tokenCounts.cached,
        output_tokens: tokenCounts.output,
      };
      const added = await counts(async () => {
        t.match(await anthropic.messages.create({ ...asked, system: "Be brief." }), {
          type: "message",
          role: "assistant",
          model,
          content: [{ type: "text", text: greeting }],
          stop_reason: "end_turn",
          usage,
        });
        t.equal(api.last().path, "/chat/completions");
        t.match(jsonOf(api.last()), {
          model: model.split("/")[1],
          messages: [{ role: "system", content: "Be brief." }, ...messages],
        });
        t.match(await anthropic.messages.stream(asked).finalMessage(), {
          content: [{ type: "text", text: greeting }],
          stop_reason: "end_turn",
          usage,
        });
      });
      t.same(added, twice);
      const withTools = { ...asked, tools: [{ name: "get_weather", input_schema: parameters }] };
      const called = wantedCalls("call").map(({ id, name, input }) => ({
        type: "tool_use" as const,
        id,
        name,
        input,
      }));
      t.match(await anthropic.messages.create(withTools), {
        content: called,
        stop_reason: "tool_use",
      });
      t.match(await anthropic.messages.stream(withTools).finalMessage(), {
        content: called,
        stop_reason: "tool_use",
      });
      const results = called.map(({ id }) => ({
        type: "tool_result" as const,
        tool_use_id: id,
        content: "14",
      }));
      t.match(
        (
          await anthropic.messages.create({
            ...withTools,
            messages: [
              ...messages,
              { role: "assistant", content: called },
              { role: "user", content: results },
            ],
          })
        ).content,
        [{ type: "text", text: report }],
      );
    },
  );
}

for (const model of ["chatty/llama-test", "claude/claude-test"]) {
  t.test(
    `a responses client reaches a provider without them (${model}): plain, streamed, with tools`,
    async (t) => {
      const prefix = model === "claude/claude-test" ? "toolu" : "call";
      const usage = {
        input_tokens: tokenCounts.input,
        input_tokens_details: { cached_tokens: tokenCounts.cached },
        output_tokens: tokenCounts.output,
        total_tokens: tokenCounts.total,
      };
      const added = await counts(async () => {
        const whole = await openai.responses.create({
          model,
          instructions: "Be brief.",
          input: "hi",
          store: false,
        });
        t.match(whole, {
          object: "response",
          status: "completed",
          model,
          output_text: greeting,
          usage,
        });
        t.equal(api.last().path, prefix === "toolu" ? "/messages" : "/chat/completions");
        t.match(
          await openai.responses.stream({ model, input: "hi", store: false }).finalResponse(),
          { status: "completed", output_text: greeting, usage },
        );
      });
      t.same(added, twice);
      const asked = {
        model,
        store: false,
        tools: [{ type: "function" as const, name: "get_weather", strict: false, parameters }],
      };
      const called = wantedCalls(prefix).map(({ id, name, input }) => ({
        type: "function_call",
        call_id: id,
        name,
        arguments: JSON.stringify(input),
      }));
      const { output } = await openai.responses.create({ ...asked, input: "hi" });
      t.match(output, called);
      t.match(
        (await openai.responses.stream({ ...asked, input: "hi" }).finalResponse()).output,
        called,
      );
      const results = called.map(({ call_id }) => ({
        type: "function_call_output" as const,
        call_id,
        output: "14",
      }));
      const input = [
        { role: "user" as const, content: "hi" },
        ...(output as OpenAI.Responses.ResponseInputItem[]),
        ...results,
      ];
      t.equal((await openai.responses.create({ ...asked, input })).output_text, report);
    },
  );
}

const vercelWays = {
  "chat to messages": vercelOpenai.chat("claude-test"),
  "responses to chat": vercelOpenai("llama-test"),
  "responses to messages": vercelOpenai("claude-test"),
  "messages to chat": vercelAnthropic("llama-test"),
};
for (const [name, model] of Object.entries(vercelWays)) {
  t.test(`Vercel's SDK, ${name}: texts, and tools until there is one`, async (t) => {
    const added = await counts(async () => {
      const whole = await generateText({ model, prompt: "hi", maxRetries: 0 });
      t.same(
        [whole.text, whole.finishReason, whole.usage.totalTokens],
        [greeting, "stop", tokenCounts.total],
      );
      t.equal(await streamText({ model, prompt: "hi", maxRetries: 0 }).text, greeting);
    });
    t.same(added, twice);
    const cities: string[] = [];
    const get_weather = tool({
      inputSchema: jsonSchema<{ city: string }>(parameters),
      execute: ({ city }) => cities.push(city),
    });
    const asked = {
      model,
      prompt: "hi",
      tools: { get_weather },
      stopWhen: stepCountIs(3),
      maxRetries: 0,
    };
    t.equal((await generateText(asked)).text, report);
    t.equal(await streamText(asked).text, report);
    t.same(cities, ["Kyiv", "Oslo", "Kyiv", "Oslo"]);
  });
}

t.test("a failover goes on in another dialect", async (t) => {
  const model = "smart";
  const failsAtFirst = () =>
    (api.intercept = (_, response) => reply(response, 500, { error: { message: "out of order" } }));
  failsAtFirst();
  const chat = await openai.chat.completions.create({ model, messages }).withResponse();
  t.same(
    [chat.data.choices[0]!.message.content, chat.response.headers.get("x-sluice-target")],
    [greeting, "claude/claude-test"],
  );
  failsAtFirst();
  t.equal(
    (await openai.responses.stream({ model, input: "hi", store: false }).finalResponse())
      .output_text,
    greeting,
  );
  t.equal(api.last().path, "/messages");
  failsAtFirst();
  const message = await anthropic.messages
    .stream({ model, max_tokens: 10, messages })
    .finalMessage();
  t.match(message.content, [{ type: "text", text: greeting }]);
});

t.test(
  "what can't be said in the provider's dialect is refused by name, before anything is asked or counted",
  async (t) => {
    const before = api.calls.length;
    const added = await counts(async () => {
      await t.rejects(openai.chat.completions.create({ model: "claude-test", messages, n: 2 }), {
        status: 400,
        param: "n",
        message: /\bn\b/,
      });
      await t.rejects(
        openai.responses.create({
          model: "llama-test",
          input: "hi",
          previous_response_id: "resp_1",
        }),
        { status: 400, param: "previous_response_id", message: /previous_response_id/ },
      );
      await t.rejects(
        anthropic.messages.create({
          model: "llama-test",
          max_tokens: 10,
          messages,
          mcp_servers: [{}],
        } as never),
        Anthropic.BadRequestError,
      );
    });
    t.same(added, { requests: 0, tokens: 0 });
    t.equal(api.calls.length, before);
  },
);

t.test("an error of the provider comes in the client's dialect", async (t) => {
  api.intercept = (_, response) =>
    reply(response, 529, {
      type: "error",
      error: { type: "overloaded_error", message: "Overloaded" },
    });
  await t.rejects(openai.chat.completions.create({ model: "claude-test", messages }), {
    status: 529,
    type: "provider_error",
    message: "529 Overloaded",
  });
  api.intercept = (_, response) =>
    reply(response, 429, {
      error: { type: "requests", message: "slow down", code: "rate_limit_exceeded" },
    });
  const thrown = await anthropic.messages
    .create({ model: "llama-test", max_tokens: 10, messages })
    .catch((reason: unknown) => reason);
  t.type(thrown, Anthropic.RateLimitError);
  t.match(thrown, { type: "rate_limit_error", apiMessage: "slow down" });
  api.intercept = (_, response) =>
    void response
      .writeHead(200, { "content-type": "text/event-stream" })
      .end(
        'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m","usage":{"input_tokens":1,"output_tokens":1}}}\n\nevent: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
      );
  await t.rejects(
    openai.chat.completions.stream({ model: "claude-test", messages }).finalChatCompletion(),
    { message: /Overloaded/ },
  );
});

t.test(
  "an answer that can't be translated is told as that, and charged with what it told",
  async (t) => {
    const added = await counts(async () => {
      api.intercept = (_, response) =>
        reply(response, 200, {
          type: "message",
          role: "assistant",
          content: [{ type: "video" }],
          usage: { input_tokens: tokenCounts.input, output_tokens: tokenCounts.output },
        });
      await t.rejects(openai.chat.completions.create({ model: "claude-test", messages }), {
        status: 502,
        code: "answer_untranslatable",
        message: /the answer of provider \w+ can't be translated into chat completions: .*video/,
      });
    });
    t.same(added, { requests: 1, tokens: tokenCounts.total });
  },
);

t.test(
  "a whole answer to who asked for a stream comes as one, and a stream to who didn't is an error",
  async (t) => {
    const added = await counts(async () => {
      api.intercept = (_, response) =>
        reply(response, 200, {
          id: "msg_1",
          type: "message",
          role: "assistant",
          content: [{ type: "text", text: greeting }],
          stop_reason: "end_turn",
          usage: { input_tokens: tokenCounts.input, output_tokens: tokenCounts.output },
        });
      t.match(
        await openai.chat.completions
          .stream({ model: "claude-test", messages })
          .finalChatCompletion(),
        { id: "msg_1", choices: [{ message: { content: greeting }, finish_reason: "stop" }] },
      );
    });
    t.same(added, { requests: 1, tokens: tokenCounts.total });
    api.intercept = (_, response) => reply(response, 200, { error: "overloaded" });
    await t.rejects(
      openai.chat.completions.create({ model: "claude-test", messages, stream: true }),
      { status: 502, message: /overloaded/ },
    );
    api.intercept = (_, response) =>
      void response
        .writeHead(200, { "content-type": "text/event-stream" })
        .end("event: ping\ndata: {}\n\n");
    const impatient = new OpenAI({ baseURL: `${url}/v1`, apiKey: masterKey, maxRetries: 2 });
    const before = api.calls.length;
    await t.rejects(impatient.chat.completions.create({ model: "claude-test", messages }), {
      status: 502,
      code: "answer_untranslatable",
      message: /a stream of events/,
    });
    t.equal(api.calls.length, before, "it was intercepted, and isn't asked again");
  },
);
