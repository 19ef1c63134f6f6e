/** The SDKs as clients of real processes, each with a provider that speaks another dialect. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";
import t from "tap";
import { exactly } from "../../support/patterns/exactly.js";
import { masterKey, startSdkSite } from "../../support/processes/sdk-site.js";
import { anthropicKey, jsonOf, reply } from "../../support/providers/model-api-call.js";
import { greeting, report, tokenCounts, wantedCalls } from "../../support/providers/scene.js";

globalThis.AI_SDK_LOG_WARNINGS = false;
const { api, url, counts } = await startSdkSite(t, ["gpt-5.4"]);
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

t.test("a chat client calls an Anthropic provider, with and without a stream", async (t) => {
  const model = "claude-test";
  const added = await counts(async () => {
    const complete = await openai.chat.completions.create({
      model,
      messages: [{ role: "system", content: "Be brief." }, ...messages],
    });
    t.match(
      complete,
      exactly({
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
      }),
    );
    t.match(api.last(), {
      path: "/messages",
      headers: { "x-api-key": anthropicKey, "anthropic-version": "2023-06-01" },
    });
    t.match(
      jsonOf(api.last()),
      exactly({
        model,
        system: [{ type: "text", text: "Be brief." }],
        messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
        max_tokens: 32000,
      }),
    );
    const streamed = await openai.chat.completions
      .stream({ model, messages, stream_options: { include_usage: true } })
      .finalChatCompletion();
    t.match(
      streamed,
      exactly({
        choices: [{ message: { content: greeting }, finish_reason: "stop" }],
        usage: { total_tokens: tokenCounts.total },
      }),
    );
  });
  t.same(added, twice);
  const usages: unknown[] = [];
  for await (const { usage } of await openai.chat.completions.create({
    model,
    messages,
    stream: true,
  }))
    if (usage !== undefined && usage !== null) usages.push(usage);
  t.same(usages, [], "a client that doesn't request usage gets none");
});

t.test("a chat client's tools work with an Anthropic provider", async (t) => {
  const request = {
    model: "claude-test",
    tools: [{ type: "function" as const, function: { name: "get_weather", parameters } }],
  };
  const called = wantedCalls("toolu").map(({ id, name, input }) => [id, name, input]);
  const complete = (await openai.chat.completions.create({ ...request, messages })).choices[0]!;
  t.same([complete.finish_reason, ...callsOf(complete.message)], ["tool_calls", ...called]);
  const streamed = (
    await openai.chat.completions.stream({ ...request, messages }).finalChatCompletion()
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
        ...request,
        messages: [...messages, complete.message, ...results],
      })
    ).choices[0]!.message.content,
    report,
  );
  t.match(
    jsonOf(api.last())["messages"],
    exactly([
      {},
      {
        role: "assistant",
        content: wantedCalls("toolu").map((call) => ({ type: "tool_use", ...call })),
      },
      {
        role: "user",
        content: wantedCalls("toolu").map(({ id }) => ({ type: "tool_result", tool_use_id: id })),
      },
    ]),
  );
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
    `a messages client calls a chat provider (${model}): complete, streamed, with tools`,
    async (t) => {
      const request = { model, max_tokens: 1024, messages };
      const usage = {
        input_tokens: tokenCounts.input - tokenCounts.cached,
        cache_read_input_tokens: tokenCounts.cached,
        output_tokens: tokenCounts.output,
      };
      const added = await counts(async () => {
        t.match(
          await anthropic.messages.create({ ...request, system: "Be brief." }),
          exactly({
            type: "message",
            role: "assistant",
            model,
            content: [{ type: "text", text: greeting }],
            stop_reason: "end_turn",
            usage,
          }),
        );
        t.equal(api.last().path, "/chat/completions");
        t.match(
          jsonOf(api.last()),
          exactly({
            model: model.split("/")[1],
            messages: [{ role: "system", content: "Be brief." }, ...messages],
          }),
        );
        t.match(
          await anthropic.messages.stream(request).finalMessage(),
          exactly({
            content: [{ type: "text", text: greeting }],
            stop_reason: "end_turn",
            usage,
          }),
        );
      });
      t.same(added, twice);
      const withTools = { ...request, tools: [{ name: "get_weather", input_schema: parameters }] };
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
        exactly([{ type: "text", text: report }]),
      );
    },
  );
}

t.test("what a model does in Responses alone goes there, from both other dialects", async (t) => {
  const model = "openai/gpt-5.4";
  const chat = {
    model,
    messages,
    reasoning_effort: "high" as const,
    tools: [{ type: "function" as const, function: { name: "get_weather", parameters } }],
  };
  const called = wantedCalls("call").map(({ id, name, input }) => [id, name, input]);
  const complete = (await openai.chat.completions.create(chat)).choices[0]!;
  t.same([complete.finish_reason, ...callsOf(complete.message)], ["tool_calls", ...called]);
  const streamed = (await openai.chat.completions.stream(chat).finalChatCompletion()).choices[0]!;
  t.same([streamed.finish_reason, ...callsOf(streamed.message)], ["tool_calls", ...called]);
  const request = {
    model,
    max_tokens: 1024,
    messages,
    output_config: { effort: "high" as const },
    tools: [{ name: "get_weather", input_schema: parameters }],
  };
  for (const message of [
    await anthropic.messages.create(request),
    await anthropic.messages.stream(request).finalMessage(),
  ]) {
    t.equal(api.last().path, "/responses");
    t.match(
      jsonOf(api.last()),
      exactly({ store: false, include: ["reasoning.encrypted_content"] }),
    );
    t.equal(message.stop_reason, "tool_use");
    const blocks = message.content.filter((block) => block.type === "tool_use");
    t.same(
      blocks.map(({ id, name, input }) => [id, name, input]),
      called,
    );
    const content = blocks.map(({ id }) => ({
      type: "tool_result" as const,
      tool_use_id: id,
      content: "14",
    }));
    const turns = [
      ...messages,
      { role: "assistant" as const, content: message.content },
      { role: "user" as const, content },
    ];
    t.match(
      (await anthropic.messages.create({ ...request, messages: turns })).content,
      exactly([{ type: "text", text: report }]),
    );
  }
  await openai.chat.completions.create({ ...chat, reasoning_effort: "none" });
  t.equal(api.last().path, "/chat/completions");
});

for (const model of ["chatty/llama-test", "claude/claude-test"]) {
  t.test(
    `a responses client calls a provider without responses (${model}): complete, streamed, with tools`,
    async (t) => {
      const prefix = model === "claude/claude-test" ? "toolu" : "call";
      const usage = {
        input_tokens: tokenCounts.input,
        input_tokens_details: { cached_tokens: tokenCounts.cached },
        output_tokens: tokenCounts.output,
        total_tokens: tokenCounts.total,
      };
      const added = await counts(async () => {
        const complete = await openai.responses.create({
          model,
          instructions: "Be brief.",
          input: "hi",
          store: false,
        });
        t.match(complete, {
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
      const request = {
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
      const { output } = await openai.responses.create({ ...request, input: "hi" });
      t.match(output, called);
      t.match(
        (await openai.responses.stream({ ...request, input: "hi" }).finalResponse()).output,
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
      t.equal((await openai.responses.create({ ...request, input })).output_text, report);
    },
  );
}

const vercelModels = {
  "chat to messages": vercelOpenai.chat("claude-test"),
  "responses to chat": vercelOpenai("llama-test"),
  "responses to messages": vercelOpenai("claude-test"),
  "messages to chat": vercelAnthropic("llama-test"),
};
for (const [name, model] of Object.entries(vercelModels)) {
  t.test(`Vercel's SDK, ${name}: texts, and tool calls until there is a text`, async (t) => {
    const added = await counts(async () => {
      const complete = await generateText({ model, prompt: "hi", maxRetries: 0 });
      t.same(
        [complete.text, complete.finishReason, complete.usage.totalTokens],
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
    const request = {
      model,
      prompt: "hi",
      tools: { get_weather },
      stopWhen: stepCountIs(3),
      maxRetries: 0,
    };
    t.equal((await generateText(request)).text, report);
    t.equal(await streamText(request).text, report);
    t.same(cities, ["Kyiv", "Oslo", "Kyiv", "Oslo"]);
  });
}

t.test("a failover continues in another dialect", async (t) => {
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
  t.match(message.content, exactly([{ type: "text", text: greeting }]));
});

t.test(
  "a field without a counterpart in the provider's dialect is refused by name, before anything is sent or counted",
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

t.test("an error of the provider reaches the client in the client's dialect", async (t) => {
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
  "an answer that can't be translated is reported as such, and charged with its usage",
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
  "a non-streamed answer to a streaming request is sent as a stream, and an unrequested stream as one answer",
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
        exactly({
          id: "msg_1",
          choices: [{ message: { content: greeting }, finish_reason: "stop" }],
        }),
      );
    });
    t.same(added, { requests: 1, tokens: tokenCounts.total });
    api.intercept = (_, response) => reply(response, 200, { error: "overloaded" });
    await t.rejects(
      openai.chat.completions.create({ model: "claude-test", messages, stream: true }),
      { status: 502, message: /overloaded/ },
    );
    const unrequested = [
      { type: "message_start", message: { id: "msg_2", type: "message", content: [] } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: greeting } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" } },
      { type: "message_stop" },
    ];
    api.intercept = (_, response) =>
      void response
        .writeHead(200, { "content-type": "text/event-stream" })
        .end(unrequested.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
    const { id, choices } = await openai.chat.completions.create({
      model: "claude-test",
      messages,
    });
    t.equal(id, "msg_2");
    t.match(choices, exactly([{ message: { content: greeting }, finish_reason: "stop" }]));
  },
);
