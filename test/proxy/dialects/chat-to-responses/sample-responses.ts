/** An answer of the Responses API, whole and streamed, and the same as a chat completion. */
import { wrapReasoning } from "../../../../proxy/dialects/shared/thinking-blocks.js";
import type { ClientEvent, JsonObject } from "../../../../proxy/dialects/shared/translation.js";

const reasoning = {
  id: "rs_1",
  type: "reasoning",
  summary: [
    { type: "summary_text", text: "Two cities." },
    { type: "summary_text", text: "Oslo first." },
  ],
  encrypted_content: "gAAAAB1",
};
const silent = { id: "rs_2", type: "reasoning", summary: [], encrypted_content: "gAAAAB2" };
const message = {
  id: "msg_1",
  type: "message",
  status: "completed",
  role: "assistant",
  content: [{ type: "output_text", text: "I'll look.", annotations: [], logprobs: [] }],
};
const call = {
  id: "fc_1",
  type: "function_call",
  status: "completed",
  call_id: "call_1",
  name: "get_weather",
  arguments: '{"city":"Oslo"}',
};
const second = { ...call, id: "fc_2", call_id: "call_2", name: "now", arguments: "{}" };

export const response: JsonObject = {
  id: "resp_1",
  object: "response",
  created_at: 1_794_999_999,
  status: "completed",
  error: null,
  incomplete_details: null,
  model: "gpt-5.6",
  output: [reasoning, message, silent, call, second],
  service_tier: "default",
  usage: {
    input_tokens: 1000,
    input_tokens_details: { cached_tokens: 600 },
    output_tokens: 200,
    output_tokens_details: { reasoning_tokens: 150 },
    total_tokens: 1200,
  },
};

const at = (type: string, output_index: number, fields: object): JsonObject => ({
  type,
  output_index,
  ...fields,
});
const opened = { status: "in_progress", encrypted_content: "" };

/** As OpenAI streams it. */
export const responseEvents: readonly ClientEvent[] = [
  { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
  { type: "response.in_progress", response: { ...response, status: "in_progress", output: [] } },
  at("response.output_item.added", 0, { item: { ...reasoning, ...opened, summary: [] } }),
  at("response.reasoning_summary_part.added", 0, { summary_index: 0, part: {} }),
  at("response.reasoning_summary_text.delta", 0, { summary_index: 0, delta: "Two " }),
  at("response.reasoning_summary_text.delta", 0, { summary_index: 0, delta: "cities." }),
  at("response.reasoning_summary_text.done", 0, { summary_index: 0, text: "Two cities." }),
  at("response.reasoning_summary_part.added", 0, { summary_index: 1, part: {} }),
  at("response.reasoning_summary_text.delta", 0, { summary_index: 1, delta: "Oslo first." }),
  at("response.output_item.done", 0, { item: reasoning }),
  at("response.output_item.added", 1, { item: { ...message, ...opened, content: [] } }),
  at("response.content_part.added", 1, { content_index: 0, part: { type: "output_text" } }),
  at("response.output_text.delta", 1, { content_index: 0, delta: "I'll ", logprobs: [] }),
  at("response.output_text.delta", 1, { content_index: 0, delta: "look.", obfuscation: "xyz" }),
  at("response.output_text.done", 1, { content_index: 0, text: "I'll look." }),
  at("response.output_item.done", 1, { item: message }),
  at("response.output_item.added", 2, { item: silent }),
  at("response.output_item.done", 2, { item: silent }),
  at("response.output_item.added", 3, { item: { ...call, ...opened, arguments: "" } }),
  at("response.function_call_arguments.delta", 3, { delta: '{"city"' }),
  at("response.function_call_arguments.delta", 3, { delta: ':"Oslo"}' }),
  at("response.output_item.added", 4, { item: { ...second, ...opened, arguments: "" } }),
  at("response.function_call_arguments.done", 3, { arguments: '{"city":"Oslo"}' }),
  at("response.output_item.done", 3, { item: call }),
  at("response.output_item.done", 4, { item: second }),
  { type: "response.completed", response },
].map((event) => ({ event: event.type as string, data: JSON.stringify(event) }));

export const responseAsChat: JsonObject = {
  id: "resp_1",
  object: "chat.completion",
  created: 1_795_000_000,
  model: "smart",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: "I'll look.",
        refusal: null,
        reasoning_content: "Two cities.\n\nOslo first.",
        thinking_blocks: [
          wrapReasoning("gAAAAB1", "Two cities.\n\nOslo first.", "openai"),
          wrapReasoning("gAAAAB2", "", "openai"),
        ],
        tool_calls: [
          {
            id: "call_1",
            type: "function",
            function: { name: "get_weather", arguments: '{"city":"Oslo"}' },
          },
          { id: "call_2", type: "function", function: { name: "now", arguments: "{}" } },
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
    prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 150 },
  },
  service_tier: "default",
};
