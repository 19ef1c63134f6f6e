/**
 * Converts a complete answer to the events of a stream in the same dialect, for providers that
 * don't stream: the events then take the same path as those of any stream. The translation of the
 * answer has already checked it.
 */
import { isObject } from "../../../shared/checked.js";
import { writeExactly } from "../../body/exact-json.js";
import type { ClientEvent, JsonObject } from "./translation.js";

/** One chunk with the whole answer, then `[DONE]`. */
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
  // A message's calls are distinguished by their order, a delta's calls by an index.
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

/** Each block is complete in its `content_block_start`. */
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

/** Each item is complete in its `response.output_item.done`. */
export function responseAsEvents(body: JsonObject): readonly ClientEvent[] {
  const items: readonly unknown[] = Array.isArray(body["output"]) ? body["output"] : [];
  const { status } = body;
  const last = status === "failed" || status === "incomplete" ? status : "completed";
  return [
    event("response.created", { response: { id: body["id"] } }),
    ...items.map((item, output_index) =>
      event("response.output_item.done", { output_index, item }),
    ),
    event(`response.${last}`, { response: body }),
  ];
}

function event(type: string | null, fields: JsonObject): ClientEvent {
  return { event: type, data: writeExactly(type === null ? fields : { type, ...fields }) };
}
