/** The parts of which the cases' requests, answers and streams are made. */
import type { OutsideCase, ProviderAnswer } from "./outside-case.js";

type Request = OutsideCase["request"];

export const user = (content: unknown): object => ({ role: "user", content });
export const hello = [user("x")];
export const noArguments = { type: "object", properties: {} };
export const chatTool = (name: string, more: object = {}): object => ({
  type: "function",
  function: { name, parameters: noArguments, ...more },
});
export const chatCall = (id: string, name: string, args: unknown = "{}"): object => ({
  id,
  type: "function",
  function: { name, arguments: args },
});
export const chat = (body: object): Request => ({
  path: "/v1/chat/completions",
  body: { messages: hello, ...body },
});
export const messages = (body: object): Request => ({
  path: "/v1/messages",
  body: { max_tokens: 100, messages: hello, ...body },
});
export const responses = (body: object): Request => ({
  path: "/v1/responses",
  body: { input: "x", ...body },
});
/** `method`: the part of Google's path after the colon, with its query. */
export const google = (model: string, body: object, method = "generateContent"): Request => ({
  path: `/v1beta/models/${model}:${method}`,
  body: { contents: [{ role: "user", parts: [{ text: "x" }] }], ...body },
});

export const completionOf = (choice: object | null, more: object = {}): ProviderAnswer => ({
  body: {
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: choice === null ? [] : [{ index: 0, ...choice }],
    usage: { prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 },
    ...more,
  },
});
export const messageOf = (content: readonly object[], more: object = {}): ProviderAnswer => ({
  body: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content,
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 9, output_tokens: 3 },
    ...more,
  },
});
export const responseOf = (output: readonly object[], more: object = {}): ProviderAnswer => ({
  body: {
    id: "resp_1",
    object: "response",
    created_at: 1,
    status: "completed",
    model: "m",
    output,
    usage: { input_tokens: 9, output_tokens: 3, total_tokens: 12 },
    ...more,
  },
});
export const outputText = (text: string, annotations: readonly object[] = []): object => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations }],
});

/** Events of a stream, named by their `type` where they have one. */
export const events = (list: readonly (object | string)[], lineEnd = "\n"): string =>
  list
    .map((event) => {
      if (typeof event === "string") return event + lineEnd + lineEnd;
      const name = "type" in event ? `event: ${String(event.type)}${lineEnd}` : "";
      return `${name}data: ${JSON.stringify(event)}${lineEnd}${lineEnd}`;
    })
    .join("");

/** A chunk of a chat completion. */
export const chunk = (delta: object | null, more: object = {}, finish: unknown = null): object => ({
  id: "c",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: delta === null ? [] : [{ index: 0, delta, finish_reason: finish }],
  ...more,
});
export const usageChunk = chunk(null, {
  usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
});
export const done = "data: [DONE]";

/** The events of an Anthropic message around `blocks`, each with its deltas. */
export const messageEvents = (
  blocks: readonly { readonly block: object; readonly deltas?: readonly object[] }[],
  stopReason: string | null = "end_turn",
): object[] => [
  {
    type: "message_start",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 9, output_tokens: 1 },
    },
  },
  ...blocks.flatMap(({ block, deltas = [] }, index) => [
    { type: "content_block_start", index, content_block: block },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ]),
  ...(stopReason === null
    ? []
    : [
        {
          type: "message_delta",
          delta: { stop_reason: stopReason, stop_sequence: null },
          usage: { output_tokens: 3 },
        },
        { type: "message_stop" },
      ]),
];
export const streamedText = (text: string): { block: object; deltas: object[] } => ({
  block: { type: "text", text: "" },
  deltas: [{ type: "text_delta", text }],
});

/** The events of a response with one message of the text, ended by `last`. */
export const responseEvents = (text: string, last: object | null): object[] => {
  const item = { id: "msg_1", type: "message", role: "assistant" };
  const at = { item_id: "msg_1", output_index: 0, content_index: 0 };
  const part = { type: "output_text", text, annotations: [] };
  const list = [
    { type: "response.created", response: { id: "resp_1", object: "response", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
    { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
    { type: "response.output_text.delta", ...at, delta: text },
    { type: "response.output_text.done", ...at, text },
    { type: "response.content_part.done", ...at, part },
    { type: "response.output_item.done", output_index: 0, item: { ...item, content: [part] } },
    ...(last === null ? [] : [last]),
  ];
  return list.map((event, i) => ({ ...event, sequence_number: i }));
};

/** A stream as an answer, for cases whose answer depends on the request. */
export const streamed = (body: string): ProviderAnswer => ({
  headers: { "content-type": "text/event-stream" },
  body,
});
