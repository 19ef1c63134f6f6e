/**
 * A whole answer as the stream that would have said the same, in the provider's own dialect: what a
 * provider that doesn't stream gives then goes the way of every stream. Answers have been checked
 * by their translation before.
 */
import { isObject } from "../../../shared/assert.js";
import { writeExactly } from "../../body/exact-json.js";
import type { ClientEvent, JsonObject } from "./translation.js";

/** A chat completion: one chunk with everything, and the end. */
export function chatAnswerAsEvents(body: JsonObject): readonly ClientEvent[] {
  const choices = Array.isArray(body["choices"]) ? body["choices"].map(choiceAsDelta) : [];
  return [
    event(null, { ...body, object: "chat.completion.chunk", choices }),
    { event: null, data: "[DONE]" },
  ];
}

function choiceAsDelta(choice: unknown): unknown {
  if (!isObject(choice)) return choice;
  const { message, ...rest } = choice;
  if (!isObject(message) || !Array.isArray(message["tool_calls"]))
    return { ...rest, delta: message };
  // In a message their order tells them apart, in a delta their index.
  return {
    ...rest,
    delta: {
      ...message,
      tool_calls: message["tool_calls"].map((call: unknown, index) =>
        isObject(call) ? { ...call, index } : call,
      ),
    },
  };
}

/** An answer of Anthropic messages: each block whole in its beginning. */
export function messagesAnswerAsEvents(body: JsonObject): readonly ClientEvent[] {
  const { content, stop_reason, stop_sequence, stop_details, usage } = body;
  const blocks = Array.isArray(content)
    ? content.flatMap((block: unknown, index) => [
        event("content_block_start", { index, content_block: block }),
        event("content_block_stop", { index }),
      ])
    : [];
  return [
    event("message_start", {
      message: { ...body, content: [], stop_reason: null, stop_sequence: null },
    }),
    ...blocks,
    event("message_delta", { delta: { stop_reason, stop_sequence, stop_details }, usage }),
    event("message_stop", {}),
  ];
}

function event(type: string | null, fields: JsonObject): ClientEvent {
  return { event: type, data: writeExactly(type === null ? fields : { type, ...fields }) };
}
