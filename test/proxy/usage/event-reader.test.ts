import t from "tap";
import { EventReader } from "../../../proxy/usage/event-reader.js";
import type { Operation } from "../../../shared/operation.js";

/** What a stream of these says. */
function read(operation: Operation, ...events: readonly object[]): EventReader {
  const reader = new EventReader(operation);
  for (const event of events) reader.read(`data: ${JSON.stringify(event)}\n`, 1);
  return reader;
}

t.test("the text of every dialect is counted, once", async (t) => {
  const cases: readonly (readonly [Operation, object, number])[] = [
    ["chat_completions", { choices: [{ delta: { content: "1234" } }] }, 4],
    [
      "chat_completions",
      {
        choices: [
          { delta: { reasoning_content: "12", tool_calls: [{ function: { arguments: "345" } }] } },
        ],
      },
      5,
    ],
    ["chat_completions", { choices: [{ delta: { refusal: "no" } }] }, 2],
    [
      "messages",
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "1234" } },
      4,
    ],
    [
      "messages",
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "thinking_delta", thinking: "12345" },
      },
      5,
    ],
    [
      "messages",
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "input_json_delta", partial_json: "{}" },
      },
      2,
    ],
    [
      "messages",
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      0,
    ],
    ["responses", { type: "response.output_text.delta", delta: "1234" }, 4],
    ["responses", { type: "response.output_text.done", text: "1234" }, 0],
  ];
  for (const [operation, event, chars] of cases)
    t.equal(read(operation, event).contentChars, chars, JSON.stringify(event));
});

t.test("an error is seen in every dialect", async (t) => {
  const cases: readonly (readonly [Operation, object])[] = [
    ["chat_completions", { error: { message: "x" } }],
    ["messages", { type: "error", error: { type: "overloaded_error", message: "x" } }],
    ["responses", { type: "error", message: "x" }],
    ...(["chat_completions", "messages", "responses"] as const).flatMap(
      (operation) =>
        [
          [operation, { error: "overloaded" }],
          [operation, { object: "error", message: "x" }],
        ] as const,
    ),
    ["responses", { type: "response.failed", response: { error: { message: "x" } } }],
  ];
  for (const [operation, event] of cases)
    t.equal(read(operation, event).errorSeen, true, JSON.stringify(event));
  const others: readonly (readonly [Operation, object])[] = [
    [
      "chat_completions",
      { error: null, choices: [{ delta: { content: 'he said "error": "x"' } }] },
    ],
    [
      "messages",
      {
        type: "content_block_delta",
        error: "",
        delta: { type: "text_delta", text: '{"error":"x"}' },
      },
    ],
    ["responses", { type: "response.created", response: { object: "response", error: null } }],
    ["responses", { type: "response.output_text.delta", delta: '{"object":"error"}' }],
  ];
  for (const [operation, event] of others)
    t.equal(read(operation, event).errorSeen, false, JSON.stringify(event));
});

t.test("text after the last usage is counted separately", async (t) => {
  const delta = {
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text: "12345678" },
  };
  const start = {
    type: "message_start",
    message: { usage: { input_tokens: 100, output_tokens: 1 } },
  };
  const end = {
    type: "message_delta",
    delta: { stop_reason: "end_turn" },
    usage: { output_tokens: 7 },
  };
  t.equal(read("messages", delta).contentCharsSinceUsage, 8);
  t.equal(read("messages", start, delta, delta).contentCharsSinceUsage, 16);
  t.equal(read("messages", start, delta, end).contentCharsSinceUsage, 0);
});

t.test("only what stands in lines of data is read, in however many", async (t) => {
  const usage = '{"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}';
  const tokensOf = (event: string, lines: number): unknown => {
    const reader = new EventReader("chat_completions");
    reader.read(event, lines);
    return reader.usage.kind === "usage" ? reader.usage.totalTokens : reader.usage.kind;
  };
  t.equal(tokensOf(`data: ${usage}\n`, 1), 3);
  t.equal(tokensOf(`data:${usage}\n`, 1), 3);
  t.equal(tokensOf(`event: ${usage}\n`, 1), "absent");
  t.equal(tokensOf(`: data: ${usage}\n`, 1), "absent");
  t.equal(tokensOf(`event: x\ndata: ${usage}\n`, 2), 3);
  t.equal(tokensOf(`data: ${usage.slice(0, 9)}\ndata: ${usage.slice(9)}\n`, 2), 3);
  t.equal(tokensOf(`event: ${usage}\nid: 7\n`, 2), "absent");
  t.equal(tokensOf("\n", 0), "absent");
});
