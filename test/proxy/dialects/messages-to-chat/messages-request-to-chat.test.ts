import t from "tap";
import { messagesRequest, messagesRequestAsChat } from "../sample-requests.js";
import { base, hello, refusal, translated } from "./translate-messages-request.js";

t.test("a complete request becomes a chat completion's", async (t) => {
  t.strictSame(translated(messagesRequest), messagesRequestAsChat);
});

t.test("fields are translated as in the table", async (t) => {
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
            input_schema: { type: "object", properties: {}, additionalProperties: false },
            strict: true,
            eager_input_streaming: true,
          },
        ],
      },
      {
        tools: [
          {
            type: "function",
            function: {
              name: "now",
              parameters: { type: "object", properties: {}, additionalProperties: false },
              strict: true,
            },
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
    [{ thinking: { type: "between_tools" } }, { reasoning_effort: "none" }],
    [
      { thinking: { type: "adaptive" }, output_config: { effort: "xhigh" } },
      { reasoning_effort: "xhigh" },
    ],
    [{ thinking: { type: "enabled" } }, { reasoning_effort: "medium" }],
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
    ...[{ default: { if: {} } }, { enum: [{ not: 1 }] }].map((data) => {
      const withData = { ...schema, ...data };
      return [
        { output_format: { type: "json_schema", schema: withData } },
        {
          response_format: {
            type: "json_schema",
            json_schema: { name: "answer", schema: withData, strict: true },
          },
        },
      ] as const;
    }),
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
    [{ speed: "fast" }, { service_tier: "priority" }],
    [{ speed: "fast", service_tier: "standard_only" }, { service_tier: "priority" }],
  ];
  for (const [more, expected] of cases)
    t.strictSame(
      translated({ ...base, ...more }),
      { model: "m", messages: [hello], max_completion_tokens: 100, ...expected },
      JSON.stringify(more),
    );
});

t.test(
  "fields and values without a counterpart in chat completions are refused by name",
  async (t) => {
    const provider = "the model's provider speaks chat completions";
    const cases: readonly (readonly [object, string, string])[] = [
      [{ top_k: 5 }, "top_k", `top_k must be left out: ${provider}, which has no such setting`],
      [
        { inference_geo: "us" },
        "inference_geo",
        `inference_geo must be left out: ${provider}, which doesn't promise a place`,
      ],
      [
        { container: "c" },
        "container",
        `container must be left out: ${provider}, which has no containers`,
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
        { tools: [{ type: "web_search_20260318", name: "web_search" }] },
        "tools[0].type",
        `tools[0].type must be custom: ${provider}, which doesn't have Anthropic's own tools`,
      ],
      [
        { tools: [{ name: "a", input_schema: {}, defer_loading: true }] },
        "tools[0].defer_loading",
        `tools[0].defer_loading must be false: ${provider}, which has no tool search, so the tool is loaded at once`,
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
    ];
    for (const [more, param, message] of cases)
      t.strictSame(refusal(more), [param, message], JSON.stringify(more));
  },
);

t.test("invalid fields and values are refused by name", async (t) => {
  const cases: readonly (readonly [object, string, string])[] = [
    [{ max_tokens: null }, "max_tokens", "max_tokens is required"],
    [{ max_tokens: 1.5 }, "max_tokens", "max_tokens must be an integer greater than 0, not 1.5"],
    [{ temperature: 1.2 }, "temperature", "temperature must be a number from 0 to 1, not 1.2"],
    [{ tools: [{ name: "a" }] }, "tools[0].input_schema", "tools[0].input_schema is required"],
    [{ tool_choice: {} }, "tool_choice.type", "tool_choice.type is required"],
    [
      { tool_choice: { type: "some" } },
      "tool_choice.type",
      'tool_choice.type must be one of auto, none, any, tool, not "some"',
    ],
    [
      { thinking: { type: "sometimes" } },
      "thinking.type",
      'thinking.type must be one of adaptive, between_tools, disabled, enabled, not "sometimes"',
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
