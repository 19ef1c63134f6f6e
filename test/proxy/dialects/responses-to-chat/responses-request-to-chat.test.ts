import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import type { ChatCompletionCreateParams } from "openai/resources/chat/completions";
import type {
  ResponseCreateParams,
  ResponseInputItem,
  Tool,
} from "openai/resources/responses/responses";
import t from "tap";
import { responsesToChat } from "../../../../proxy/dialects/responses-to-chat/responses-to-chat.js";
import type { JsonObject } from "../../../../proxy/dialects/translation/translation.js";
import { root } from "../../../tidy/source-tree.js";

const options = { maxTokensDefault: 4096 };

function translated(body: object): JsonObject {
  const result = responsesToChat.request(body as JsonObject, options);
  if (!result.ok) throw new Error(`${result.failure.param}: ${result.failure.message}`);
  return JSON.parse(JSON.stringify(result.body)) as JsonObject;
}

/** `param: message` of a 400. */
function refusal(body: object): string {
  const result = responsesToChat.request(body as JsonObject, options);
  if (result.ok) return "accepted";
  const { status, type, code, provider, param, message } = result.failure;
  assert.deepEqual([status, type, code, provider], [400, "invalid_request_error", null, null]);
  assert.ok(message.startsWith(param!), "the message begins with the field");
  return message;
}

const schema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const weather: Tool = {
  type: "function",
  name: "weather",
  description: "of a city",
  parameters: schema,
  strict: true,
};
const clock: Tool = { type: "function", name: "clock", parameters: null, strict: null };
const shell: Tool = {
  type: "custom",
  name: "shell",
  description: "runs a line",
  format: { type: "grammar", syntax: "lark", definition: "start: /.+/" },
};
const chatWeather = {
  type: "function" as const,
  function: { name: "weather", description: "of a city", parameters: schema, strict: true },
};
const chatClock = { type: "function" as const, function: { name: "clock" } };
const chatShell = {
  type: "custom" as const,
  custom: {
    name: "shell",
    description: "runs a line",
    format: {
      type: "grammar" as const,
      grammar: { definition: "start: /.+/", syntax: "lark" as const },
    },
  },
};

t.test("a complete conversation with tools, images and files becomes messages", async (t) => {
  const body: ResponseCreateParams & { max_tool_calls: number } = {
    model: "deepseek/deepseek-chat",
    instructions: "Answer in French.",
    input: [
      { role: "developer", content: "Be brief." },
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_text", text: "What is this?" },
          { type: "input_image", image_url: "data:image/png;base64,AA", detail: "low" },
          { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,AA" },
        ],
      },
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "a cat" }],
        encrypted_content: "x",
      },
      {
        type: "message",
        id: "msg_1",
        role: "assistant",
        status: "completed",
        phase: "commentary",
        content: [
          {
            type: "output_text",
            text: "Let me look.",
            annotations: [],
            logprobs: [],
            ...{ parsed: { city: "Lyon" } },
          },
        ],
      },
      {
        type: "function_call",
        id: "fc_1",
        call_id: "call_1",
        name: "weather",
        arguments: '{"city":"Lyon"}',
        status: "completed",
        ...{ parsed_arguments: { city: "Lyon" } },
      },
      { type: "reasoning", id: "rs_2", summary: [] },
      { type: "custom_tool_call", call_id: "call_2", name: "shell", input: "ls" },
      { type: "function_call_output", call_id: "call_1", output: "rain" },
      {
        type: "custom_tool_call_output",
        call_id: "call_2",
        output: [
          { type: "input_text", text: "a" },
          { type: "input_text", text: "b" },
        ],
      },
      {
        role: "user",
        content: [
          { type: "input_text", text: "And now?", prompt_cache_breakpoint: { mode: "explicit" } },
        ],
      },
    ],
    tools: [weather, clock, shell],
    tool_choice: "required",
    parallel_tool_calls: false,
    text: {
      format: { type: "json_schema", name: "cat", schema, description: "a cat", strict: true },
      verbosity: "low",
    },
    reasoning: { effort: "high", summary: "auto" },
    include: ["message.output_text.logprobs", "reasoning.encrypted_content"],
    top_logprobs: 3,
    max_output_tokens: 500,
    max_tool_calls: 3,
    temperature: 0.5,
    top_p: 0.9,
    store: false,
    background: false,
    truncation: "disabled",
    metadata: { run: "7" },
    user: "u",
    safety_identifier: "s",
    prompt_cache_key: "k",
    service_tier: "flex",
    stream: true,
    stream_options: { include_obfuscation: false },
    previous_response_id: null,
    conversation: null,
  };
  const expected: ChatCompletionCreateParams = {
    model: "deepseek/deepseek-chat",
    messages: [
      { role: "system", content: "Answer in French." },
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AA", detail: "low" } },
          {
            type: "file",
            file: { file_data: "data:application/pdf;base64,AA", filename: "a.pdf" },
          },
        ],
      },
      {
        role: "assistant",
        content: "Let me look.",
        tool_calls: [
          {
            id: "call_1",
            type: "function",
            function: { name: "weather", arguments: '{"city":"Lyon"}' },
          },
          { id: "call_2", type: "custom", custom: { name: "shell", input: "ls" } },
        ],
      },
      { role: "tool", content: "rain", tool_call_id: "call_1" },
      {
        role: "tool",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
        tool_call_id: "call_2",
      },
      {
        role: "user",
        content: [
          { type: "text", text: "And now?", prompt_cache_breakpoint: { mode: "explicit" } },
        ],
      },
    ],
    tools: [chatWeather, chatClock, chatShell],
    tool_choice: "required",
    parallel_tool_calls: false,
    response_format: {
      type: "json_schema",
      json_schema: { name: "cat", schema, description: "a cat", strict: true },
    },
    verbosity: "low",
    reasoning_effort: "high",
    logprobs: true,
    top_logprobs: 3,
    max_tokens: 500,
    temperature: 0.5,
    top_p: 0.9,
    user: "u",
    safety_identifier: "s",
    prompt_cache_key: "k",
    service_tier: "flex",
    stream: true,
    stream_options: { include_usage: true },
  };
  t.strictSame(translated(body), expected);
});

t.test("the smallest request is one user message", async (t) => {
  t.strictSame(translated({ model: "m", input: "hi" }), {
    model: "m",
    messages: [{ role: "user", content: "hi" }],
  });
});

const base = { model: "m", input: "hi" };
const hi = [{ role: "user", content: "hi" }];

t.test("parameters are translated as in the table", async (t) => {
  const cases: readonly (readonly [object, object])[] = [
    [{ stream: false }, { stream: false }],
    [
      {
        stream: null,
        temperature: null,
        tools: null,
        text: null,
        include: null,
        store: null,
        unheard_of: null,
      },
      {},
    ],
    [{ client_metadata: { "x-codex-installation-id": "1" } }, {}],
    [{ text: { format: { type: "text" } } }, {}],
    [
      { text: { format: { type: "json_object" }, verbosity: null } },
      { response_format: { type: "json_object" } },
    ],
    [
      { text: { format: { type: "json_schema", name: "n", schema: {}, strict: null } } },
      { response_format: { type: "json_schema", json_schema: { name: "n", schema: {} } } },
    ],
    [
      {
        reasoning: {
          effort: "minimal",
          summary: null,
          unheard_of: null,
          context: "auto",
          mode: "standard",
        },
      },
      { reasoning_effort: "minimal" },
    ],
    [{ include: ["message.output_text.logprobs"] }, { logprobs: true }],
    [{ include: ["file_search_call.results"], top_logprobs: 0 }, {}],
    [{ top_logprobs: 2 }, { logprobs: true, top_logprobs: 2 }],
    [
      { prompt_cache_retention: "24h", prompt_cache_options: { ttl: "30m" } },
      { prompt_cache_retention: "24h", prompt_cache_options: { ttl: "30m" } },
    ],
    [{ tools: [], tool_choice: "auto", parallel_tool_calls: true }, {}],
    [{ tool_choice: "none" }, {}],
    [{ tools: [clock] }, { tools: [chatClock] }],
    [
      { tools: [weather, shell], tool_choice: { type: "function", name: "weather" } },
      {
        tools: [chatWeather, chatShell],
        tool_choice: { type: "function", function: { name: "weather" } },
      },
    ],
    [
      { tools: [weather, shell], tool_choice: { type: "custom", name: "shell" } },
      {
        tools: [chatWeather, chatShell],
        tool_choice: { type: "custom", custom: { name: "shell" } },
      },
    ],
    [
      {
        tools: [weather, clock, shell],
        tool_choice: {
          type: "allowed_tools",
          mode: "required",
          tools: [
            { type: "custom", name: "shell" },
            { type: "function", name: "weather" },
          ],
        },
      },
      { tools: [chatWeather, chatShell], tool_choice: "required" },
    ],
    [
      {
        tools: [
          {
            type: "custom",
            name: "c",
            format: { type: "text" },
            allowed_callers: ["direct"],
            defer_loading: false,
          },
        ],
      },
      { tools: [{ type: "custom", custom: { name: "c", format: { type: "text" } } }] },
    ],
  ];
  for (const [given, expected] of cases)
    t.strictSame(
      translated({ ...base, ...given }),
      { model: "m", messages: hi, ...expected },
      JSON.stringify(given),
    );
});

const image = { type: "input_image", image_url: "https://x/y.png" };

t.test("one turn of the assistant becomes one message", async (t) => {
  const call = (id: string) => ({
    type: "function_call",
    call_id: id,
    name: "clock",
    arguments: "{}",
  });
  const chatCall = (id: string) => ({
    id,
    type: "function",
    function: { name: "clock", arguments: "{}" },
  });
  const output = (id: string) => ({ type: "function_call_output", call_id: id, output: "noon" });
  const chatOutput = (id: string) => ({ role: "tool", content: "noon", tool_call_id: id });
  const says = (content: unknown) => ({ role: "assistant", content });
  const cases: readonly (readonly [string, readonly object[], readonly object[]])[] = [
    [
      "calls in parallel",
      [call("a"), call("b"), output("a"), output("b")],
      [
        { role: "assistant", content: null, tool_calls: [chatCall("a"), chatCall("b")] },
        chatOutput("a"),
        chatOutput("b"),
      ],
    ],
    [
      "calls one after the other",
      [call("a"), output("a"), call("b"), output("b")],
      [
        { role: "assistant", content: null, tool_calls: [chatCall("a")] },
        chatOutput("a"),
        { role: "assistant", content: null, tool_calls: [chatCall("b")] },
        chatOutput("b"),
      ],
    ],
    [
      "a call that Gemini has signed",
      [call("a__signed__YSsvPT0"), output("a__signed__YSsvPT0")],
      [
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { ...chatCall("a"), extra_content: { google: { thought_signature: "a+/==" } } },
          ],
        },
        chatOutput("a"),
      ],
    ],
    [
      "pictures and files that tools gave, behind all outputs of the turn",
      [
        call("a"),
        call("b"),
        { ...output("a"), output: [image] },
        {
          ...output("b"),
          output: [
            { type: "input_text", text: "noon" },
            { type: "input_file", file_id: "f" },
          ],
        },
        says("fine"),
      ],
      [
        { role: "assistant", content: null, tool_calls: [chatCall("a"), chatCall("b")] },
        {
          role: "tool",
          content: "The result is in the next message of the user.",
          tool_call_id: "a",
        },
        chatOutput("b"),
        {
          role: "user",
          content: [
            { type: "text", text: "Part of the result of the tool call a:" },
            { type: "image_url", image_url: { url: "https://x/y.png" } },
            { type: "text", text: "Part of the result of the tool call b:" },
            { type: "file", file: { file_id: "f" } },
          ],
        },
        says("fine"),
      ],
    ],
    [
      "text before a call",
      [says("one"), says("two"), call("a"), output("a")],
      [
        says("one"),
        { role: "assistant", content: "two", tool_calls: [chatCall("a")] },
        chatOutput("a"),
      ],
    ],
    [
      "text behind a call",
      [call("a"), says("one"), output("a")],
      [{ role: "assistant", content: "one", tool_calls: [chatCall("a")] }, chatOutput("a")],
    ],
    [
      "text on both sides",
      [says("one"), call("a"), says([{ type: "refusal", refusal: "no" }]), output("a")],
      [
        {
          role: "assistant",
          content: [
            { type: "text", text: "one" },
            { type: "refusal", refusal: "no" },
          ],
          tool_calls: [chatCall("a")],
        },
        chatOutput("a"),
      ],
    ],
    ["no text at all", [says([])], [says("")]],
  ];
  for (const [name, input, messages] of cases)
    t.strictSame(translated({ model: "m", input })["messages"], messages, name);
});

const user = (...content: unknown[]) => ({ input: [{ role: "user", content }] });
const tool = (fields: object) => ({ tools: [{ type: "function", name: "f", ...fields }] });

t.test("unsupported and invalid fields are a 400 that names the field", async (t) => {
  const cases: readonly (readonly [object, string])[] = [
    [{ input: undefined }, "input is required"],
    [{ input: null }, "input is required"],
    [{ input: [] }, "input must not be empty"],
    [
      { instructions: "Say something.", input: [{ type: "reasoning", id: "rs_1", summary: [] }] },
      "input must not be empty",
    ],
    [{ input: 7 }, "input must be a string or an array, not 7"],
    [{ input: ["hi"] }, "input[0] must be an object, not a string"],
    [{ instructions: ["be nice"] }, "instructions must be a string, not an array"],
    [{ messages: [] }, "messages is not a field of the Responses API"],
    [{ stop: "x" }, "stop is not a field of the Responses API"],
    [JSON.parse('{"__proto__":{}}') as object, "__proto__ is not a field of the Responses API"],
    [{ temperature: "hot" }, "temperature must be a number, not a string"],
    [{ max_output_tokens: 0.5 }, "max_output_tokens must be an integer greater than 0, not 0.5"],
    [{ top_logprobs: -1 }, "top_logprobs must be an integer greater than 0, not -1"],
    [{ stream: "yes" }, "stream must be true or false, not a string"],
    [
      { stream_options: { include_obfuscation: true } },
      "stream_options.include_obfuscation must be false: a translated stream isn't obfuscated",
    ],
    [{ stream_options: { include_usage: true } }, "stream_options.include_usage is not known"],
    [
      { store: true },
      "store must be false, not true: this provider only has chat completions, which don't store responses",
    ],
    [
      { background: true },
      "background must be false, not true: this provider only has chat completions, which can't run in the background",
    ],
    [
      { truncation: "auto" },
      'truncation must be "disabled", not "auto": this provider only has chat completions, which never truncate the input',
    ],
    [
      { previous_response_id: "resp_1" },
      "previous_response_id can't be passed on: that response isn't stored; send the complete conversation as input",
    ],
    [
      { conversation: "conv_1" },
      "conversation can't be passed on: conversations aren't stored; send the complete conversation as input",
    ],
    [
      { prompt: { id: "pmpt_1" } },
      "prompt can't be passed on: the template isn't stored; send its text as instructions and input",
    ],
    [
      { context_management: [] },
      "context_management can't be passed on: chat completions don't compact the input",
    ],
    [{ moderation: { model: "omni" } }, "moderation can't be passed on: it isn't translated"],
    [{ metadata: "x" }, "metadata must be an object, not a string"],
    [{ max_tool_calls: "3" }, "max_tool_calls must be an integer greater than 0, not a string"],
    [{ include: ["everything"] }, 'include[0] is not known: "everything"'],
    [
      { reasoning: { summary: "detailed" } },
      'reasoning.summary must be "auto", not "detailed": chat completions have no such field',
    ],
    [
      { reasoning: { generate_summary: "concise" } },
      'reasoning.generate_summary must be "auto", not "concise": chat completions have no such field',
    ],
    [{ reasoning: { depth: 3 } }, "reasoning.depth is not known"],
    [
      { text: { format: { type: "grammar" } } },
      'text.format.type must be text, json_object or json_schema, not "grammar"',
    ],
    [{ text: { format: { type: "json_schema", schema: {} } } }, "text.format.name is required"],
    [{ text: { format: { type: "json_schema", name: "n" } } }, "text.format.schema is required"],
    [{ text: { stop: 1 } }, "text.stop is not known"],
    [{ parallel_tool_calls: 1 }, "parallel_tool_calls must be true or false, not 1"],

    [{ tools: {} }, "tools must be an array, not an object"],
    [{ tools: [{ name: "f" }] }, "tools[0].type is required"],
    ...[
      "web_search",
      "web_search_preview",
      "file_search",
      "code_interpreter",
      "computer",
      "computer_use_preview",
      "mcp",
      "image_generation",
      "local_shell",
      "shell",
      "apply_patch",
      "namespace",
      "tool_search",
    ].map(
      (type) =>
        [
          { tools: [clock, { type }] },
          `tools[1].type can't be passed on: this provider only has chat completions, which support functions and custom tools, not "${type}"`,
        ] as const,
    ),
    [{ tools: [{ type: "function", parameters: {} }] }, "tools[0].name is required"],
    [tool({ parameters: "x" }), "tools[0].parameters must be an object, not a string"],
    [tool({ strict: "x" }), "tools[0].strict must be true or false, not a string"],
    [
      tool({ defer_loading: true }),
      "tools[0].defer_loading can't be passed on: chat completions load every tool at once",
    ],
    [
      tool({ allowed_callers: ["programmatic"] }),
      "tools[0].allowed_callers can't be passed on: in chat completions only the model calls tools",
    ],
    [
      tool({ output_schema: {} }),
      "tools[0].output_schema can't be passed on: chat completions have no such field",
    ],
    [tool({ function: {} }), "tools[0].function is not known"],
    [
      { tools: [{ type: "custom", name: "c", format: { type: "json" } }] },
      'tools[0].format.type must be text or grammar, not "json"',
    ],
    [
      { tools: [{ type: "custom", name: "c", format: { type: "grammar", syntax: "lark" } }] },
      "tools[0].format.definition is required",
    ],
    [{ tool_choice: "required" }, "tool_choice requires a tool, but the request has none"],
    [{ tools: [clock], tool_choice: "any" }, "tool_choice must be an object, not a string"],
    [
      { tools: [clock], tool_choice: { type: "web_search_preview" } },
      `tool_choice can't be passed on: chat completions support functions and custom tools, not "web_search_preview"`,
    ],
    [{ tools: [clock], tool_choice: { type: "function" } }, "tool_choice.name is required"],
    [
      { tools: [clock], tool_choice: { type: "allowed_tools", mode: "some", tools: [] } },
      'tool_choice.mode must be auto or required, not "some"',
    ],
    [
      { tools: [clock], tool_choice: { type: "allowed_tools", mode: "auto", tools: [] } },
      "tool_choice.tools must name at least one tool",
    ],
    [
      {
        tools: [clock],
        tool_choice: {
          type: "allowed_tools",
          mode: "auto",
          tools: [{ type: "function", name: "weather" }],
        },
      },
      "tool_choice.tools[0] is not one of the request's tools",
    ],

    [
      { input: [{ type: "item_reference", id: "msg_1" }] },
      "input[0] refers to a stored item, and no items are stored: send the item itself, as SDKs do with store: false",
    ],
    [
      { input: [{ id: "msg_1" }] },
      "input[0] refers to a stored item, and no items are stored: send the item itself, as SDKs do with store: false",
    ],
    ...[
      "web_search_call",
      "file_search_call",
      "computer_call",
      "computer_call_output",
      "code_interpreter_call",
      "image_generation_call",
      "mcp_call",
      "mcp_approval_response",
      "local_shell_call",
      "compaction",
      "toString",
    ].map(
      (type) =>
        [
          { input: [{ role: "user", content: "x" }, { type }] },
          `input[1].type can't be passed on: chat completions have no "${type}"`,
        ] as const,
    ),
    [
      { input: [{ role: "tool", content: "x" }] },
      'input[0].role must be one of system, developer, user, assistant, not "tool"',
    ],
    [
      { input: [{ type: "message", content: "x" }] },
      "input[0].role must be one of system, developer, user, assistant, not nothing",
    ],
    [{ input: [{ role: "user", content: "x", name: "Al" }] }, "input[0].name is not known"],
    [{ input: [{ role: "user" }] }, "input[0].content is required"],
    [
      { input: [{ role: "user", content: 1 }] },
      "input[0].content must be a string or an array, not 1",
    ],
    [user("x"), "input[0].content[0] must be an object, not a string"],
    [user({ text: "x" }), "input[0].content[0].type is required"],
    [
      user({ type: "text", text: "x" }),
      'input[0].content[0].type must be one of input_text, output_text, refusal, input_image, input_file, input_audio, not "text"',
    ],
    [user({ type: "input_text" }), "input[0].content[0].text is required"],
    [user({ type: "input_text", text: "x", lang: "fr" }), "input[0].content[0].lang is not known"],
    [
      user({ type: "refusal", refusal: "no" }),
      `input[0].content[0] can't be passed on: this provider only has chat completions, where a message of the role user can't hold "refusal"`,
    ],
    [
      user({ type: "input_image", file_id: "file_1" }),
      "input[0].content[0].file_id can't be passed on: chat completions take an image by image_url only",
    ],
    [user({ type: "input_image" }), "input[0].content[0].image_url is required"],
    [
      user({ ...image, detail: "original" }),
      'input[0].content[0].detail must be auto, low or high for chat completions, not "original"',
    ],
    [
      user({ type: "input_file", file_url: "https://x/y.pdf" }),
      "input[0].content[0].file_url can't be passed on: chat completions take a file by file_data or file_id only",
    ],
    [
      user({ type: "input_file", file_data: "x", detail: "high" }),
      "input[0].content[0].detail can't be passed on: chat completions have no such field for files",
    ],
    [
      user({ type: "input_file", filename: "x" }),
      "input[0].content[0].file_data or file_id is required",
    ],
    [
      { input: [{ role: "developer", content: [image] }] },
      `input[0].content[0] can't be passed on: this provider only has chat completions, where a message of the role system can't hold "input_image"`,
    ],
    [
      { input: [{ role: "assistant", content: [image] }] },
      `input[0].content[0] can't be passed on: this provider only has chat completions, where a message of the role assistant can't hold "input_image"`,
    ],
    [
      {
        input: [
          {
            type: "function_call_output",
            call_id: "c",
            output: [{ type: "input_audio", input_audio: {} }],
          },
        ],
      },
      `input[0].output[0] can't be passed on: this provider only has chat completions, where a tool output can't hold "input_audio"`,
    ],
    [{ input: [{ type: "function_call_output", output: "x" }] }, "input[0].call_id is required"],
    [
      { input: [{ type: "function_call", call_id: "c", name: "f", arguments: {} }] },
      "input[0].arguments must be a string, not an object",
    ],
    [
      {
        input: [
          { type: "function_call", call_id: "c", name: "f", arguments: "{}", namespace: "n" },
        ],
      },
      "input[0].namespace can't be passed on: chat completions have no tool namespaces",
    ],
    [
      {
        input: [
          {
            type: "function_call",
            call_id: "c",
            name: "f",
            arguments: "{}",
            caller: { type: "program", caller_id: "p" },
          },
        ],
      },
      "input[0].caller can't be passed on: in chat completions only the model calls tools",
    ],
    [
      { input: [{ type: "custom_tool_call", call_id: "c", name: "f" }] },
      "input[0].input is required",
    ],
  ];
  for (const [given, expected] of cases) {
    const body: Record<string, unknown> = { model: "m", input: "hi" };
    for (const key of Object.keys(given))
      Object.defineProperty(body, key, { value: (given as JsonObject)[key], enumerable: true });
    t.equal(refusal(body), expected);
  }
});

t.test("of several errors in the input the first one is reported", async (t) => {
  t.equal(
    refusal({
      model: "m",
      input: [{ role: "user", content: 1 }, { type: "nope" }],
      tools: [{ type: "mcp" }],
      nope: 1,
    }),
    "input[0].content must be a string or an array, not 1",
  );
});

const text = fc.string({ unit: "grapheme" });
const name = fc.stringMatching(/^[a-z_]{1,8}$/);
const item: fc.Arbitrary<ResponseInputItem> = fc.oneof(
  fc.record({
    role: fc.constantFrom(
      "user" as const,
      "assistant" as const,
      "system" as const,
      "developer" as const,
    ),
    content: fc.oneof(
      text,
      fc.array(fc.record({ type: fc.constant("input_text" as const), text }), { maxLength: 3 }),
    ),
  }),
  fc.record({
    type: fc.constant("function_call" as const),
    call_id: name,
    name,
    arguments: fc.json(),
  }),
  fc.record({ type: fc.constant("custom_tool_call" as const), call_id: name, name, input: text }),
  fc.record({ type: fc.constant("function_call_output" as const), call_id: name, output: text }),
  fc.record({ type: fc.constant("reasoning" as const), id: name, summary: fc.constant<[]>([]) }),
);
const functionTool = fc.record({
  type: fc.constant("function" as const),
  name,
  description: text,
  parameters: fc.dictionary(name, fc.jsonValue()),
  strict: fc.constantFrom(true, false, null),
});

/**
 * What a conversation says, in order, whatever the form: who, and which words; calls and outputs
 * with their ids.
 */
function contentOfItems(items: readonly ResponseInputItem[]): unknown[] {
  return items.flatMap((each): unknown[] => {
    if (each.type === "function_call") return [["call", each.call_id, each.name, each.arguments]];
    if (each.type === "custom_tool_call") return [["call", each.call_id, each.name, each.input]];
    if (each.type === "function_call_output") return [["output", each.call_id, each.output]];
    if (!("role" in each) || each.type === "additional_tools") return [];
    const words =
      typeof each.content === "string"
        ? [each.content]
        : each.content!.map((part) => (part as { text: string }).text);
    return [[each.role === "developer" ? "system" : each.role, words.join("|")]];
  });
}

function contentOfMessages(messages: readonly JsonObject[]): unknown[] {
  return messages.flatMap((message): unknown[] => {
    const content = message["content"] as string | readonly { text: string }[] | null;
    const words =
      content === null
        ? null
        : typeof content === "string"
          ? content
          : content.map((part) => part.text).join("|");
    if (message["role"] === "tool") return [["output", message["tool_call_id"], words]];
    const calls = (
      (message["tool_calls"] ?? []) as {
        id: string;
        function?: { name: string; arguments: string };
        custom?: { name: string; input: string };
      }[]
    ).map((call) => [
      "call",
      call.id,
      (call.function ?? call.custom)!.name,
      call.function?.arguments ?? call.custom!.input,
    ]);
    return words === null ? calls : [[message["role"], words], ...calls];
  });
}

t.test("every text, call, output and tool is kept, in order", async () => {
  fc.assert(
    fc.property(
      fc.array(item, { maxLength: 12 }),
      fc.array(functionTool, { maxLength: 3 }),
      text,
      (items, tools, instructions) => {
        const input: ResponseInputItem[] = [{ role: "user", content: "begin" }];
        // A text of the assistant behind a call joins it, and its words come first; that has its
        // own table above.
        for (const each of items)
          if (
            !(
              "role" in each &&
              each.role === "assistant" &&
              /_call$/.test(input.findLast(({ type }) => type !== "reasoning")!.type ?? "")
            )
          )
            input.push(each);
        const chat = translated({ model: "m", instructions, input, tools });
        assert.deepEqual(contentOfMessages(chat["messages"] as JsonObject[]), [
          ["system", instructions],
          ...contentOfItems(input),
        ]);
        const expected = tools.map(({ name, description, parameters, strict }) => ({
          type: "function",
          function: { name, description, parameters, ...(strict === null ? {} : { strict }) },
        }));
        assert.deepEqual(chat["tools"] ?? [], JSON.parse(JSON.stringify(expected)));
      },
    ),
    { numRuns: 300 },
  );
});

const fieldNames = [
  "model",
  "instructions",
  "input",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "text",
  "reasoning",
  "include",
  "stream",
  "stream_options",
  "max_output_tokens",
  "metadata",
  "store",
  "top_logprobs",
  "prompt",
  "nope",
];

t.test("any JSON is translated or refused with the field's name, and isn't modified", async () => {
  const odd = fc.oneof(
    fc.jsonValue(),
    fc.array(
      fc.record(
        {
          type: fc.constantFrom(
            "function",
            "custom",
            "message",
            "function_call",
            "input_text",
            "grammar",
            "allowed_tools",
          ),
          name: fc.jsonValue(),
          content: fc.jsonValue(),
          role: fc.constantFrom("user", "assistant", 1),
          format: fc.jsonValue(),
        },
        { requiredKeys: [] },
      ),
    ),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...fieldNames), odd), (body) => {
      const before = JSON.stringify(body);
      const result = responsesToChat.request(body, options);
      assert.equal(JSON.stringify(body), before);
      if (!result.ok)
        assert.ok(
          fieldNames.includes(result.failure.param!.split(/[.[]/)[0]!),
          result.failure.message,
        );
    }),
    { numRuns: 300 },
  );
});

/** Each field that the SDK knows; a new one in a newer SDK stops the compiler here. */
const sdkFields: Readonly<Record<keyof ResponseCreateParams, true>> = {
  background: true,
  context_management: true,
  conversation: true,
  include: true,
  input: true,
  instructions: true,
  max_output_tokens: true,
  metadata: true,
  model: true,
  moderation: true,
  parallel_tool_calls: true,
  previous_response_id: true,
  prompt: true,
  prompt_cache_key: true,
  prompt_cache_options: true,
  prompt_cache_retention: true,
  reasoning: true,
  safety_identifier: true,
  service_tier: true,
  store: true,
  stream: true,
  stream_options: true,
  temperature: true,
  text: true,
  tool_choice: true,
  tools: true,
  top_logprobs: true,
  top_p: true,
  truncation: true,
  user: true,
};

t.test("every field of the SDK is known, and listed on the page", async (t) => {
  const page = readFileSync(join(root, "docs/dialects-responses.md"), "utf8");
  for (const field of Object.keys(sdkFields)) {
    t.equal(
      field === "input" ? "accepted" : refusal({ model: "m", input: "hi", [field]: null }),
      "accepted",
      field,
    );
    t.match(page, new RegExp(`^\\| [^|]*\`${field}[\`.]`, "m"), field);
  }
});
