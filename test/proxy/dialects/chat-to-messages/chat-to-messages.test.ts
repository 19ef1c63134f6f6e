import assert from "node:assert/strict";
import t from "tap";
import { chatToMessages } from "../../../../proxy/dialects/chat-to-messages/chat-to-messages.js";
import {
  type ClientEvent,
  type JsonObject,
  UntranslatableAnswer,
} from "../../../../proxy/dialects/translation/translation.js";
import { readUsage } from "../../../../proxy/usage/read-usage.js";
import { jsonDepthMax, streamEventBytesMax } from "../../../../shared/bounds.js";
import { wholeChat } from "../accumulate.js";
import {
  chatRequest,
  chatRequestAsMessages,
  context,
  messagesAnswer,
  messagesAnswerAsChat,
  messagesEvents,
} from "../samples.js";

const hello = { role: "user", content: "Hello" };
const base: JsonObject = { model: "m", messages: [hello] };

function request(body: JsonObject): JsonObject {
  const result = chatToMessages.request(body, { maxTokensDefault: 4096 });
  assert(result.ok, JSON.stringify(result));
  return result.body;
}

function refusal(more: object): readonly [param: string | null, message: string] {
  const result = chatToMessages.request({ ...base, ...more }, { maxTokensDefault: 4096 });
  assert(!result.ok, JSON.stringify(result));
  assert.equal(result.failure.status, 400);
  assert.equal(result.failure.type, "invalid_request_error");
  return [result.failure.param, result.failure.message];
}

t.test("a complete request becomes one of Anthropic's", async (t) => {
  t.strictSame(request(chatRequest), chatRequestAsMessages);
});

t.test("the smallest request gets the default of max_tokens, and nothing else", async (t) => {
  t.strictSame(request(base), {
    model: "m",
    max_tokens: 4096,
    messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
  });
});

t.test("a body isn't changed by its translation", async (t) => {
  const before = JSON.stringify(chatRequest);
  request(chatRequest);
  t.equal(JSON.stringify(chatRequest), before);
});

t.test("fields become what the table says", async (t) => {
  const tools = [{ type: "function", function: { name: "now" } }];
  const cases: readonly (readonly [object, object])[] = [
    [{ max_tokens: 7 }, { max_tokens: 7 }],
    [{ max_tokens: 7, max_completion_tokens: 7 }, { max_tokens: 7 }],
    [{ max_tokens: null, max_completion_tokens: 8 }, { max_tokens: 8 }],
    [
      { temperature: 0, top_p: 1 },
      { temperature: 0, top_p: 1 },
    ],
    [{ stop: "END" }, { stop_sequences: ["END"] }],
    [{ stop: [] }, {}],
    [
      { stream: true, stream_options: { include_usage: true, include_obfuscation: false } },
      { stream: true },
    ],
    [{ stream: false }, {}],
    [{ tools }, { tools: [{ name: "now", input_schema: { type: "object", properties: {} } }] }],
    [
      {
        tools: [
          {
            type: "function",
            function: { name: "now", parameters: { properties: {} }, strict: false },
          },
        ],
      },
      { tools: [{ name: "now", input_schema: { type: "object", properties: {} } }] },
    ],
    [{ tools: [] }, {}],
    [{ tool_choice: "auto" }, {}],
    [{ tool_choice: "none", parallel_tool_calls: false }, {}],
    [{ tools, tool_choice: "none", parallel_tool_calls: false }, { tool_choice: { type: "none" } }],
    [
      { tools, parallel_tool_calls: false },
      { tool_choice: { type: "auto", disable_parallel_tool_use: true } },
    ],
    [{ tools, parallel_tool_calls: true }, {}],
    [
      { tools, tool_choice: { type: "function", function: { name: "now" } } },
      { tool_choice: { type: "tool", name: "now" } },
    ],
    [{ response_format: { type: "text" } }, {}],
    [{ reasoning_effort: "none" }, { thinking: { type: "disabled" } }],
    [
      { reasoning_effort: "minimal" },
      { thinking: { type: "adaptive" }, output_config: { effort: "low" } },
    ],
    [
      { thinking: { type: "enabled", budget_tokens: 2000 } },
      { thinking: { type: "enabled", budget_tokens: 2000 } },
    ],
    [{ user: "a", safety_identifier: "b" }, { metadata: { user_id: "b" } }],
    [{ service_tier: "auto" }, {}],
    [
      {
        n: null,
        logit_bias: null,
        tools: null,
        stop: null,
        temperature: null,
        response_format: null,
        user: null,
      },
      {},
    ],
    [
      {
        top_logprobs: 0,
        logprobs: false,
        modalities: ["text"],
        verbosity: "medium",
        functions: [],
        frequency_penalty: 0,
      },
      {},
    ],
  ];
  for (const [more, expected] of cases) {
    const { tools: given, ...rest } = request({ ...base, ...more }) as Record<string, unknown>;
    const { tools: wanted, ...others } = {
      model: "m",
      max_tokens: 4096,
      messages: request(base)["messages"],
      ...expected,
    } as Record<string, unknown>;
    t.strictSame(rest, others, JSON.stringify(more));
    if (wanted !== undefined) t.strictSame(given, wanted, JSON.stringify(more));
  }
});

t.test("messages become turns of the user and the assistant", async (t) => {
  const text = (said: string): object => ({ type: "text", text: said });
  const call = (id: string): object => ({
    id,
    type: "function",
    index: 0,
    function: { name: "now", arguments: "" },
  });
  const cases: readonly (readonly [string, readonly object[], object])[] = [
    [
      "messages of one role in a row",
      [
        { role: "user", content: "a" },
        { role: "user", content: [text("b"), text("c")] },
      ],
      { messages: [{ role: "user", content: [text("a"), text("b"), text("c")] }] },
    ],
    [
      "system messages wherever they stand",
      [
        { role: "system", content: "a" },
        hello,
        { role: "assistant", content: "b" },
        { role: "developer", content: "c" },
        hello,
      ],
      {
        system: [text("a"), text("c")],
        messages: [
          { role: "user", content: [text("Hello")] },
          { role: "assistant", content: [text("b")] },
          { role: "user", content: [text("Hello")] },
        ],
      },
    ],
    [
      "results of parallel calls, before what the user says",
      [
        hello,
        { role: "assistant", content: null, tool_calls: [call("1"), call("2")] },
        { role: "tool", tool_call_id: "1", content: "" },
        { role: "tool", tool_call_id: "2", name: "now", content: "x" },
        hello,
      ],
      {
        messages: [
          { role: "user", content: [text("Hello")] },
          {
            role: "assistant",
            content: [
              { type: "tool_use", id: "1", name: "now", input: {} },
              { type: "tool_use", id: "2", name: "now", input: {} },
            ],
          },
          {
            role: "user",
            content: [
              { type: "tool_result", tool_use_id: "1" },
              { type: "tool_result", tool_use_id: "2", content: "x" },
              text("Hello"),
            ],
          },
        ],
      },
    ],
    [
      "an assistant's message that says nothing",
      [
        hello,
        { role: "assistant", content: "" },
        { role: "assistant", content: "\n\n" },
        { role: "assistant", content: null },
        { role: "user", content: "b" },
      ],
      { messages: [{ role: "user", content: [text("Hello"), text("b")] }] },
    ],
    [
      "a call with an id and a signature of another family's, and what an SDK made of it, beside a line's end",
      [
        hello,
        {
          role: "assistant",
          content: "\n\n",
          parsed: { a: 1 },
          tool_calls: [
            {
              id: "functions.now:0",
              type: "function",
              function: { name: "now", arguments: "{}", parsed_arguments: { a: 1 } },
              extra_content: { google: { thought_signature: "s" } },
            },
          ],
        },
        { role: "tool", tool_call_id: "functions.now:0", content: "x" },
      ],
      {
        messages: [
          { role: "user", content: [text("Hello")] },
          {
            role: "assistant",
            content: [{ type: "tool_use", id: "functions_now_0", name: "now", input: {} }],
          },
          {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: "functions_now_0", content: "x" }],
          },
        ],
      },
    ],
    [
      "thoughts that are signed, and those that aren't",
      [
        hello,
        {
          role: "assistant",
          content: "b",
          reasoning_content: "hm",
          thinking_blocks: [
            { type: "thinking", thinking: "hm", signature: "s" },
            { type: "redacted_thinking", data: "d" },
            { type: "thinking", thinking: "x", signature: "" },
          ],
        },
        hello,
      ],
      {
        messages: [
          { role: "user", content: [text("Hello")] },
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "hm", signature: "s" },
              { type: "redacted_thinking", data: "d" },
              text("b"),
            ],
          },
          { role: "user", content: [text("Hello")] },
        ],
      },
    ],
    [
      "reader",
      [
        hello,
        { role: "assistant", content: null, refusal: "I can't." },
        hello,
        { role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
        hello,
      ],
      {
        messages: [
          { role: "user", content: [text("Hello")] },
          { role: "assistant", content: [text("I can't.")] },
          { role: "user", content: [text("Hello")] },
          { role: "assistant", content: [text("No.")] },
          { role: "user", content: [text("Hello")] },
        ],
      },
    ],
    [
      "marks for the cache",
      [
        {
          role: "system",
          content: [{ type: "text", text: "a", cache_control: { type: "ephemeral" } }],
        },
        {
          role: "user",
          content: [
            { type: "text", text: "b", prompt_cache_breakpoint: { mode: "explicit" } },
            { type: "text", text: "" },
          ],
        },
      ],
      {
        system: [{ type: "text", text: "a", cache_control: { type: "ephemeral" } }],
        messages: [{ role: "user", content: [text("b")] }],
      },
    ],
    [
      "documents",
      [
        {
          role: "user",
          content: [
            {
              type: "file",
              file: {
                file_data: "data:text/plain;charset=utf-8;base64,R3LDvMOfZQ==",
                filename: "document.txt",
              },
            },
            { type: "file", file: { file_data: "DATA:application/PDF;base64,JVBERi0=" } },
          ],
        },
      ],
      {
        messages: [
          {
            role: "user",
            content: [
              {
                type: "document",
                source: { type: "text", media_type: "text/plain", data: "Grüße" },
              },
              {
                type: "document",
                source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
              },
            ],
          },
        ],
      },
    ],
  ];
  for (const [name, messages, expected] of cases)
    t.strictSame(
      request({ model: "m", messages }),
      { model: "m", max_tokens: 4096, ...expected },
      name,
    );
});

t.test("what can't be said is refused by name", async (t) => {
  const provider = "the model's provider speaks Anthropic messages";
  const part = (value: object): object => ({ messages: [{ role: "user", content: [value] }] });
  const tool = (value: object): object => ({
    messages: [hello, { role: "assistant", tool_calls: [value] }],
  });
  const cases: readonly (readonly [object, string, string])[] = [
    [{ n: 2 }, "n", `n must be 1: ${provider}, which returns one answer`],
    [
      { logit_bias: { "50256": -100 } },
      "logit_bias",
      `logit_bias must be empty: ${provider}, which has no token biases`,
    ],
    [
      { logprobs: true },
      "logprobs",
      `logprobs must be false: ${provider}, which returns no log probabilities`,
    ],
    [
      { top_logprobs: 5 },
      "top_logprobs",
      `top_logprobs must be 0: ${provider}, which returns no log probabilities`,
    ],
    [
      { frequency_penalty: 0.5 },
      "frequency_penalty",
      `frequency_penalty must be 0: ${provider}, which has no penalties`,
    ],
    [
      { presence_penalty: -1 },
      "presence_penalty",
      `presence_penalty must be 0: ${provider}, which has no penalties`,
    ],
    [
      { modalities: ["text", "audio"] },
      "modalities",
      `modalities must be ["text"]: ${provider}, which only returns text`,
    ],
    [
      { audio: { voice: "alloy" } },
      "audio",
      `audio must be left out: ${provider}, which only returns text`,
    ],
    [
      { verbosity: "low" },
      "verbosity",
      `verbosity must be medium: ${provider}, which has no such setting`,
    ],
    [
      { moderation: {} },
      "moderation",
      `moderation must be left out: ${provider}, which has no such setting`,
    ],
    [
      { web_search_options: {} },
      "web_search_options",
      `web_search_options must be left out: ${provider}, which offers web search as a tool`,
    ],
    [
      { functions: [{}] },
      "functions",
      `functions must be empty: ${provider}, which has tools instead: use \`tools\``,
    ],
    [
      { function_call: "auto" },
      "function_call",
      `function_call must be left out: ${provider}, which has tools instead: use \`tool_choice\``,
    ],
    [
      { top_k: 5 },
      "top_k",
      `top_k must be left out: ${provider}, and Sluice can't translate this field`,
    ],
    [
      { temperature: 1.5 },
      "temperature",
      `temperature must be at most 1: ${provider}, where the maximum is 1`,
    ],
    [
      { stop: ["a", " \n"] },
      "stop[1]",
      `stop[1] must not be blank: ${provider}, which refuses blank stop sequences`,
    ],
    [
      { response_format: { type: "json_object" } },
      "response_format.type",
      `response_format.type must be json_schema or text: ${provider}, which has no JSON mode without a schema`,
    ],
    [
      {
        response_format: {
          type: "json_schema",
          json_schema: { name: "a", schema: {}, description: "b" },
        },
      },
      "response_format.json_schema.description",
      `response_format.json_schema.description must be left out: ${provider}, which has no such field: put it into the schema`,
    ],
    [
      { service_tier: "flex" },
      "service_tier",
      'service_tier must be one of auto, default, not "flex"',
    ],
    [
      { reasoning_effort: "high", thinking: { type: "adaptive" } },
      "reasoning_effort",
      "reasoning_effort must be left out when thinking is set: send only one of them",
    ],
    [
      { max_tokens: 1, max_completion_tokens: 2 },
      "max_tokens",
      "max_tokens must not differ from max_completion_tokens: send only one of them",
    ],
    [
      { tools: [{ type: "custom", custom: { name: "a" } }] },
      "tools[0].custom",
      `tools[0].custom must be left out: ${provider}, and Sluice can't translate this field`,
    ],
    [
      { tool_choice: { type: "allowed_tools", allowed_tools: {} } },
      "tool_choice.type",
      `tool_choice.type must be function: ${provider}, which can't limit the choice to some of the tools`,
    ],
    [
      { messages: [{ role: "user", content: "a", name: "ann" }] },
      "messages[0].name",
      `messages[0].name must be left out: ${provider}, which has no participant names`,
    ],
    [
      { messages: [{ role: "user", content: "" }] },
      "messages[0].content",
      `messages[0].content must not be empty: ${provider}, which refuses empty messages`,
    ],
    [
      { messages: [{ role: "system", content: "a" }] },
      "messages",
      `messages must contain a user message: ${provider}, which requires one`,
    ],
    [
      { messages: [hello, { role: "function", name: "f", content: "" }] },
      "messages[1].role",
      `messages[1].role must be tool: ${provider}, which has tools instead of functions`,
    ],
    [
      { messages: [hello, { role: "assistant", audio: { id: "a" } }] },
      "messages[1].audio",
      `messages[1].audio must be left out: ${provider}, which has no audio`,
    ],
    [
      part({ type: "input_audio", input_audio: { data: "", format: "wav" } }),
      "messages[0].content[0].input_audio",
      `messages[0].content[0].input_audio must be left out: ${provider}, and Sluice can't translate this field`,
    ],
    [
      part({ type: "video_url" }),
      "messages[0].content[0].type",
      `messages[0].content[0].type must be text or image_url or file: ${provider}, which supports nothing else in a message of the role user`,
    ],
    [
      part({ type: "file", file: { file_id: "file-1" } }),
      "messages[0].content[0].file.file_id",
      `messages[0].content[0].file.file_id must be left out: ${provider}, which has no access to OpenAI's files: send \`file_data\``,
    ],
    [
      part({ type: "file", file: { file_data: "data:image/png;base64,AA==" } }),
      "messages[0].content[0].file.file_data",
      `messages[0].content[0].file.file_data must be a base64 data URL of the type application/pdf or text/plain: ${provider}, which accepts no other documents`,
    ],
    [
      tool({ id: "1", type: "custom", custom: {} }),
      "messages[1].tool_calls[0].custom",
      `messages[1].tool_calls[0].custom must be left out: ${provider}, and Sluice can't translate this field`,
    ],
  ];
  for (const [more, param, message] of cases)
    t.strictSame(refusal(more), [param, message], JSON.stringify(more));
});

t.test("what is wrong in either dialect is refused by name and kind", async (t) => {
  const part = (value: object): object => ({ messages: [{ role: "user", content: [value] }] });
  const called = (value: unknown): object => ({
    messages: [
      hello,
      {
        role: "assistant",
        tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: value } }],
      },
    ],
  });
  const argumentsMust = `messages[1].tool_calls[0].function.arguments must be a JSON object as a string, nested at most ${jsonDepthMax} levels deep`;
  const deep = `${'{"a":'.repeat(jsonDepthMax + 1)}1${"}".repeat(jsonDepthMax + 1)}`;
  const cases: readonly (readonly [object, string, string])[] = [
    [{ messages: "hi" }, "messages", "messages must be an array, not a string"],
    [{ messages: ["hi"] }, "messages[0]", "messages[0] must be an object, not a string"],
    [
      { messages: [{ content: "hi" }] },
      "messages[0].role",
      "messages[0].role must be one of system, developer, user, assistant, tool",
    ],
    [{ messages: [{ role: "user" }] }, "messages[0].content", "messages[0].content is required"],
    [
      { messages: [{ role: "user", content: 7 }] },
      "messages[0].content",
      "messages[0].content must be a string or an array, not 7",
    ],
    [
      part({ type: "text" }),
      "messages[0].content[0].text",
      "messages[0].content[0].text is required",
    ],
    [
      part({ type: "image_url", image_url: "http://x/" }),
      "messages[0].content[0].image_url",
      "messages[0].content[0].image_url must be an object, not a string",
    ],
    [
      part({ type: "image_url", image_url: { url: "file:///etc/passwd" } }),
      "messages[0].content[0].image_url.url",
      "messages[0].content[0].image_url.url must be a base64 data URL of an image, or an http or https URL",
    ],
    [called("{"), "messages[1].tool_calls[0].function.arguments", argumentsMust],
    [called("[1]"), "messages[1].tool_calls[0].function.arguments", argumentsMust],
    [called(deep), "messages[1].tool_calls[0].function.arguments", argumentsMust],
    [
      called({}),
      "messages[1].tool_calls[0].function.arguments",
      "messages[1].tool_calls[0].function.arguments must be a string, not an object",
    ],
    [
      { messages: [hello, { role: "tool", content: "x" }] },
      "messages[1].tool_call_id",
      "messages[1].tool_call_id is required",
    ],
    [
      { messages: [hello, { role: "assistant", thinking_blocks: [{ type: "text" }] }] },
      "messages[1].thinking_blocks[0].type",
      "messages[1].thinking_blocks[0].type must be thinking or redacted_thinking",
    ],
    [{ max_tokens: 0 }, "max_tokens", "max_tokens must be an integer greater than 0, not 0"],
    [
      { max_completion_tokens: "5" },
      "max_completion_tokens",
      "max_completion_tokens must be an integer greater than 0, not a string",
    ],
    [{ temperature: "hot" }, "temperature", 'temperature must be a number from 0 to 1, not "hot"'],
    [{ top_p: 2 }, "top_p", "top_p must be a number from 0 to 1, not 2"],
    [{ stop: 5 }, "stop", "stop must be an array, not 5"],
    [{ stream: "yes" }, "stream", "stream must be true or false, not a string"],
    [{ tools: [{ type: "function" }] }, "tools[0].function", "tools[0].function is required"],
    [
      { tools: [{ type: "function", function: { name: "" } }] },
      "tools[0].function.name",
      "tools[0].function.name must not be empty",
    ],
    [
      { tool_choice: "some" },
      "tool_choice",
      'tool_choice must be one of auto, none, required, not "some"',
    ],
    [
      { parallel_tool_calls: 1 },
      "parallel_tool_calls",
      "parallel_tool_calls must be true or false, not 1",
    ],
    [
      { reasoning_effort: "huge" },
      "reasoning_effort",
      'reasoning_effort must be one of none, minimal, low, medium, high, xhigh, max, not "huge"',
    ],
    [
      { response_format: { type: "json_schema", json_schema: { name: "a" } } },
      "response_format.json_schema.schema",
      "response_format.json_schema.schema is required",
    ],
    [{ user: 5 }, "user", "user must be a string, not 5"],
    [
      { thinking: JSON.parse(deep) as unknown },
      "thinking",
      `thinking must not be nested deeper than ${jsonDepthMax} levels`,
    ],
  ];
  for (const [more, param, message] of cases)
    t.strictSame(refusal(more), [param, message], JSON.stringify(more).slice(0, 200));
});

t.test("fields of Object's prototype are unknown fields like any other", async (t) => {
  for (const field of ["constructor", "toString", "__proto__"]) {
    t.strictSame(
      refusal(
        JSON.parse(
          `{"model":"m","messages":[{"role":"user","content":"a","${field}":1}]}`,
        ) as object,
      )[0],
      `messages[0].${field}`,
      field,
    );
  }
});

const answer = (body: object): JsonObject =>
  chatToMessages.answer(
    {
      id: "msg_1",
      type: "message",
      role: "assistant",
      content: [],
      stop_reason: "end_turn",
      usage: { input_tokens: 1, output_tokens: 1 },
      ...body,
    },
    context,
  );
const choice = (
  body: JsonObject,
): { readonly message: JsonObject; readonly finish_reason: string } =>
  (body["choices"] as [{ message: JsonObject; finish_reason: string }])[0];

t.test("a complete answer becomes a chat completion", async (t) => {
  t.strictSame(chatToMessages.answer(messagesAnswer, context), messagesAnswerAsChat);
});

t.test("every reason why an answer ended has its word", async (t) => {
  const table = {
    end_turn: "stop",
    stop_sequence: "stop",
    max_tokens: "length",
    model_context_window_exceeded: "length",
    pause_turn: "length",
    tool_use: "tool_calls",
    refusal: "content_filter",
    new_reason: "stop",
  };
  for (const [reason, expected] of Object.entries(table))
    t.equal(choice(answer({ stop_reason: reason })).finish_reason, expected, reason);
  t.equal(choice(answer({ stop_reason: null })).finish_reason, "stop");
});

t.test("an answer without content, and one that was refused", async (t) => {
  t.strictSame(choice(answer({})).message, { role: "assistant", content: null, refusal: null });
  const refused = choice(
    answer({
      content: [{ type: "text", text: "Well" }],
      stop_reason: "refusal",
      stop_details: { type: "refusal", category: "cyber", explanation: "I can't help with that." },
    }),
  );
  t.strictSame(refused, {
    index: 0,
    message: { role: "assistant", content: "Well", refusal: "I can't help with that." },
    logprobs: null,
    finish_reason: "content_filter",
  });
});

t.test("a client is told the counts that it is charged", async (t) => {
  for (const usage of [
    {
      input_tokens: 100,
      output_tokens: 200,
      cache_read_input_tokens: 600,
      cache_creation_input_tokens: 300,
    },
    { input_tokens: 100, output_tokens: 200 },
    {
      input_tokens: 0,
      output_tokens: 0,
      cache_read_input_tokens: 5,
      cache_creation_input_tokens: null,
    },
  ])
    t.strictSame(readUsage(answer({ usage })["usage"]), readUsage(usage), JSON.stringify(usage));
  for (const usage of [null, {}, "none", { input_tokens: -1, output_tokens: -1 }])
    t.notOk("usage" in answer({ usage }), JSON.stringify(usage));
});

t.test("an answer that makes no sense is an error with a sentence", async (t) => {
  const cases: readonly (readonly [object, string])[] = [
    [{ content: "text" }, "the provider's answer is not a message: it has no content"],
    [{ content: [null] }, "the provider's answer has a content block that is not an object"],
    [{ content: [{ type: "text" }] }, "the provider's answer has a content block without text"],
    [
      { content: [{ type: "tool_use", id: "1", name: "f", input: "x" }] },
      "the provider's answer calls a tool with an input that is not an object or is nested too deeply",
    ],
    [
      { content: [{ type: "server_tool_use" }] },
      "the provider's answer has a content block of type server_tool_use, which chat completions can't represent",
    ],
    [
      { content: [{}] },
      "the provider's answer has a content block without a type, which chat completions can't represent",
    ],
  ];
  for (const [body, message] of cases)
    t.throws(() => answer(body), new UntranslatableAnswer(message));
});

function stream(events: readonly ClientEvent[]): readonly ClientEvent[] {
  const translator = chatToMessages.events(context);
  return [
    ...events.flatMap(({ event, data }) => translator.push(event, data)),
    ...translator.end(),
  ];
}

const event = (value: {
  readonly type: string;
  readonly [field: string]: unknown;
}): ClientEvent => ({ event: value.type, data: JSON.stringify(value) });
const start = event({
  type: "message_start",
  message: { id: "msg_1", content: [], usage: { input_tokens: 3, output_tokens: 1 } },
});
const errorOf = (events: readonly ClientEvent[]): unknown =>
  (JSON.parse(events.at(-1)?.data ?? "{}") as JsonObject)["error"];

t.test("a streamed answer says what the whole one says", async (t) => {
  t.strictSame(wholeChat(stream(messagesEvents)), messagesAnswerAsChat);
});

t.test("each event of a stream gives its chunk at once, as OpenAI writes it", async (t) => {
  const translator = chatToMessages.events(context);
  const given = messagesEvents.map(({ event, data }) =>
    translator
      .push(event, data)
      .map((one) =>
        one.data === "[DONE]"
          ? one.data
          : (
              JSON.parse(one.data) as { choices: { delta: unknown; finish_reason: unknown }[] }
            ).choices.map(({ delta, finish_reason }) => [delta, finish_reason]),
      ),
  );
  const delta = (value: object): unknown => [[[value, null]]];
  t.strictSame(
    given.filter((events) => events.length > 0),
    [
      delta({ role: "assistant", content: "" }),
      delta({ reasoning_content: "Two " }),
      delta({ reasoning_content: "cities." }),
      delta({
        thinking_blocks: [
          { index: 0, type: "thinking", thinking: "Two cities.", signature: "EqoBCkgIARABGAI=" },
        ],
      }),
      delta({ thinking_blocks: [{ index: 1, type: "redacted_thinking", data: "EmwKAhgBEgy=" }] }),
      delta({ content: "I'll look " }),
      delta({ content: "at both." }),
      delta({
        tool_calls: [
          {
            index: 0,
            id: "toolu_01",
            type: "function",
            function: { name: "get_weather", arguments: "" },
          },
        ],
      }),
      delta({ tool_calls: [{ index: 0, function: { arguments: '{"city"' } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: ':"Oslo"}' } }] }),
      delta({
        tool_calls: [
          { index: 1, id: "toolu_02", type: "function", function: { name: "now", arguments: "" } },
        ],
      }),
      delta({ tool_calls: [{ index: 1, function: { arguments: "{}" } }] }),
      [[[{}, "tool_calls"]]],
      [[], "[DONE]"],
    ],
  );
  t.strictSame(translator.end(), [], "and nothing is owed");
});

t.test("the usage chunk comes last and alone, and other chunks have a null", async (t) => {
  const chunks = stream(messagesEvents)
    .slice(0, -1)
    .map(({ data }) => JSON.parse(data) as JsonObject);
  t.strictSame(chunks.at(-1)?.["choices"], []);
  t.strictSame(chunks.at(-1)?.["usage"], messagesAnswerAsChat["usage"]);
  t.ok(chunks.slice(0, -1).every((chunk) => chunk["usage"] === null));
});

t.test("thoughts without signatures are told, and nothing is to be sent back", async (t) => {
  const block = (index: number, thinking: string): readonly ClientEvent[] => [
    event({ type: "content_block_start", index, content_block: { type: "thinking", thinking } }),
    event({ type: "content_block_stop", index }),
  ];
  const whole = wholeChat(
    stream([
      start,
      ...block(0, "a"),
      ...block(1, "b"),
      event({ type: "message_delta", delta: { stop_reason: "end_turn" } }),
      event({ type: "message_stop" }),
    ]),
  );
  t.strictSame(choice(whole).message, {
    role: "assistant",
    content: null,
    refusal: null,
    reasoning_content: "ab",
  });
});

t.test("thinking that is too long for an event is told, and not to be sent back", async (t) => {
  const long = "x".repeat(streamEventBytesMax / 4);
  const delta = (value: object): ClientEvent =>
    event({ type: "content_block_delta", index: 0, delta: value });
  const thinks = (times: number): ClientEvent[] =>
    Array.from({ length: times }, () => delta({ type: "thinking_delta", thinking: long }));
  const told = (times: number): JsonObject =>
    choice(
      wholeChat(
        stream([
          start,
          event({
            type: "content_block_start",
            index: 0,
            content_block: { type: "thinking", thinking: "" },
          }),
          ...thinks(times),
          delta({ type: "signature_delta", signature: "s" }),
          event({ type: "content_block_stop", index: 0 }),
          event({ type: "message_stop" }),
        ]),
      ),
    ).message;
  t.equal((told(3)["thinking_blocks"] as JsonObject[])[0]?.["thinking"], long.repeat(3));
  t.equal(told(6)["reasoning_content"], long.repeat(6));
  t.equal(told(6)["thinking_blocks"], undefined);
});

t.test("a refusal in a stream tells its reason", async (t) => {
  const whole = wholeChat(
    stream([
      start,
      event({
        type: "message_delta",
        delta: { stop_reason: "refusal", stop_details: { type: "refusal", explanation: "No." } },
      }),
      event({ type: "message_stop" }),
    ]),
  );
  t.match(choice(whole), { finish_reason: "content_filter", message: { refusal: "No." } });
});

t.test("a stream that leaves message_stop out is over when it ends", async (t) => {
  t.strictSame(stream(messagesEvents.slice(0, -1)), stream(messagesEvents));
});

t.test("an error of the provider becomes the last event, in OpenAI's shape", async (t) => {
  const cases: readonly (readonly [string, object])[] = [
    [
      "overloaded_error",
      { type: "provider_error", message: "Overloaded", code: null, param: null },
    ],
    [
      "rate_limit_error",
      { type: "rate_limit_error", message: "Overloaded", code: null, param: null },
    ],
    [
      "permission_error",
      { type: "authentication_error", message: "Overloaded", code: null, param: null },
    ],
    ["new_error", { type: "provider_error", message: "Overloaded", code: null, param: null }],
  ];
  for (const [type, expected] of cases) {
    const events = stream([
      start,
      event({ type: "error", error: { type, message: "Overloaded" } }),
      ...messagesEvents.slice(1),
    ]);
    t.equal(events.length, 2, "nothing follows it");
    t.strictSame(errorOf(events), expected, type);
  }
  t.match(
    errorOf(stream([{ event: "error", data: '{"error":{"message":"Gone"}}' }])),
    { message: "Gone" },
    "without a type",
  );
});

t.test("a stream that makes no sense gets an error event, and nothing after it", async (t) => {
  const opened = event({
    type: "content_block_start",
    index: 0,
    content_block: { type: "text", text: "" },
  });
  const cases: readonly (readonly [string, readonly ClientEvent[], string])[] = [
    ["nothing", [], "the provider's stream ended before the answer was complete"],
    [
      "an end in the middle",
      messagesEvents.slice(0, 12),
      "the provider's stream ended before the answer was complete",
    ],
    [
      "no JSON",
      [start, { event: "content_block_delta", data: "{" }],
      "the provider's stream has an event that is not a JSON object",
    ],
    [
      "no object",
      [{ event: null, data: "7" }],
      "the provider's stream has an event that is not a JSON object",
    ],
    ["two beginnings", [start, start], "the provider's stream begins twice, or without a message"],
    [
      "an end alone",
      [event({ type: "message_stop" })],
      "the provider's stream ended without an answer",
    ],
    [
      "a delta of nothing",
      [
        start,
        event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "a" } }),
      ],
      "the provider's stream has a delta for a content block that isn't open",
    ],
    [
      "a delta of another block",
      [
        start,
        opened,
        event({ type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "a" } }),
      ],
      "the provider's stream has a delta for a content block that isn't open",
    ],
    [
      "a delta without its text",
      [
        start,
        opened,
        event({ type: "content_block_delta", index: 0, delta: { type: "text_delta" } }),
      ],
      "the provider's answer has a content block without text",
    ],
    [
      "a delta that Anthropic has added",
      [
        start,
        opened,
        event({ type: "content_block_delta", index: 0, delta: { type: "new_delta" } }),
      ],
      "the provider's stream has a delta of type new_delta, which chat completions can't represent",
    ],
    [
      "a block that nobody asked for",
      [
        start,
        event({
          type: "content_block_start",
          index: 0,
          content_block: { type: "server_tool_use" },
        }),
      ],
      "the provider's answer has a content block of type server_tool_use, which chat completions can't represent",
    ],
  ];
  for (const [name, events, message] of cases) {
    const tooEarly = name === "nothing" || name.startsWith("an end in");
    const given = stream([...events, ...(tooEarly ? [] : messagesEvents)]);
    t.strictSame(
      errorOf(given),
      {
        type: "provider_error",
        message,
        code: tooEarly ? null : "answer_untranslatable",
        param: null,
      },
      name,
    );
    t.notOk(
      given.some(({ data }) => data === "[DONE]"),
      name,
    );
  }
});

t.test("events that Anthropic may add one day are passed over", async (t) => {
  t.strictSame(
    stream([messagesEvents[0]!, event({ type: "heartbeat" }), ...messagesEvents.slice(1)]),
    stream(messagesEvents),
  );
});
