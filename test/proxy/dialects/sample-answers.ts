/** Answers and streams in both dialects, as complete as real ones, and their translations. */
import type {
  AnswerContext,
  ClientEvent,
  JsonObject,
} from "../../../proxy/dialects/shared/translation.js";

export const context: AnswerContext = {
  model: "smart",
  nowSeconds: 1_795_000_000,
  provider: "openai",
  requestId: "req-7",
  request: {},
};

export const messagesAnswer: JsonObject = {
  id: "msg_01XFDUDYJgAACzvnptvVoYEL",
  type: "message",
  role: "assistant",
  model: "claude-opus-5-5",
  content: [
    { type: "thinking", thinking: "Two cities.", signature: "EqoBCkgIARABGAI=" },
    { type: "redacted_thinking", data: "EmwKAhgBEgy=" },
    { type: "text", text: "I'll look at ", citations: null },
    { type: "text", text: "both.", citations: null },
    {
      type: "tool_use",
      id: "toolu_01",
      name: "get_weather",
      input: { city: "Oslo" },
      caller: { type: "direct" },
    },
    { type: "tool_use", id: "toolu_02", name: "now", input: {}, caller: { type: "direct" } },
  ],
  stop_reason: "tool_use",
  stop_sequence: null,
  stop_details: null,
  container: null,
  diagnostics: null,
  usage: {
    input_tokens: 100,
    cache_creation_input_tokens: 300,
    cache_read_input_tokens: 600,
    cache_creation: { ephemeral_5m_input_tokens: 300, ephemeral_1h_input_tokens: 0 },
    output_tokens: 200,
    output_tokens_details: { thinking_tokens: 150 },
    server_tool_use: null,
    service_tier: "standard",
    inference_geo: "global",
    speed: null,
  },
};

const thinkingBlocks = [
  { type: "thinking", thinking: "Two cities.", signature: "EqoBCkgIARABGAI=" },
  { type: "redacted_thinking", data: "EmwKAhgBEgy=" },
];
const chatUsage = {
  prompt_tokens: 1000,
  completion_tokens: 200,
  total_tokens: 1200,
  prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 300 },
  completion_tokens_details: { reasoning_tokens: 150 },
};

export const messagesAnswerAsChat: JsonObject = {
  id: "msg_01XFDUDYJgAACzvnptvVoYEL",
  object: "chat.completion",
  created: 1_795_000_000,
  model: "smart",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: "I'll look at both.",
        refusal: null,
        reasoning_content: "Two cities.",
        thinking_blocks: thinkingBlocks,
        tool_calls: [
          {
            id: "toolu_01",
            type: "function",
            function: { name: "get_weather", arguments: '{"city":"Oslo"}' },
          },
          { id: "toolu_02", type: "function", function: { name: "now", arguments: "{}" } },
        ],
      },
      logprobs: null,
      finish_reason: "tool_calls",
    },
  ],
  usage: chatUsage,
  service_tier: "default",
};

/** The same answer as Anthropic streams it. */
export const messagesEvents: readonly ClientEvent[] = [
  {
    type: "message_start",
    message: {
      id: "msg_01XFDUDYJgAACzvnptvVoYEL",
      type: "message",
      role: "assistant",
      model: "claude-opus-5-5",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: {
        input_tokens: 100,
        cache_creation_input_tokens: 300,
        cache_read_input_tokens: 600,
        output_tokens: 1,
        service_tier: "standard",
      },
    },
  },
  {
    type: "content_block_start",
    index: 0,
    content_block: { type: "thinking", thinking: "", signature: "" },
  },
  { type: "ping" },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Two " } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "cities." } },
  {
    type: "content_block_delta",
    index: 0,
    delta: { type: "signature_delta", signature: "EqoBCkgIARABGAI=" },
  },
  { type: "content_block_stop", index: 0 },
  {
    type: "content_block_start",
    index: 1,
    content_block: { type: "redacted_thinking", data: "EmwKAhgBEgy=" },
  },
  { type: "content_block_stop", index: 1 },
  { type: "content_block_start", index: 2, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 2, delta: { type: "text_delta", text: "I'll look " } },
  {
    type: "content_block_delta",
    index: 2,
    delta: { type: "citations_delta", citation: { type: "char_location" } },
  },
  { type: "content_block_delta", index: 2, delta: { type: "text_delta", text: "at both." } },
  { type: "content_block_stop", index: 2 },
  {
    type: "content_block_start",
    index: 3,
    content_block: { type: "tool_use", id: "toolu_01", name: "get_weather", input: {} },
  },
  { type: "content_block_delta", index: 3, delta: { type: "input_json_delta", partial_json: "" } },
  {
    type: "content_block_delta",
    index: 3,
    delta: { type: "input_json_delta", partial_json: '{"city"' },
  },
  {
    type: "content_block_delta",
    index: 3,
    delta: { type: "input_json_delta", partial_json: ':"Oslo"}' },
  },
  { type: "content_block_stop", index: 3 },
  {
    type: "content_block_start",
    index: 4,
    content_block: { type: "tool_use", id: "toolu_02", name: "now", input: {} },
  },
  { type: "content_block_delta", index: 4, delta: { type: "input_json_delta", partial_json: "" } },
  { type: "content_block_stop", index: 4 },
  {
    type: "message_delta",
    delta: { stop_reason: "tool_use", stop_sequence: null },
    usage: {
      input_tokens: null,
      output_tokens: 200,
      output_tokens_details: { thinking_tokens: 150 },
    },
  },
  { type: "message_stop" },
].map((event) => ({ event: event.type, data: JSON.stringify(event) }));

export const chatAnswer: JsonObject = {
  id: "chatcmpl-BxYz",
  object: "chat.completion",
  created: 1_794_999_999,
  model: "gpt-5.6",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: "I'll look.",
        refusal: null,
        annotations: [],
        reasoning_content: "Two cities.",
        tool_calls: [
          {
            id: "call_1",
            type: "function",
            function: { name: "get_weather", arguments: '{"city":"Oslo"}' },
          },
          { id: "call_2", type: "function", function: { name: "now", arguments: "" } },
        ],
      },
      logprobs: null,
      finish_reason: "tool_calls",
    },
  ],
  usage: {
    prompt_tokens: 1000,
    completion_tokens: 200,
    total_tokens: 1200,
    prompt_tokens_details: { cached_tokens: 600, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 150, audio_tokens: 0 },
  },
  service_tier: "default",
  system_fingerprint: null,
};

export const chatAnswerAsMessages: JsonObject = {
  id: "chatcmpl-BxYz",
  type: "message",
  role: "assistant",
  model: "smart",
  content: [
    { type: "thinking", thinking: "Two cities.", signature: "unsigned" },
    { type: "text", text: "I'll look." },
    { type: "tool_use", id: "call_1", name: "get_weather", input: { city: "Oslo" } },
    { type: "tool_use", id: "call_2", name: "now", input: {} },
  ],
  stop_reason: "tool_use",
  stop_sequence: null,
  stop_details: null,
  usage: {
    input_tokens: 400,
    output_tokens: 200,
    cache_read_input_tokens: 600,
    cache_creation_input_tokens: 0,
    output_tokens_details: { thinking_tokens: 150 },
    service_tier: "standard",
  },
};

const chunk = (delta: object, finish: string | null = null): JsonObject => ({
  id: "chatcmpl-BxYz",
  object: "chat.completion.chunk",
  created: 1_794_999_999,
  model: "gpt-5.6",
  service_tier: "default",
  system_fingerprint: null,
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  usage: null,
});

/** The same answer as OpenAI and compatible providers stream it. */
export const chatEvents: readonly ClientEvent[] = [
  { choices: [], prompt_filter_results: [{ prompt_index: 0 }] },
  chunk({ role: "assistant", content: "", refusal: null }),
  chunk({ reasoning_content: "Two " }),
  chunk({ reasoning_content: "cities." }),
  chunk({ content: "I'll " }),
  chunk({ content: "look." }),
  chunk({
    tool_calls: [
      {
        index: 0,
        id: "call_1",
        type: "function",
        function: { name: "get_weather", arguments: "" },
      },
    ],
  }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '{"city"' } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: ':"Oslo"}' } }] }),
  chunk({
    tool_calls: [
      { index: 1, id: "call_2", type: "function", function: { name: "now", arguments: "" } },
    ],
  }),
  chunk({}, "tool_calls"),
  { ...chunk({}), choices: [], usage: chatAnswer["usage"] },
]
  .map((event): ClientEvent => ({ event: null, data: JSON.stringify(event) }))
  .concat({ event: null, data: "[DONE]" });
