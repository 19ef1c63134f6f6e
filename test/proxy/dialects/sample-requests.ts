/** Requests in both dialects, with every field that real ones have, and their translations. */
import type { JsonObject } from "../../../proxy/dialects/shared/translation.js";

const weatherSchema = {
  type: "object",
  properties: { city: { type: "string", description: "A city" } },
  required: ["city"],
  additionalProperties: false,
};

export const chatRequest: JsonObject = {
  model: "smart",
  messages: [
    { role: "system", content: "You are a weather service." },
    { role: "developer", content: [{ type: "text", text: "Answer in Celsius." }] },
    {
      role: "user",
      content: [
        { type: "text", text: "What is the weather in these two?" },
        {
          type: "image_url",
          image_url: { url: "data:image/png;base64,iVBORw0KGgo=", detail: "high" },
        },
        { type: "image_url", image_url: { url: "https://example.com/oslo.jpg" } },
        {
          type: "file",
          file: { filename: "cities.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
        },
      ],
    },
    {
      role: "assistant",
      content: "I'll look.",
      refusal: null,
      annotations: [],
      tool_calls: [
        {
          id: "call_1",
          type: "function",
          function: { name: "get_weather", arguments: '{"city":"Oslo"}' },
        },
        {
          id: "call_2",
          type: "function",
          function: { name: "get_weather", arguments: '{"city":"Bergen"}' },
        },
      ],
    },
    { role: "tool", tool_call_id: "call_1", content: "4 degrees" },
    {
      role: "tool",
      tool_call_id: "call_2",
      content: [
        { type: "text", text: "6 degrees" },
        { type: "text", text: "rain" },
      ],
    },
    { role: "user", content: "And tomorrow?" },
  ],
  max_completion_tokens: 2048,
  temperature: 0.5,
  top_p: 0.9,
  stop: ["END", "STOP"],
  stream: true,
  stream_options: { include_usage: true },
  tools: [
    {
      type: "function",
      function: {
        name: "get_weather",
        description: "The weather of a city",
        parameters: weatherSchema,
        strict: true,
      },
    },
  ],
  tool_choice: "required",
  parallel_tool_calls: false,
  response_format: {
    type: "json_schema",
    json_schema: { name: "weather", strict: true, schema: weatherSchema },
  },
  reasoning_effort: "high",
  user: "u-1",
  service_tier: "default",
  store: true,
  metadata: { app: "weather" },
  seed: 7,
  n: 1,
  presence_penalty: 0,
  logit_bias: {},
  logprobs: null,
};

export const chatRequestAsMessages: JsonObject = {
  model: "smart",
  max_tokens: 2048,
  system: [
    { type: "text", text: "You are a weather service." },
    { type: "text", text: "Answer in Celsius." },
  ],
  messages: [
    {
      role: "user",
      content: [
        { type: "text", text: "What is the weather in these two?" },
        {
          type: "image",
          source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" },
        },
        { type: "image", source: { type: "url", url: "https://example.com/oslo.jpg" } },
        {
          type: "document",
          source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
          title: "cities.pdf",
        },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "text", text: "I'll look." },
        { type: "tool_use", id: "call_1", name: "get_weather", input: { city: "Oslo" } },
        { type: "tool_use", id: "call_2", name: "get_weather", input: { city: "Bergen" } },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "call_1", content: "4 degrees" },
        {
          type: "tool_result",
          tool_use_id: "call_2",
          content: [
            { type: "text", text: "6 degrees" },
            { type: "text", text: "rain" },
          ],
        },
        { type: "text", text: "And tomorrow?" },
      ],
    },
  ],
  temperature: 0.5,
  top_p: 0.9,
  stop_sequences: ["END", "STOP"],
  stream: true,
  tools: [
    {
      name: "get_weather",
      description: "The weather of a city",
      input_schema: weatherSchema,
      strict: true,
    },
  ],
  tool_choice: { type: "any", disable_parallel_tool_use: true },
  thinking: { type: "adaptive" },
  output_config: { effort: "high", format: { type: "json_schema", schema: weatherSchema } },
  metadata: { user_id: "u-1" },
  service_tier: "standard_only",
};

/** As an agent sends it: blocks everywhere, marks for the cache, thinking that was signed. */
export const messagesRequest: JsonObject = {
  model: "smart",
  max_tokens: 32_000,
  system: [
    { type: "text", text: "You are an agent." },
    { type: "text", text: "The tools are below.", cache_control: { type: "ephemeral" } },
  ],
  messages: [
    { role: "user", content: "Read shot.png" },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "A picture.", signature: "EqoBCkgIARABGAI=" },
        { type: "redacted_thinking", data: "EmwKAhgBEgy=" },
        { type: "text", text: "Reading it.", citations: null },
        {
          type: "tool_use",
          id: "toolu_01",
          name: "read",
          input: { path: "shot.png" },
          caller: { type: "direct" },
        },
        { type: "tool_use", id: "toolu_02", name: "read", input: {} },
      ],
    },
    {
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: "toolu_01",
          content: [
            { type: "text", text: "640 x 480" },
            {
              type: "image",
              source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" },
            },
          ],
        },
        {
          type: "tool_result",
          tool_use_id: "toolu_02",
          content: "path is missing",
          is_error: true,
        },
        { type: "text", text: "What is on it?", cache_control: { type: "ephemeral", ttl: "1h" } },
      ],
    },
    { role: "system", content: "The user is in a hurry." },
  ],
  temperature: 1,
  stop_sequences: ["END"],
  stream: true,
  tools: [
    {
      name: "read",
      description: "Reads a file",
      input_schema: { type: "object", properties: { path: { type: "string" } } },
      cache_control: { type: "ephemeral" },
    },
  ],
  tool_choice: { type: "auto", disable_parallel_tool_use: true },
  thinking: { type: "enabled", budget_tokens: 10_000 },
  metadata: { user_id: "u-2" },
  context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
};

export const messagesRequestAsChat: JsonObject = {
  model: "smart",
  messages: [
    {
      role: "system",
      content: [
        { type: "text", text: "You are an agent." },
        { type: "text", text: "The tools are below." },
      ],
    },
    { role: "user", content: "Read shot.png" },
    {
      role: "assistant",
      content: "Reading it.",
      tool_calls: [
        {
          id: "toolu_01",
          type: "function",
          function: { name: "read", arguments: '{"path":"shot.png"}' },
        },
        { id: "toolu_02", type: "function", function: { name: "read", arguments: "{}" } },
      ],
    },
    { role: "tool", tool_call_id: "toolu_01", content: "640 x 480" },
    { role: "tool", tool_call_id: "toolu_02", content: "Error: path is missing" },
    {
      role: "user",
      content: [
        { type: "text", text: "Part of the result of the tool call toolu_01:" },
        { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
        { type: "text", text: "What is on it?" },
      ],
    },
    { role: "system", content: "The user is in a hurry." },
  ],
  max_completion_tokens: 32_000,
  temperature: 1,
  stop: ["END"],
  stream: true,
  stream_options: { include_usage: true },
  tools: [
    {
      type: "function",
      function: {
        name: "read",
        description: "Reads a file",
        parameters: { type: "object", properties: { path: { type: "string" } } },
      },
    },
  ],
  tool_choice: "auto",
  parallel_tool_calls: false,
  reasoning_effort: "medium",
  user: "u-2",
};
