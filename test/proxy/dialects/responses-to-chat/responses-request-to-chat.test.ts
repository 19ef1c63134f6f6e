import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ChatCompletionCreateParams } from "openai/resources/chat/completions";
import type { ResponseCreateParams, Tool } from "openai/resources/responses/responses";
import t from "tap";
import { root } from "../../../tidy/source-tree.js";
import { refusal, refusalWith, translated } from "./translate-responses-request.js";

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

t.test("unsupported and invalid fields are a 400 that names the field", async (t) => {
  const cases: readonly (readonly [object, string])[] = [
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
    [
      { access_programs: { cyber: "daybreak_blue" } },
      "access_programs can't be passed on: chat completions have no access programs",
    ],
    [
      { background_options: { completion_window: "2h" } },
      "background_options can't be passed on: chat completions don't run in the background",
    ],
    [{ image: {} }, "image can't be passed on: chat completions don't compress images"],
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
    [{ prompt_cache_options: [] }, "prompt_cache_options must be an object, not an array"],
    [
      { prompt_cache_options: { prewarm: true } },
      "prompt_cache_options.prewarm must not be true: the provider can't prepare its cache without an answer",
    ],
  ];
  for (const [fields, expected] of cases) t.equal(refusalWith(fields), expected);
});

/** Since version 7 of the SDK. */
type NewField = "access_programs" | "background_options" | "image" | "max_tool_calls";

/** Each field that the SDK knows; a new one in a newer SDK stops the compiler here. */
const sdkFields: Readonly<Record<keyof ResponseCreateParams | NewField, true>> = {
  access_programs: true,
  background: true,
  background_options: true,
  context_management: true,
  conversation: true,
  image: true,
  include: true,
  input: true,
  instructions: true,
  max_output_tokens: true,
  max_tool_calls: true,
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
  const page = readFileSync(join(root, "docs/reference/dialects.md"), "utf8");
  const section = page.split("\n## Responses\n")[1]!.split("\n## ")[0]!;
  for (const field of Object.keys(sdkFields)) {
    t.equal(
      field === "input" ? "accepted" : refusal({ model: "m", input: "hi", [field]: null }),
      "accepted",
      field,
    );
    t.match(section, new RegExp(`^- .*\`${field}[\`.:]`, "m"), field);
  }
});
