import t from "tap";
import { chatToMessages } from "../../../../proxy/dialects/choose-dialect.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { jsonDepthMax } from "../../../../shared/bounds.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { options } from "../request-options.js";
import { chatRequest, chatRequestAsMessages } from "../sample-requests.js";
import { base, refusal, translated } from "./translate-chat-request.js";

t.test("a complete request becomes one of Anthropic's", async (t) => {
  t.strictSame(translated(chatRequest), chatRequestAsMessages);
});

t.test("the smallest request gets the default of max_tokens, and nothing else", async (t) => {
  t.strictSame(translated(base), {
    model: "m",
    max_tokens: 4096,
    messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
  });
});

t.test("a body isn't changed by its translation", async (t) => {
  const before = JSON.stringify(chatRequest);
  translated(chatRequest);
  t.equal(JSON.stringify(chatRequest), before);
});

t.test("fields are translated as in the table", async (t) => {
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
    const { tools: given, ...rest } = translated({ ...base, ...more }) as Record<string, unknown>;
    const { tools: wanted, ...others } = {
      model: "m",
      max_tokens: 4096,
      messages: translated(base)["messages"],
      ...expected,
    } as Record<string, unknown>;
    t.strictSame(rest, others, JSON.stringify(more));
    if (wanted !== undefined) t.strictSame(given, wanted, JSON.stringify(more));
  }
});

t.test("fields and values without a counterpart at Anthropic are refused by name", async (t) => {
  const provider = "the model's provider speaks Anthropic messages";
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
      { response_format: { type: "xml" } },
      "response_format.type",
      "response_format.type must be text, json_object or json_schema",
    ],
    [
      { service_tier: "flex" },
      "service_tier",
      `service_tier must be auto or default: ${provider}, which has no other tiers`,
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
      { tool_choice: { type: "custom", custom: { name: "a" } } },
      "tool_choice.type",
      "tool_choice.type must be function or allowed_tools",
    ],
  ];
  for (const [more, param, message] of cases)
    t.strictSame(refusal(more), [param, message], JSON.stringify(more));
});

t.test("invalid fields and values are refused by name", async (t) => {
  const deep = `${'{"a":'.repeat(jsonDepthMax + 1)}1${"}".repeat(jsonDepthMax + 1)}`;
  const cases: readonly (readonly [object, string, string])[] = [
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

t.test("a tool whose schema has alternatives at its top loses them, with a word", async (t) => {
  const parameters = {
    type: "object",
    properties: { a: { anyOf: [] } },
    anyOf: [{ required: ["a"] }],
  };
  const result = chatToMessages.request(
    { ...base, tools: [{ type: "function", function: { name: "f", parameters } }] },
    options,
  );
  t.match(result, exactly({ dropped: ["tools[].function.parameters.anyOf"] }));
  t.same((result as { body: JsonObject }).body["tools"], [
    { name: "f", input_schema: { type: "object", properties: { a: { anyOf: [] } } } },
  ]);
});
