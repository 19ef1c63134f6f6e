import t, { type Test } from "tap";
import { type StreamState, streamEndOf } from "../../../proxy/usage/stream-end.js";
import type { Operation } from "../../../shared/operation.js";

/** The state after all events, and whether it is the same however the bytes are cut. */
function stateAfter(t: Test, operation: Operation, stream: string): StreamState {
  const whole = streamEndOf(operation)!.push(Buffer.from(stream));
  for (const size of [1, 2, 7]) {
    const end = streamEndOf(operation)!;
    let state: StreamState = "open";
    for (let i = 0; i < stream.length; i += size)
      state = end.push(Buffer.from(stream.slice(i, i + size)));
    t.equal(state, whole, `${size} bytes at a time`);
  }
  return whole;
}

const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const usage = 'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n';
const finished = chunk({}, "stop");

const states: readonly (readonly [Operation, StreamState, string, string])[] = [
  ["chat_completions", "ended", "[DONE]", `${chunk({ content: "a" })}data: [DONE]\n\n`],
  ["chat_completions", "ended", "[DONE] with CRLF", "data:[DONE]\r\n\r\n"],
  ["completions", "ended", "[DONE] of a legacy completion", "data: [DONE]\n\n"],
  ["chat_completions", "open", "[DONE] without the blank line that ends it", "data: [DONE]\n"],
  ["chat_completions", "open", "[DONE] in a text", chunk({ content: "\ndata: [DONE]\n\n" })],
  ["chat_completions", "finishing", "a finish reason", finished],
  ["chat_completions", "finishing", "a usage after it", finished + usage],
  ["chat_completions", "finishing", "a comment after it", `${finished}: ping\n\n`],
  ["chat_completions", "finishing", "an empty delta after it", finished + chunk({ content: "" })],
  ["chat_completions", "open", "text after it", finished + chunk({ content: "b" })],
  ["chat_completions", "open", "an empty reason", chunk({ content: "a" }, "")],
  ["chat_completions", "open", "a reason in each chunk", chunk({ content: "a" }, "stop").repeat(3)],
  [
    "chat_completions",
    "open",
    "a reason after such ones",
    `${chunk({ content: "a" }, "stop").repeat(2)}${finished}`,
  ],
  ["chat_completions", "finishing", "an error", 'data: {"error":{"message":"x"}}\n\n'],
  ["messages", "ended", "message_stop", 'event: message_stop\ndata: {"type":"message_stop"}\n\n'],
  ["messages", "ended", "message_stop without a name", 'data: {"type":"message_stop"}\n\n'],
  [
    "messages",
    "finishing",
    "a stop reason",
    'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}\n\n',
  ],
  [
    "messages",
    "open",
    "message_stop in an input",
    'data: {"type":"content_block_start","content_block":{"type":"tool_use","input":{"type":"message_stop"}}}\n\n',
  ],
  ["messages", "finishing", "an error", 'event: error\ndata: {"type":"error","error":{}}\n\n'],
  ...["completed", "incomplete", "failed", "done"].flatMap((end) => [
    [
      "responses",
      "ended",
      `response.${end}`,
      `event: response.${end}\ndata: {"type":"response.${end}","response":{}}\n\n`,
    ] as const,
    [
      "responses",
      "ended",
      `response.${end} without a name`,
      `data: {"sequence_number":7,"type":"response.${end}","response":{}}\n\n`,
    ] as const,
  ]),
  [
    "responses",
    "open",
    "metadata named like an event",
    'data: {"type":"response.created","response":{"metadata":{"type":"response.completed"}}}\n\n',
  ],
  ["responses", "finishing", "an error", 'event: error\ndata: {"type":"error"}\n\n'],
  [
    "stream_generate_content",
    "finishing",
    "Gemini's reason",
    'data: {"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}\r\n\r\n',
  ],
  [
    "stream_generate_content",
    "open",
    "Gemini's reason in each chunk",
    'data: {"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}\n\n'.repeat(
      2,
    ),
  ],
  [
    "stream_generate_content",
    "finishing",
    "a blocked prompt",
    'data: {"promptFeedback":{"blockReason":"SAFETY"}}\n\n',
  ],
];

for (const [operation, state, what, stream] of states)
  t.test(`${operation}: ${what}: ${state}`, async (t) => {
    t.equal(stateAfter(t, operation, stream), state);
  });

t.test("each finish reason counts, its usage doesn't", async (t) => {
  const end = streamEndOf("chat_completions")!;
  end.push(Buffer.from(finished + usage));
  t.equal(end.finishes, 1);
  end.push(Buffer.from(finished));
  t.equal(end.finishes, 2);
});

t.test("a line of any length takes bounded memory, and ends nothing", async (t) => {
  const end = streamEndOf("responses")!;
  end.push(Buffer.from('event: response.completed\ndata: {"type":"response.completed",'));
  for (let i = 0; i < 100; i++) t.equal(end.push(Buffer.alloc(64 * 1024, "x")), "open");
  t.equal(end.push(Buffer.from("}\n\n")), "ended");
});

t.test("other operations have no known end", async (t) => {
  t.equal(streamEndOf("embeddings"), null);
  t.equal(streamEndOf(null), null);
});
