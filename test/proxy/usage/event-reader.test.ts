import t from "tap";
import { JsonPicker } from "../../../proxy/body/json-picker.js";
import { EventReader } from "../../../proxy/usage/event-reader.js";
import { usagePicks } from "../../../proxy/usage/find-usage.js";
import { textInAnswer } from "../../../proxy/usage/other-text.js";
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
    ["chat_completions", { choices: [{ delta: { content: "", refusal: "no" } }] }, 2],
    ["completions", { choices: [{ text: "1234", finish_reason: null }] }, 4],
    [
      "stream_generate_content",
      { candidates: [{ content: { parts: [{ text: "1234" }], role: "model" } }] },
      4,
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
    t.equal(read(operation, event).hasSeenError, true, JSON.stringify(event));
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
    t.equal(read(operation, event).hasSeenError, false, JSON.stringify(event));
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

t.test("only lines of data are read, however many there are", async (t) => {
  const usage = '{"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}';
  const tokensOf = (event: string, lines: number): unknown => {
    const reader = new EventReader("chat_completions");
    reader.read(event, lines);
    return reader.usage.kind === "usage" ? reader.usage.totalTokens : reader.usage.kind;
  };
  t.equal(tokensOf(`data: ${usage}\n`, 1), 3);
  t.equal(tokensOf(`data:${usage}\n`, 1), 3);
  t.equal(tokensOf(`event: ${usage}\n`, 1), "absent");
  t.equal(tokensOf(`id:  ${usage}\n`, 1), "absent");
  t.equal(tokensOf(`: data: ${usage}\n`, 1), "absent");
  t.equal(tokensOf(`event: x\ndata: ${usage}\n`, 2), 3);
  t.equal(tokensOf(`data: ${usage.slice(0, 9)}\ndata: ${usage.slice(9)}\n`, 2), 3);
  t.equal(tokensOf(`data:${usage.slice(0, 9)}\ndata:${usage.slice(9)}\n`, 2), 3);
  t.equal(tokensOf(`event: ${usage}\nid: 7\n`, 2), "absent");
  t.equal(tokensOf("\n", 0), "absent");
});

t.test("an event is one of usage alone if it has nothing else for the client", async (t) => {
  const usage = { prompt_tokens: 1, completion_tokens: 2 };
  const reader = new EventReader("chat_completions");
  for (const [event, expected] of [
    [{ choices: [], usage }, true],
    [{ choices: [], usage: { total_tokens: 0 } }, true],
    [{ choices: [{ delta: {} }], usage }, false],
    [{ usage }, false],
    [{ choices: [], usage, error: { message: "x" } }, false],
    [{ choices: [], error: { message: "x" } }, false],
    [{ choices: [] }, false],
    [[{ choices: [], usage }], false],
  ] as const)
    t.equal(reader.read(`data: ${JSON.stringify(event)}\n`, 1), expected, JSON.stringify(event));
  for (const event of ['data: {"usage":{}\n', 'data: {"choices":[{"delta":{"content":"a', "\n"])
    t.equal(reader.read(event, event === "\n" ? 0 : 1), false, event);
});

t.test("a stream has finished once it says why", async (t) => {
  const chunk = (finish_reason: string | null) => ({ choices: [{ delta: {}, finish_reason }] });
  for (const operation of ["chat_completions", "completions"] as const) {
    t.equal(read(operation).isFinished, false);
    t.equal(read(operation, chunk(null), chunk("")).isFinished, false);
    t.equal(read(operation, chunk(null), chunk("stop")).isFinished, true);
  }
});

t.test("usage is no error, and an error no usage", async (t) => {
  const usage = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } };
  const text = { choices: [{ delta: { content: "12345678" } }] };
  const error = { error: { message: "x" } };
  const seen = read("chat_completions", usage, text);
  t.same([seen.hasSeenError, seen.contentCharsSinceUsage], [false, 8]);
  const failed = read("chat_completions", usage, text, error);
  t.match(failed.usage, { inputTokens: 1, outputTokens: 2 });
  t.same([failed.hasSeenError, failed.contentCharsSinceUsage], [true, 8]);
});

t.test("an event that breaks off says nothing, and the next one is read whole", async (t) => {
  const reader = new EventReader("chat_completions");
  reader.read('data: {"choices":[{"delta":{"role":"assistant","content":"and so fo', 1);
  t.equal(reader.contentChars, 0);
  reader.read('data: {"usage":{"prompt_tokens":3,"completion_tokens":4}}\n', 1);
  t.match(reader.usage, { inputTokens: 3, outputTokens: 4 });
});

t.test("a string's name decides whether it is text of the answer", async (t) => {
  for (const [operation, names] of [
    ["chat_completions", ["content", "arguments", "reasoning", "reasoning_content", "refusal"]],
    ["completions", ["text"]],
    ["stream_generate_content", ["text"]],
    ["messages", ["text", "thinking", "partial_json"]],
    ["responses", ["delta"]],
  ] as const)
    t.same([...new EventReader(operation).texts], names, operation);
});

t.test("of an event that was too large its text is counted, and its usage read", async (t) => {
  const usage = { prompt_tokens: 1, completion_tokens: 2 };
  const large = (reader: EventReader, event: object): void => {
    const json = new JsonPicker(usagePicks, reader.texts);
    json.append(Buffer.from(JSON.stringify(event)));
    reader.readPicked(json);
  };
  const text = "x".repeat(1000);
  const many = Array.from({ length: 1000 }, (_, i) => i);
  for (const [what, event, chars, unread, kind] of [
    ["a long text", { choices: [{ delta: { content: text } }], usage }, 1000, false, "usage"],
    ["a picture", { choices: [{ delta: { image: text } }] }, 0, false, "absent"],
    ["many values", { choices: [{ delta: { many } }], usage }, 0, false, "usage"],
    ["usage before them", { usage, choices: [{ delta: { many } }] }, 0, false, "usage"],
    ["no usage", { choices: [{ delta: { many } }] }, 0, false, "absent"],
    ["usage elsewhere", { metadata: { usage }, usage: null }, 0, false, "absent"],
  ] as const) {
    const reader = new EventReader("chat_completions");
    t.equal(reader.hasUnreadEvent, false);
    large(reader, event);
    t.same(
      [reader.contentChars, reader.hasUnreadEvent, reader.usage.kind],
      [chars, unread, kind],
      what,
    );
  }
  const reader = new EventReader("chat_completions");
  reader.readPicked(new JsonPicker(usagePicks));
  reader.read(`data: ${JSON.stringify({ error: { message: "x" } })}\n`, 1);
  t.equal(reader.hasUnreadEvent, true, "an error says nothing of what was used");
  reader.read(`data: ${JSON.stringify({ choices: [], usage })}\n`, 1);
  t.equal(reader.hasUnreadEvent, false, "nothing is missing, as usage is of all so far");
});

t.test("an answer is complete at its end, with or without a reason", async (t) => {
  const message = { type: "message_start", message: { usage: { input_tokens: 1 } } };
  const text = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "a" } };
  const call = { functionCall: { name: "look", args: {} } };
  const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1 };
  const cases: readonly (readonly [Operation, readonly object[], boolean])[] = [
    ["messages", [message, text], false],
    // esengine/DeepSeek-Reasonix#8756: either sign is enough.
    ["messages", [message, text, { type: "message_stop" }], true],
    ["messages", [message, text, { type: "message_delta", delta: { stop_reason: "x" } }], true],
    [
      "stream_generate_content",
      [{ candidates: [{ content: { parts: [{ text: "a" }] } }], usageMetadata }],
      false,
    ],
    // vybestack/llxprt-code#434: a call needs no reason.
    [
      "stream_generate_content",
      [{ candidates: [{ content: { parts: [call] } }], usageMetadata }],
      true,
    ],
  ];
  for (const [operation, events, isComplete] of cases)
    t.equal(read(operation, ...events).isComplete, isComplete, JSON.stringify(events.at(-1)));
});

t.test("an answer isn't complete while a choice goes on after another one has ended", async (t) => {
  const chat = (index: number, content: string, finish: string | null = null): object => ({
    choices: [{ index, delta: { content }, finish_reason: finish }],
  });
  const google = (text: string): object => ({
    candidates: [{ content: { parts: [{ text }] }, finishReason: "STOP" }],
  });
  for (const [operation, events, isComplete] of [
    ["chat_completions", [chat(0, "a"), chat(0, "", "stop")], true],
    ["chat_completions", [chat(0, "a", "stop"), chat(1, "b")], false],
    ["chat_completions", [chat(0, "a", "stop"), chat(1, "b"), chat(1, "", "length")], true],
    ["chat_completions", [chat(0, "a", "stop"), chat(1, "")], true],
    ["chat_completions", [chat(0, "a", "stop"), { choices: [], usage: null }], true],
    // Some hosts of Gemini's dialect say so in each chunk.
    ["stream_generate_content", [google("a"), google("b")], true],
  ] as const) {
    const { isFinished } = read(operation, ...events);
    t.equal(isFinished, isComplete, JSON.stringify(events));
  }
});

t.test("a reason in each event doesn't say that the answer is over", async (t) => {
  const google = (text: string, finishReason?: string): object => ({
    candidates: [{ content: { parts: [{ text }] }, finishReason }],
  });
  const chat = (content: string): object => ({
    choices: [{ index: 0, delta: { content }, finish_reason: "stop" }],
  });
  const call = { candidates: [{ content: { parts: [{ functionCall: { name: "a" } }] } }] };
  for (const [operation, events, isOver] of [
    ["stream_generate_content", [google("a"), google("b", "STOP")], true],
    ["stream_generate_content", [google("a", "STOP"), google("b", "STOP")], false],
    ["stream_generate_content", [call, google("b", "STOP")], true],
    ["chat_completions", [chat("a"), chat("b")], false],
    ["chat_completions", [chat("a"), chat("")], true],
  ] as const) {
    const reader = read(operation, ...events);
    t.equal(reader.isOver, isOver, JSON.stringify(events));
    t.equal(reader.isComplete, true, "if its stream ends here");
  }
  const ended = read("chat_completions", chat("a"), chat("b"));
  ended.read("data: [DONE]\n", 1);
  t.equal(ended.isOver, true);
});

t.test("what isn't known as text counts all the same, in every dialect", async (t) => {
  const text = "1234567890".repeat(4);
  const chat = (delta: object): object => ({ choices: [{ index: 0, delta }] });
  const block = (delta: object): object => ({ type: "content_block_delta", index: 0, delta });
  const start = (content_block: object): object => ({ type: "content_block_start", content_block });
  const part = (...parts: readonly object[]): object => ({ candidates: [{ content: { parts } }] });
  const cases: readonly (readonly [Operation, object, number])[] = [
    ["chat_completions", chat({ content: [{ type: "text", text }] }), 40],
    ["chat_completions", chat({ content: [{ type: "thinking", thinking: [{ text }] }] }), 40],
    ["chat_completions", chat({ tool_calls: [{ custom: { name: "f", input: text } }] }), 40],
    ["chat_completions", chat({ tool_calls: [{ function: { arguments: { a: text } } }] }), 48],
    ["chat_completions", chat({ audio: { id: "a", data: "A".repeat(3200) } }), 13],
    ["chat_completions", chat({ audio: { transcript: text } }), 40],
    ["chat_completions", chat({ content: null, reasoning_details: [{ type: "x", text }] }), 40],
    ["chat_completions", chat({ reasoning_details: [{ data: text }] }), 40],
    ["chat_completions", chat({ thinking_blocks: [{ type: "thinking", signature: text }] }), 40],
    ["chat_completions", chat({ invented: text }), 40],
    ["chat_completions", { choices: [{ message: { invented: text } }] }, 40],
    ["chat_completions", chat({ role: "assistant", content: "" }), 0],
    ["chat_completions", chat({ tool_calls: [{ id: "c", function: { arguments: "" } }] }), 0],
    ["completions", { choices: [{ text: [text] }] }, 40],
    // In the events of another dialect.
    ["chat_completions", { type: "response.output_text.delta", delta: text }, 40],
    ["chat_completions", block({ type: "text_delta", text }), 40],
    ["chat_completions", part({ text }), 40],
    ["messages", chat({ content: text }), 40],
    ["responses", { choices: [{ text }] }, 40],
    ["stream_generate_content", { type: "response.output_text.delta", delta: text }, 40],
    ["messages", start({ type: "redacted_thinking", data: text }), 40],
    ["messages", start({ type: "tool_use", id: "t", name: "f", input: {} }), 0],
    ["messages", start({ type: "web_search_tool_result", content: [{ title: text }] }), 0],
    ["messages", block({ type: "citations_delta", citation: { cited_text: text } }), 40],
    ["messages", block({ type: "signature_delta", signature: text }), 40],
    ["messages", block({ type: "compaction_delta", content: text }), 40],
    ["messages", { type: "message_delta", delta: { stop_reason: "end_turn" } }, 0],
    ["responses", { type: "response.invented.delta", delta: { invented: text } }, 40],
    ["responses", { type: "response.invented.done", invented: text }, 0],
    ["interactions", { event_type: "content.delta", delta: { type: "x", invented: text } }, 40],
    ["stream_generate_content", part({ functionCall: { name: "f", args: { a: text } } }), 48],
    ["stream_generate_content", part({ text: "ab" }, { functionCall: { args: { a: text } } }), 50],
    ["stream_generate_content", part({ executableCode: { language: "X", code: text } }), 40],
    ["stream_generate_content", part({ codeExecutionResult: { output: text } }), 40],
    ["stream_generate_content", part({ inlineData: { mimeType: "image/png", data: text } }), 3],
    ["stream_generate_content", part({ text: "", thoughtSignature: text }), 40],
  ];
  for (const [operation, event, chars] of cases) {
    const { contentChars, otherChars } = read(operation, event);
    t.equal(contentChars, chars, JSON.stringify(event));
    t.equal(otherChars > 0, chars > 0, "it is an upper bound");
  }
  t.equal(read("chat_completions", chat({ content: "1234", invented: text })).contentChars, 4);
});

t.test("an answer whose other text goes on after its end isn't over", async (t) => {
  const end = { choices: [{ delta: {}, finish_reason: "stop" }] };
  const more = { choices: [{ delta: { invented: "abcd" } }] };
  const call = {
    candidates: [{ content: { parts: [{ functionCall: { name: "f", args: { a: "abcd" } } }] } }],
  };
  const last = { candidates: [{ finishReason: "STOP" }] };
  const google = "stream_generate_content";
  for (const [operation, events, isOver] of [
    ["chat_completions", [end], true],
    ["chat_completions", [end, more], false],
    ["chat_completions", [end, more, end], true],
    [google, [call], true],
    [google, [call, call], false],
    [google, [call, call, last], true],
  ] as const) {
    const reader = read(operation, ...events);
    t.equal(reader.isOver, isOver, JSON.stringify(events));
    t.ok(reader.isComplete, "it may end here all the same");
  }
});

t.test("an event that is nested very deeply counts as a whole", async (t) => {
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const data = `{"choices":[{"delta":{"new":${deep}}}]}`;
  const reader = new EventReader("chat_completions");
  reader.read(`data: ${data}\n`, 1);
  t.ok(reader.otherChars >= data.length);
  t.equal(textInAnswer(`{"output":${deep}}`), deep.length + '{"output":}'.length);
});
