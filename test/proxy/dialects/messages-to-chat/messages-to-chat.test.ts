import assert from "node:assert/strict";
import t from "tap";
import { messagesToChat } from "../../../../proxy/dialects/messages-to-chat/messages-to-chat.js";
import type {
  ClientEvent,
  JsonObject,
} from "../../../../proxy/dialects/translation/translation.js";
import { readUsage } from "../../../../proxy/usage/read-usage.js";
import { wholeMessages } from "../accumulate.js";
import {
  chatAnswer,
  chatAnswerAsMessages,
  chatEvents,
  context,
  messagesRequest,
  messagesRequestAsChat,
} from "../samples.js";

const hello = { role: "user", content: "Hello" };
const base: JsonObject = { model: "m", max_tokens: 100, messages: [hello] };
const options = { maxTokensDefault: 4096 };

function request(body: JsonObject): JsonObject {
  const result = messagesToChat.request(body, options);
  assert(result.ok, JSON.stringify(result));
  return result.body;
}

function refusal(more: object): readonly [param: string | null, message: string] {
  const result = messagesToChat.request({ ...base, ...more }, options);
  assert(!result.ok, JSON.stringify(result));
  assert.equal(result.failure.status, 400);
  return [result.failure.param, result.failure.message];
}

t.test("a complete request becomes a chat completion's", async (t) => {
  t.strictSame(request(messagesRequest), messagesRequestAsChat);
});

t.test("fields become what the table says", async (t) => {
  const tools = [{ name: "now", input_schema: { type: "object" } }];
  const chatTools = [
    { type: "function", function: { name: "now", parameters: { type: "object" } } },
  ];
  const schema = { type: "object", additionalProperties: false };
  const cases: readonly (readonly [object, object])[] = [
    [{}, {}],
    [{ stream: true }, { stream: true, stream_options: { include_usage: true } }],
    [
      { temperature: 0.3, top_p: 0.2, stop_sequences: ["a", "b"] },
      { temperature: 0.3, top_p: 0.2, stop: ["a", "b"] },
    ],
    [{ stop_sequences: [] }, {}],
    [{ tools: [] }, {}],
    [
      {
        tools: [
          {
            type: "custom",
            name: "now",
            input_schema: { type: "object" },
            strict: true,
            eager_input_streaming: true,
          },
        ],
      },
      {
        tools: [
          {
            type: "function",
            function: { name: "now", parameters: { type: "object" }, strict: true },
          },
        ],
      },
    ],
    [{ tool_choice: { type: "auto", disable_parallel_tool_use: true } }, {}],
    [
      { tools, tool_choice: { type: "none" } },
      { tools: chatTools, tool_choice: "none" },
    ],
    [
      { tools, tool_choice: { type: "any" } },
      { tools: chatTools, tool_choice: "required" },
    ],
    [
      { tools, tool_choice: { type: "tool", name: "now", disable_parallel_tool_use: true } },
      {
        tools: chatTools,
        tool_choice: { type: "function", function: { name: "now" } },
        parallel_tool_calls: false,
      },
    ],
    [{ thinking: { type: "adaptive", display: "omitted" } }, {}],
    [{ thinking: { type: "disabled" } }, { reasoning_effort: "none" }],
    [
      { thinking: { type: "adaptive" }, output_config: { effort: "xhigh" } },
      { reasoning_effort: "xhigh" },
    ],
    [{ thinking: { type: "enabled", budget_tokens: 4096 } }, { reasoning_effort: "low" }],
    [{ thinking: { type: "enabled", budget_tokens: 16_384 } }, { reasoning_effort: "medium" }],
    [{ thinking: { type: "enabled", budget_tokens: 16_385 } }, { reasoning_effort: "high" }],
    [
      { thinking: { type: "enabled", budget_tokens: 1024 }, output_config: { effort: "max" } },
      { reasoning_effort: "max" },
    ],
    [
      { output_config: { format: { type: "json_schema", schema } } },
      {
        response_format: {
          type: "json_schema",
          json_schema: { name: "answer", schema, strict: true },
        },
      },
    ],
    [
      { output_format: { type: "json_schema", schema } },
      {
        response_format: {
          type: "json_schema",
          json_schema: { name: "answer", schema, strict: true },
        },
      },
    ],
    [{ metadata: { user_id: "u".repeat(64) } }, { user: "u".repeat(64) }],
    [{ metadata: { user_id: "u".repeat(65) } }, {}],
    [
      {
        service_tier: "auto",
        speed: "standard",
        mcp_servers: [],
        top_k: null,
        container: null,
        cache_control: { type: "ephemeral" },
        diagnostics: {},
      },
      {},
    ],
    [{ service_tier: "standard_only" }, { service_tier: "default" }],
  ];
  for (const [more, expected] of cases)
    t.strictSame(
      request({ ...base, ...more }),
      { model: "m", messages: [hello], max_completion_tokens: 100, ...expected },
      JSON.stringify(more),
    );
});

t.test("turns become messages", async (t) => {
  const text = (said: string): object => ({ type: "text", text: said });
  const picture = { type: "image", source: { type: "url", url: "https://example.com/a.png" } };
  const cases: readonly (readonly [string, object, readonly object[]])[] = [
    ["a system prompt as a text", { system: "a" }, [{ role: "system", content: "a" }, hello]],
    ["an empty system prompt", { system: "" }, [hello]],
    [
      "a single block is a text",
      { system: [text("a")], messages: [{ role: "user", content: [text("b")] }] },
      [
        { role: "system", content: "a" },
        { role: "user", content: "b" },
      ],
    ],
    [
      "system messages stay where they stand",
      { messages: [hello, { role: "system", content: [text("a")] }] },
      [hello, { role: "system", content: "a" }],
    ],
    [
      "pictures and documents",
      {
        messages: [
          {
            role: "user",
            content: [
              picture,
              {
                type: "document",
                source: { type: "text", media_type: "text/plain", data: "Grüße" },
                citations: { enabled: false },
              },
              {
                type: "document",
                title: "a.pdf",
                source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
              },
            ],
          },
        ],
      },
      [
        {
          role: "user",
          content: [
            { type: "image_url", image_url: { url: "https://example.com/a.png" } },
            {
              type: "file",
              file: { filename: "document.txt", file_data: "data:text/plain;base64,R3LDvMOfZQ==" },
            },
            {
              type: "file",
              file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
            },
          ],
        },
      ],
    ],
    [
      "calls without a text, and their results before what else is said",
      {
        messages: [
          hello,
          {
            role: "assistant",
            content: [{ type: "tool_use", id: "1", name: "f", input: { a: [1] } }],
          },
          { role: "user", content: [text("b"), { type: "tool_result", tool_use_id: "1" }] },
        ],
      },
      [
        hello,
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "1", type: "function", function: { name: "f", arguments: '{"a":[1]}' } },
          ],
        },
        { role: "tool", tool_call_id: "1", content: "" },
        { role: "user", content: "b" },
      ],
    ],
    [
      "a result that is a picture alone",
      {
        messages: [
          {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: "1", content: [picture] }],
          },
        ],
      },
      [
        {
          role: "tool",
          tool_call_id: "1",
          content: "The result is in the next message of the user.",
        },
        {
          role: "user",
          content: [
            text("Part of the result of the tool call 1:"),
            { type: "image_url", image_url: { url: "https://example.com/a.png" } },
          ],
        },
      ],
    ],
    [
      "results that failed",
      {
        messages: [
          {
            role: "user",
            content: [
              { type: "tool_result", tool_use_id: "1", is_error: true },
              { type: "tool_result", tool_use_id: "2", is_error: true, content: "error 7" },
              {
                type: "tool_result",
                tool_use_id: "3",
                is_error: true,
                content: [text("a"), text("b")],
              },
            ],
          },
        ],
      },
      [
        { role: "tool", tool_call_id: "1", content: "Error: " },
        { role: "tool", tool_call_id: "2", content: "error 7" },
        { role: "tool", tool_call_id: "3", content: [text("Error: "), text("a"), text("b")] },
      ],
    ],
    [
      "thoughts without a signature go back to whom they are from",
      {
        messages: [
          hello,
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "hm", signature: "" },
              { type: "thinking", thinking: "signed", signature: "s" },
              text("a"),
              text("b"),
            ],
          },
          hello,
        ],
      },
      [
        hello,
        { role: "assistant", content: [text("a"), text("b")], reasoning_content: "hm" },
        hello,
      ],
    ],
    [
      "a call that Gemini has signed, and its result",
      {
        messages: [
          hello,
          {
            role: "assistant",
            content: [{ type: "tool_use", id: "1__signed__YSsvPT0", name: "f", input: {} }],
          },
          {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: "1__signed__YSsvPT0", content: "a" }],
          },
        ],
      },
      [
        hello,
        {
          role: "assistant",
          content: null,
          tool_calls: [
            {
              id: "1",
              type: "function",
              function: { name: "f", arguments: "{}" },
              extra_content: { google: { thought_signature: "a+/==" } },
            },
          ],
        },
        { role: "tool", tool_call_id: "1", content: "a" },
      ],
    ],
    [
      "a turn of signed thoughts alone",
      {
        messages: [
          hello,
          { role: "assistant", content: [{ type: "redacted_thinking", data: "d" }] },
          hello,
        ],
      },
      [hello, hello],
    ],
  ];
  for (const [name, more, messages] of cases)
    t.strictSame(request({ ...base, ...more })["messages"], messages, name);
});

t.test("what can't be said is refused by name", async (t) => {
  const provider = "the model's provider speaks chat completions";
  const block = (value: object): object => ({ messages: [{ role: "user", content: [value] }] });
  const said = (value: object): object => ({
    messages: [hello, { role: "assistant", content: [value] }, hello],
  });
  const cases: readonly (readonly [object, string, string])[] = [
    [{ top_k: 5 }, "top_k", `top_k must be left out: ${provider}, which has no such setting`],
    [{ speed: "fast" }, "speed", `speed must be standard: ${provider}, which has no such setting`],
    [
      { inference_geo: "us" },
      "inference_geo",
      `inference_geo must be left out: ${provider}, which has no such setting`,
    ],
    [
      { container: "c" },
      "container",
      `container must be left out: ${provider}, which has no such setting`,
    ],
    [
      { mcp_servers: [{}] },
      "mcp_servers",
      `mcp_servers must be empty: ${provider}, which can't call MCP servers`,
    ],
    [
      { context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } },
      "context_management",
      `context_management must only clear thinking: ${provider}, which never edits the conversation`,
    ],
    [
      { frequency_penalty: 0 },
      "frequency_penalty",
      `frequency_penalty must be left out: ${provider}, and Sluice can't translate this field`,
    ],
    [
      { max_tokens: 0 },
      "max_tokens",
      `max_tokens must be at least 1: ${provider}, which can't fill a cache without an answer`,
    ],
    [
      { output_config: { task_budget: {} } },
      "output_config.task_budget",
      `output_config.task_budget must be left out: ${provider}, and Sluice can't translate this field`,
    ],
    [
      { thinking: { type: "disabled" }, output_config: { effort: "low" } },
      "output_config.effort",
      `output_config.effort must be left out when thinking is disabled: ${provider}, which has one setting for both`,
    ],
    [
      { messages: [hello, { role: "assistant", content: "The answer is (" }] },
      "messages[1]",
      `messages[1] must not be an assistant message: ${provider}, which can't continue one`,
    ],
    [
      { tools: [{ type: "web_search_20260318", name: "web_search" }] },
      "tools[0].type",
      `tools[0].type must be custom: ${provider}, which doesn't have Anthropic's own tools`,
    ],
    [
      { tools: [{ name: "a", input_schema: {}, defer_loading: true }] },
      "tools[0].defer_loading",
      `tools[0].defer_loading must be false: ${provider}, which has no tool search`,
    ],
    [
      { tools: [{ name: "a", input_schema: {}, input_examples: [{}] }] },
      "tools[0].input_examples",
      `tools[0].input_examples must be empty: ${provider}, which has no such field: put them into the description`,
    ],
    [
      { tools: [{ name: "a", input_schema: {}, allowed_callers: ["code_execution_20260521"] }] },
      "tools[0].allowed_callers",
      `tools[0].allowed_callers must be ["direct"]: ${provider}, where only the model calls tools`,
    ],
    [
      block({ type: "search_result" }),
      "messages[0].content[0].type",
      `messages[0].content[0].type must be text, image, document or tool_result: ${provider}, which supports nothing else there`,
    ],
    [
      block({ type: "image", source: { type: "file", file_id: "f" } }),
      "messages[0].content[0].source.type",
      `messages[0].content[0].source.type must be base64 or url: ${provider}, which has no access to Anthropic's files and fetches no documents`,
    ],
    [
      block({ type: "document", source: { type: "url", url: "https://x/" } }),
      "messages[0].content[0].source.type",
      `messages[0].content[0].source.type must be base64 or text: ${provider}, which has no access to Anthropic's files and fetches no documents`,
    ],
    [
      block({
        type: "document",
        source: { type: "text", data: "a" },
        citations: { enabled: true },
      }),
      "messages[0].content[0].citations",
      `messages[0].content[0].citations must not be enabled: ${provider}, which has no citations`,
    ],
    [
      block({ type: "document", source: { type: "text", data: "a" }, context: "b" }),
      "messages[0].content[0].context",
      `messages[0].content[0].context must be left out: ${provider}, which has no such field`,
    ],
    [
      block({
        type: "tool_result",
        tool_use_id: "1",
        content: [{ type: "tool_reference", tool_name: "a" }],
      }),
      "messages[0].content[0].content[0].type",
      `messages[0].content[0].content[0].type must be text, image or document: ${provider}, which supports nothing else there`,
    ],
    [
      said({ type: "server_tool_use" }),
      "messages[1].content[0].type",
      `messages[1].content[0].type must be text, thinking or tool_use: ${provider}, which supports nothing else there`,
    ],
    [
      said({ type: "image", source: { type: "url", url: "https://x/" } }),
      "messages[1].content[0].type",
      `messages[1].content[0].type must be text, thinking or tool_use: ${provider}, which supports nothing else there`,
    ],
    [
      said({
        type: "tool_use",
        id: "1",
        name: "f",
        input: {},
        caller: { type: "code_execution_20260120" },
      }),
      "messages[1].content[0].caller",
      `messages[1].content[0].caller must be direct: ${provider}, where only the model calls tools`,
    ],
    [
      { system: [{ type: "image" }] },
      "system[0].type",
      `system[0].type must be text: ${provider}, which supports nothing else there`,
    ],
  ];
  for (const [more, param, message] of cases)
    t.strictSame(refusal(more), [param, message], JSON.stringify(more));
});

t.test("what is wrong in either dialect is refused by name and kind", async (t) => {
  const block = (value: object): object => ({ messages: [{ role: "user", content: [value] }] });
  const cases: readonly (readonly [object, string, string])[] = [
    [{ max_tokens: null }, "max_tokens", "max_tokens is required"],
    [{ max_tokens: 1.5 }, "max_tokens", "max_tokens must be an integer greater than 0, not 1.5"],
    [{ messages: [] }, "messages", "messages must hold at least one message"],
    [{ messages: null }, "messages", "messages is required"],
    [
      { messages: [{ role: "tool", content: "" }] },
      "messages[0].role",
      "messages[0].role must be one of user, assistant, system",
    ],
    [
      { messages: [{ role: "user", content: [] }] },
      "messages[0].content",
      "messages[0].content must not be empty",
    ],
    [{ messages: [{ role: "user" }] }, "messages[0].content", "messages[0].content is required"],
    [
      block({ type: "text", text: 5 }),
      "messages[0].content[0].text",
      "messages[0].content[0].text must be a string, not 5",
    ],
    [
      block({ type: "image" }),
      "messages[0].content[0].source",
      "messages[0].content[0].source is required",
    ],
    [
      block({ type: "tool_result" }),
      "messages[0].content[0].tool_use_id",
      "messages[0].content[0].tool_use_id is required",
    ],
    [
      {
        messages: [
          hello,
          { role: "assistant", content: [{ type: "tool_use", id: "1", name: "f", input: "{}" }] },
          hello,
        ],
      },
      "messages[1].content[0].input",
      "messages[1].content[0].input must be an object, not a string",
    ],
    [{ temperature: 1.2 }, "temperature", "temperature must be a number from 0 to 1, not 1.2"],
    [{ tools: [{ name: "a" }] }, "tools[0].input_schema", "tools[0].input_schema is required"],
    [{ tool_choice: {} }, "tool_choice.type", "tool_choice.type is required"],
    [
      { tool_choice: { type: "some" } },
      "tool_choice.type",
      'tool_choice.type must be one of auto, none, any, tool, not "some"',
    ],
    [
      { thinking: { type: "between_tools" } },
      "thinking.type",
      'thinking.type must be one of adaptive, disabled, enabled, not "between_tools"',
    ],
    [
      { thinking: { type: "enabled" } },
      "thinking.budget_tokens",
      "thinking.budget_tokens is required",
    ],
    [
      { output_config: { effort: "huge" } },
      "output_config.effort",
      'output_config.effort must be one of low, medium, high, xhigh, max, not "huge"',
    ],
    [
      { output_config: { format: { type: "xml" } } },
      "output_config.format.type",
      "output_config.format.type must be json_schema",
    ],
    [{ metadata: "me" }, "metadata", "metadata must be an object, not a string"],
  ];
  for (const [more, param, message] of cases)
    t.strictSame(refusal(more), [param, message], JSON.stringify(more));
});

const answer = (body: object): JsonObject =>
  messagesToChat.answer({ id: "chatcmpl-1", ...body }, context);
const says = (message: object, finish: unknown = "stop"): JsonObject =>
  answer({
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
  });

t.test("a complete answer becomes a message", async (t) => {
  t.strictSame(messagesToChat.answer(chatAnswer, context), chatAnswerAsMessages);
});

t.test(
  "every reason why an answer ended has its word; a call and a refusal are known without it",
  async (t) => {
    const table = {
      stop: "end_turn",
      length: "max_tokens",
      model_length: "max_tokens",
      tool_calls: "tool_use",
      function_call: "tool_use",
      content_filter: "refusal",
      new_reason: "end_turn",
    };
    for (const [reason, expected] of Object.entries(table))
      t.equal(says({ content: "a" }, reason)["stop_reason"], expected, reason);
    t.equal(says({ content: "a" }, null)["stop_reason"], "end_turn");
    t.equal(
      says({ content: null, tool_calls: [{ id: "1", function: { name: "f", arguments: "{}" } }] })[
        "stop_reason"
      ],
      "tool_use",
    );
    t.match(says({ content: null, refusal: "I can't." }), {
      content: [],
      stop_reason: "refusal",
      stop_details: { type: "refusal", category: null, explanation: "I can't." },
    });
  },
);

t.test("what providers do differently gives the same", async (t) => {
  const call = { type: "tool_use", name: "f", input: {} };
  t.strictSame(
    says({
      content: [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ],
    })["content"],
    [
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ],
    "content in parts",
  );
  t.strictSame(
    says({ content: "", reasoning: "hm" })["content"],
    [{ type: "thinking", thinking: "hm", signature: "" }],
    "thoughts by another name",
  );
  t.strictSame(
    says({
      content: [
        { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
        { type: "text", text: "a" },
      ],
    })["content"],
    [
      { type: "thinking", thinking: "hm", signature: "" },
      { type: "text", text: "a" },
    ],
    "thoughts as a part",
  );
  t.strictSame(
    says({ tool_calls: [{ id: "1", function: { name: "f", arguments: {} } }] })["content"],
    [{ ...call, id: "1" }],
    "arguments as an object",
  );
  t.strictSame(
    says({
      tool_calls: [
        { function: { name: "f", arguments: "" } },
        { id: "", function: { name: "f", arguments: " " } },
      ],
    })["content"],
    [
      { ...call, id: "toolu_req-7_0" },
      { ...call, id: "toolu_req-7_1" },
    ],
    "calls without ids and arguments",
  );
  t.strictSame(
    says({ tool_calls: [{ id: "1", function: { name: "f", arguments: '{"a":' } }] }, "length")[
      "content"
    ],
    [{ ...call, id: "1" }],
    "a call that the limit cut",
  );
  const extra_content = { google: { thought_signature: "a+/==" } };
  t.strictSame(
    says({
      tool_calls: [
        { id: "1", extra_content, function: { name: "f", arguments: "" } },
        { extra_content, function: { name: "f", arguments: "" } },
        {
          id: "",
          extra_content: { google: { thought_signature: "other" } },
          function: { name: "f", arguments: "" },
        },
        { id: "2", extra_content: {}, function: { name: "f" } },
      ],
    })["content"],
    [
      { ...call, id: "1__signed__YSsvPT0" },
      { ...call, id: "call_a__signed__YSsvPT0" },
      { ...call, id: "call_other__signed__b3RoZXI" },
      { ...call, id: "2" },
    ],
    "calls that Gemini has signed, each with an id of its own",
  );
  t.equal(answer({ id: undefined, choices: [{ message: {} }] })["id"], "msg_req-7");
});

t.test("a client is told the counts that it is charged, and always some", async (t) => {
  for (const usage of [
    {
      prompt_tokens: 1000,
      completion_tokens: 200,
      total_tokens: 1200,
      prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 300 },
    },
    { prompt_tokens: 10, completion_tokens: 5 },
    { prompt_tokens: 1000, completion_tokens: 50, total_tokens: 1200 },
  ]) {
    const { note: _note, ...charged } = readUsage(usage) as { note: unknown };
    t.match(
      readUsage(answer({ choices: [{ message: {} }], usage })["usage"]),
      charged,
      JSON.stringify(usage),
    );
  }
  for (const usage of [undefined, null, { prompt_tokens: -1 }]) {
    t.strictSame(
      answer({ choices: [{ message: {} }], usage })["usage"],
      {
        input_tokens: 0,
        output_tokens: 0,
        cache_read_input_tokens: 0,
        cache_creation_input_tokens: 0,
      },
      JSON.stringify(usage),
    );
  }
});

t.test("an answer that makes no sense is an error with a sentence", async (t) => {
  const called = (call: unknown): object => ({
    choices: [{ message: { tool_calls: [call] }, finish_reason: "tool_calls" }],
  });
  const cases: readonly (readonly [object, string])[] = [
    [{}, "the provider's answer is not a chat completion: it has no message"],
    [{ choices: [] }, "the provider's answer is not a chat completion: it has no message"],
    [
      { choices: [{ message: "a" }] },
      "the provider's answer is not a chat completion: it has no message",
    ],
    [{ choices: [{ message: { content: 7 } }] }, "the answer's content is not a string"],
    [{ choices: [{ message: { tool_calls: {} } }] }, "the answer's tool_calls are not an array"],
    [
      { choices: [{ message: { content: "a" }, finish_reason: "error" }] },
      "the provider ended its answer with an error",
    ],
    [
      called({ id: "1", custom: { name: "f", input: "" } }),
      "the provider's answer calls a tool that is not a function",
    ],
    [
      called({ id: "1", function: { name: "f", arguments: "{" } }),
      "the provider's answer calls a tool with arguments that are not a JSON object",
    ],
    [
      called({ id: "1", function: { name: "f", arguments: "[]" } }),
      "the provider's answer calls a tool with arguments that are not a JSON object",
    ],
    [
      called({ id: "1", function: { arguments: "{}" } }),
      "the provider's answer calls a tool without a name",
    ],
  ];
  for (const [body, message] of cases) t.throws(() => answer(body), { message });
});

function stream(events: readonly ClientEvent[]): readonly ClientEvent[] {
  const translator = messagesToChat.events(context);
  return [
    ...events.flatMap(({ event, data }) => translator.push(event, data)),
    ...translator.end(),
  ];
}

const done: ClientEvent = { event: null, data: "[DONE]" };
const data = (value: object): ClientEvent => ({ event: null, data: JSON.stringify(value) });
const delta = (value: object, finish: string | null = null): ClientEvent =>
  data({ id: "chatcmpl-1", choices: [{ index: 0, delta: value, finish_reason: finish }] });
const called = (value: object): ClientEvent => delta({ tool_calls: [value] });
const errorOf = (events: readonly ClientEvent[]): unknown => events.at(-1);

t.test("a streamed answer says what the whole one says", async (t) => {
  t.strictSame(wholeMessages(stream(chatEvents)), chatAnswerAsMessages);
});

t.test("each event of a stream gives its events at once, as Anthropic names them", async (t) => {
  const translator = messagesToChat.events(context);
  const given = chatEvents.map(({ event, data }) =>
    translator.push(event, data).map((one) => one.event),
  );
  t.strictSame(given, [
    [],
    ["message_start"],
    ["content_block_start", "content_block_delta"],
    ["content_block_delta"],
    ["content_block_stop", "content_block_start", "content_block_delta"],
    ["content_block_delta"],
    ["content_block_stop", "content_block_start"],
    ["content_block_delta"],
    ["content_block_delta"],
    ["content_block_stop", "content_block_start"],
    [],
    [],
    ["content_block_stop", "message_delta", "message_stop"],
  ]);
  t.strictSame(translator.end(), [], "and nothing is owed");
});

t.test(
  "a stream that leaves [DONE] out is over when it ends; one that leaves the reason out, with [DONE]",
  async (t) => {
    t.strictSame(stream(chatEvents.slice(0, -1)), stream(chatEvents));
    t.match(wholeMessages(stream([delta({ content: "a" }), done])), {
      stop_reason: "end_turn",
      content: [{ type: "text", text: "a" }],
    });
  },
);

t.test("calls are told apart in all the ways that providers stream them", async (t) => {
  const two = [
    { type: "tool_use", id: "a", name: "f", input: { x: 1 } },
    { type: "tool_use", id: "b", name: "g", input: {} },
  ];
  const cases: readonly (readonly [string, readonly ClientEvent[]])[] = [
    [
      "by index",
      [
        called({ index: 0, id: "a", function: { name: "f", arguments: "" } }),
        called({ index: 0, function: { arguments: '{"x":1}' } }),
        called({ index: 1, id: "b", function: { name: "g" } }),
      ],
    ],
    [
      "in one chunk",
      [
        delta({
          tool_calls: [
            { index: 0, id: "a", function: { name: "f", arguments: '{"x":1}' } },
            { index: 1, id: "b", function: { name: "g", arguments: "{}" } },
          ],
        }),
      ],
    ],
    [
      "all with one index",
      [
        called({ index: 0, id: "a", function: { name: "f", arguments: '{"x":1}' } }),
        called({ index: 0, id: "b", function: { name: "g", arguments: "{}" } }),
      ],
    ],
    [
      "without an index",
      [
        called({ id: "a", function: { name: "f", arguments: '{"x":' } }),
        called({ function: { arguments: "1}" } }),
        called({ id: "b", function: { name: "g", arguments: "{}" } }),
      ],
    ],
    [
      "with an id of its own for each piece, but one name",
      [
        called({ index: 0, id: "a", function: { name: "f", arguments: '{"x":' } }),
        called({ index: 0, id: "x", function: { arguments: "1}" } }),
        called({ index: 1, id: "b", function: { name: "g" } }),
        called({ index: 1, id: "y", function: { arguments: "{}" } }),
      ],
    ],
    [
      "with the id each time",
      [
        called({ index: 0, id: "a", function: { name: "f", arguments: '{"x":' } }),
        called({ index: 0, id: "a", function: { name: "", arguments: "1}" } }),
        called({ index: 1, id: "b", function: { name: "g", arguments: "{}" } }),
      ],
    ],
  ];
  for (const [name, events] of cases)
    t.strictSame(
      wholeMessages(stream([...events, delta({}, "stop"), done])),
      {
        ...wholeMessages(stream([delta({}, "tool_calls"), done])),
        content: two,
        stop_reason: "tool_use",
      },
      name,
    );
  const ended = [
    called({ index: 0, id: "a", function: { name: "f", arguments: '{"x":1}' } }),
    delta({ content: "\n", tool_calls: [{ index: 0, function: { arguments: "" } }] }),
    delta({}, "stop"),
    done,
  ];
  t.match(
    wholeMessages(stream(ended))["content"],
    [two[0], { type: "text", text: "\n" }],
    "ended by a piece of nothing",
  );
  const signed = [
    called({
      index: 0,
      id: "a",
      function: { name: "f", arguments: '{"x":' },
      extra_content: { google: { thought_signature: "s" } },
    }),
    called({ index: 0, id: "a", function: { arguments: "1}" } }),
    delta({}, "stop"),
    done,
  ];
  t.match(
    wholeMessages(stream(signed))["content"],
    [{ ...two[0], id: "a__signed__cw" }],
    "signed by Gemini",
  );
});

t.test("thoughts, their signatures and hidden ones become blocks", async (t) => {
  const content = (...events: readonly ClientEvent[]): unknown =>
    wholeMessages(stream([...events, delta({}, "stop"), done]))["content"];
  const thinking = (said: string, signature: string): object => ({
    type: "thinking",
    thinking: said,
    signature,
  });
  t.strictSame(content(delta({ reasoning: "a" }), delta({ reasoning: "b", content: "c" })), [
    thinking("ab", ""),
    { type: "text", text: "c" },
  ]);
  t.strictSame(
    content(
      delta({ reasoning_content: "a" }),
      delta({ thinking_blocks: [thinking("a", "s")] }),
      delta({ reasoning_content: "b" }),
      delta({ thinking_blocks: [{ type: "redacted_thinking", data: "d" }] }),
    ),
    [thinking("a", "s"), thinking("b", ""), { type: "redacted_thinking", data: "d" }],
  );
  t.strictSame(
    content(
      delta({ thinking_blocks: [thinking("", "s")] }),
      delta({ thinking_blocks: [thinking("a", "r"), { type: "thinking" }, 7] }),
    ),
    [thinking("", "s"), thinking("a", "r")],
    "what only comes whole; what is no block is passed over",
  );
});

t.test("a refusal in a stream stands in the end of the message", async (t) => {
  t.match(
    wholeMessages(
      stream([delta({ refusal: "I " }), delta({ refusal: "can't." }), delta({}, "stop"), done]),
    ),
    {
      content: [],
      stop_reason: "refusal",
      stop_details: { type: "refusal", category: null, explanation: "I can't." },
    },
  );
});

t.test("usage is found where providers put it", async (t) => {
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const counted = (...events: readonly ClientEvent[]): unknown =>
    wholeMessages(stream([delta({ content: "a" }, "stop"), ...events, done]))["usage"];
  for (const event of [data({ choices: [], usage }), data({ choices: [], x_groq: { usage } })])
    t.match(counted(event), { input_tokens: 10, output_tokens: 5 }, event.data);
  t.match(counted(), { input_tokens: 0, output_tokens: 0 });
});

t.test("an error of the provider becomes the last event, in Anthropic's shape", async (t) => {
  const cases: readonly (readonly [unknown, object])[] = [
    [
      { message: "Slow down", type: "requests", code: "rate_limit_exceeded" },
      { type: "rate_limit_error", message: "Slow down" },
    ],
    [
      { message: "Slow down", code: 429 },
      { type: "rate_limit_error", message: "Slow down" },
    ],
    [
      { message: "Bad", type: "invalid_request_error" },
      { type: "invalid_request_error", message: "Bad" },
    ],
    [
      { message: "Broken", type: "server_error" },
      { type: "api_error", message: "Broken" },
    ],
    ["Broken", { type: "api_error", message: "Broken" }],
  ];
  for (const [error, expected] of cases) {
    const events = stream([delta({ content: "a" }), data({ error }), ...chatEvents]);
    t.strictSame(
      errorOf(events),
      { event: "error", data: JSON.stringify({ type: "error", error: expected }) },
      JSON.stringify(error),
    );
    t.notOk(events.some(({ event }) => event === "message_stop"));
  }
});

t.test("a stream that makes no sense gets an error event, and nothing after it", async (t) => {
  const cases: readonly (readonly [string, readonly ClientEvent[], string])[] = [
    ["nothing", [], "the provider's stream ended before the answer was complete"],
    [
      "an end in the middle",
      chatEvents.slice(0, 5),
      "the provider's stream ended before the answer was complete",
    ],
    ["[DONE] alone", [done], "the provider's stream ended without an answer"],
    [
      "no JSON",
      [{ event: null, data: "{" }, done],
      "the provider's stream has an event that is not a JSON object",
    ],
    [
      "content that isn't a string",
      [delta({ content: { a: 1 } }), done],
      "the answer's content is not a string",
    ],
    ["a call that is none", [called(7 as unknown as object), done], "a tool call is not an object"],
    [
      "a reason that is a failure",
      [delta({ content: "a" }, "insufficient_system_resource"), done],
      "the provider ended its answer with an error",
    ],
    [
      "arguments without a bottom",
      [
        {
          event: null,
          data: `{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}}}]}}]}`,
        },
        done,
      ],
      "the arguments of a tool call are nested too deeply",
    ],
    [
      "a call without a name",
      [called({ index: 0, id: "a" }), done],
      "the provider's answer calls a tool without a name",
    ],
    [
      "a call that goes on behind another",
      [
        called({ index: 0, id: "a", function: { name: "f" } }),
        called({ index: 1, id: "b", function: { name: "g" } }),
        called({ index: 0, function: { arguments: "{}" } }),
        done,
      ],
      "the provider's stream continues a tool call after other content has followed it",
    ],
    [
      "a call that goes on behind a text",
      [
        called({ index: 0, id: "a", function: { name: "f" } }),
        delta({ content: "a" }),
        called({ index: 0, id: "a", function: { arguments: "{}" } }),
        done,
      ],
      "the provider's stream continues a tool call after other content has followed it",
    ],
  ];
  for (const [name, events, message] of cases)
    t.strictSame(
      errorOf(stream(events)),
      {
        event: "error",
        data: JSON.stringify({ type: "error", error: { type: "api_error", message } }),
      },
      name,
    );
});
