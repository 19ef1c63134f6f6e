import t from "tap";
import { EventSplitter } from "../../../proxy/dialects/event-stream.js";
import { type LengthStop, lengthStop } from "../../../proxy/hard-caps/length-stop.js";
import { createStreamTap } from "../../../proxy/usage/tap-stream.js";
import { noUsage } from "../../../proxy/usage/usage.js";
import type { Operation } from "../../../shared/operation.js";

const usage = {
  ...noUsage,
  inputTokens: 100,
  outputTokens: 30,
  totalTokens: 130,
  cachedInputTokens: 40,
};
const cap = "max_tokens 1000 of user_path /a";
const comment = `: cut at a hard cap: ${cap}\n\n`;
const one = { choices: 1, wantsUsage: true };

type Json = Readonly<Record<string, unknown>>;

function bytes(events: readonly Json[]): Buffer {
  return Buffer.from(
    events
      .map((event) => {
        const name = typeof event["type"] === "string" ? `event: ${event["type"]}\n` : "";
        return `${name}data: ${JSON.stringify(event)}\n\n`;
      })
      .join(""),
  );
}

/** Lets it see pieces of whole events, as they pass. */
function see(operation: Operation, stop: LengthStop, pieces: readonly Buffer[]): void {
  const tap = createStreamTap({ operation, hideUsageChunk: false, passesWholeEvents: true });
  for (const piece of pieces) {
    tap.push(piece);
    stop.see(piece, tap.passedText);
  }
}

/** The events of the end, after the given ones have passed one by one, or all in one piece. */
function ends(operation: Operation, events: readonly Json[], request = one): unknown[][] {
  const pieces = [events.map((event) => bytes([event])), [bytes(events)]];
  return pieces.map((all) => {
    const stop = lengthStop(operation, request) as LengthStop;
    see(operation, stop, all);
    return new EventSplitter()
      .push(stop.end(usage, cap))
      .map(({ data }): unknown => (data === "[DONE]" ? data : JSON.parse(data)));
  });
}

t.test(
  "a chat completion ends with the reason length, the usage if wanted, and [DONE]",
  async (t) => {
    const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 7, model: "m" };
    const piece = (delta: Json, index = 0, finish: string | null = null): Json => ({
      ...head,
      choices: [{ index, delta, finish_reason: finish }],
      usage: null,
      obfuscation: "xyz",
    });
    const call = { index: 0, id: "call_1", function: { name: "f", arguments: '{"a' } };
    const last = (index: number): Json => ({
      ...head,
      choices: [{ index, delta: {}, logprobs: null, finish_reason: "length" }],
    });
    const counts = {
      ...head,
      choices: [],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 30,
        total_tokens: 130,
        prompt_tokens_details: { cached_tokens: 40 },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
    };
    const events = [
      piece({ role: "assistant" }),
      piece({ content: "a" }),
      piece({ tool_calls: [call] }),
    ];
    for (const end of ends("chat_completions", events)) t.same(end, [last(0), counts, "[DONE]"]);
    for (const end of ends("chat_completions", events, { choices: 1, wantsUsage: false }))
      t.same(end, [last(0), "[DONE]"]);
    const several = [piece({ content: "a" }), piece({ content: "b" }, 1), piece({}, 0, "stop")];
    for (const end of ends("chat_completions", several, { choices: 3, wantsUsage: false }))
      t.same(end, [last(1), last(2), "[DONE]"], "only the choices that haven't ended");
    const stop = lengthStop("chat_completions", one) as LengthStop;
    t.ok(stop.end(usage, "two\nlines").toString().startsWith(": cut at a hard cap: two lines\n\n"));
  },
);

t.test("a legacy completion ends likewise", async (t) => {
  const head = { id: "cmpl-1", object: "text_completion", created: 7, model: "m" };
  const events = [{ ...head, choices: [{ index: 0, text: "a", finish_reason: null }] }];
  for (const end of ends("completions", events, { choices: 1, wantsUsage: false }))
    t.same(end, [
      { ...head, choices: [{ index: 0, text: "", logprobs: null, finish_reason: "length" }] },
      "[DONE]",
    ]);
});

t.test("a message ends with its open blocks closed, but for a tool's call", async (t) => {
  const begun = [
    { type: "message_start", message: { id: "msg_1" } },
    { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "h" } },
  ];
  const signed = {
    type: "content_block_delta",
    index: 0,
    delta: { type: "signature_delta", signature: "abc" },
  };
  const stopped = (index: number): Json => ({ type: "content_block_stop", index });
  const started = (type: string): Json => ({
    type: "content_block_start",
    index: 1,
    content_block: { type },
  });
  const ending = [
    {
      type: "message_delta",
      delta: { stop_reason: "max_tokens", stop_sequence: null },
      usage: {
        input_tokens: 60,
        output_tokens: 30,
        cache_read_input_tokens: 40,
        cache_creation_input_tokens: 0,
      },
    },
    { type: "message_stop" },
  ];
  for (const end of ends("messages", begun)) {
    t.match(end[0], { index: 0, delta: { type: "signature_delta", signature: "unsigned" } });
    t.same(end.slice(1), [stopped(0), ...ending]);
  }
  for (const end of ends("messages", [...begun, signed])) t.same(end, [stopped(0), ...ending]);
  const second = [...begun, signed, stopped(0)];
  for (const end of ends("messages", second)) t.same(end, ending);
  for (const end of ends("messages", [...second, started("text")]))
    t.same(end, [stopped(1), ...ending]);
  for (const kind of ["tool_use", "server_tool_use", "mcp_tool_use"])
    for (const end of ends("messages", [...second, started(kind)]))
      t.same(end, ending, `clients run a ${kind} once its block stops`);
  for (const end of ends("messages", [...begun, signed, stopped(0), { ...started("thinking") }]))
    t.match(end[0], { index: 1, delta: { signature: "unsigned" } }, "the second isn't signed");
});

t.test("a response ends as incomplete, with the items so far", async (t) => {
  const created = {
    type: "response.created",
    sequence_number: 0,
    response: { id: "resp_1", object: "response", status: "in_progress", output: [], model: "m" },
  };
  const reasoning = { id: "rs_1", type: "reasoning", summary: [] };
  const item = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    status: "in_progress",
    content: [],
  };
  const part = { type: "output_text", text: "", annotations: [] };
  const place = { item_id: "msg_1", output_index: 1, content_index: 0 };
  const delta = (text: string): Json => ({
    type: "response.output_text.delta",
    ...place,
    delta: text,
    sequence_number: 9,
  });
  const message = [
    created,
    { type: "response.output_item.added", output_index: 0, item: reasoning },
    { type: "response.output_item.done", output_index: 0, item: reasoning },
    { type: "response.output_item.added", output_index: 1, item },
    { type: "response.content_part.added", ...place, part },
    delta('Say "größe" \\ '),
    delta("日本\n🙂"),
  ];
  const text = 'Say "größe" \\ 日本\n🙂';
  const counts = {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 40 },
    output_tokens: 30,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 130,
  };
  const ended = { ...item, status: "incomplete", content: [{ ...part, text }] };
  const incomplete = (output: unknown, sequence_number: number): Json => ({
    type: "response.incomplete",
    sequence_number,
    response: {
      ...created.response,
      status: "incomplete",
      incomplete_details: {
        reason: "max_output_tokens",
        message: `cut at a hard cap: ${cap}`,
      },
      output,
      usage: counts,
    },
  });
  for (const end of ends("responses", message))
    t.same(end, [
      { type: "response.output_text.done", sequence_number: 10, ...place, text, logprobs: [] },
      {
        type: "response.content_part.done",
        sequence_number: 11,
        ...place,
        part: { ...part, text },
      },
      {
        type: "response.output_item.done",
        sequence_number: 12,
        output_index: 1,
        item: ended,
      },
      incomplete([reasoning, ended], 13),
    ]);
  const call = { id: "fc_1", type: "function_call", name: "f", call_id: "c", arguments: "" };
  const calling = [
    created,
    { type: "response.output_item.added", output_index: 0, item: call },
    { type: "response.function_call_arguments.delta", delta: '{"a', sequence_number: 3 },
  ];
  for (const end of ends("responses", calling))
    t.same(end, [incomplete([], 4)], "a call that isn't complete is left out");
});

t.test("the text of a response is whole, wherever its events have their deltas", async (t) => {
  const stop = lengthStop("responses", one) as LengthStop;
  const item = { type: "message", content: [] };
  const begun = bytes([
    { type: "response.output_item.added", output_index: 0, item },
    { type: "response.content_part.added", output_index: 0, content_index: 0, part: {} },
  ]);
  const deltas = [
    [8, "a", ""],
    [9, '"delta":"', ""],
    [10, "b", ""],
    [100_000, "c", ""],
    [100_001, "d", " "],
    [3, "e", ""],
    [4, "", ""],
  ] as const;
  const events = deltas.map(([sequence, delta, space]) =>
    Buffer.from(
      `event: response.output_text.delta\ndata: {"sequence_number":${sequence},"output_index":0,"content_index":0,"delta":${space}${JSON.stringify(delta)},"type":"response.output_text.delta"}\n\n`,
    ),
  );
  see("responses", stop, [begun, ...events]);
  const [done] = new EventSplitter().push(stop.end(usage, cap));
  t.equal((JSON.parse(done!.data) as Json)["text"], 'a"delta":"bcde');
});

t.test("an answer of Gemini ends with MAX_TOKENS, the usage and the cap", async (t) => {
  const chunk = (index: number, finishReason?: string): Json => ({
    candidates: [{ content: { parts: [{ text: "a" }], role: "model" }, index, finishReason }],
    usageMetadata: { promptTokenCount: 100, totalTokenCount: 101 },
    modelVersion: "gemini-3",
    responseId: "r1",
  });
  const last = (index: number): Json => ({
    content: { parts: [{ text: "" }], role: "model" },
    finishReason: "MAX_TOKENS",
    finishMessage: `cut at a hard cap: ${cap}`,
    index,
  });
  const rest = {
    usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 30, totalTokenCount: 130 },
    modelVersion: "gemini-3",
    responseId: "r1",
  };
  for (const end of ends("stream_generate_content", [chunk(0), chunk(0)]))
    t.same(end, [{ candidates: [last(0)], ...rest }]);
  const two = { choices: 2, wantsUsage: false };
  for (const end of ends("stream_generate_content", [chunk(0, "STOP"), chunk(1)], two))
    t.same(end, [{ candidates: [last(1)], ...rest }]);
  const stop = lengthStop("stream_generate_content", one) as LengthStop;
  t.notOk(
    stop.end(usage, cap).toString().includes(": cut"),
    "Google's older clients stop at comments",
  );
});

t.test("the others begin their end with a comment; some operations have no such end", async (t) => {
  for (const operation of ["chat_completions", "completions", "messages", "responses"] as const) {
    const stop = lengthStop(operation, one) as LengthStop;
    t.ok(stop.end(usage, cap).toString().startsWith(comment), operation);
  }
  for (const operation of ["speech", "transcriptions", "interactions"] as const)
    t.equal(lengthStop(operation, one), null, operation);
});
