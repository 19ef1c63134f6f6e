/**
 * Assembles streams as an SDK does, so that a stream can be compared with the complete answer.
 * Asserts the order of events on the way.
 */
import assert from "node:assert/strict";
import type { ClientEvent, JsonObject } from "../../../proxy/dialects/shared/translation.js";

type Fields = Record<string, unknown>;

interface ToolCall {
  readonly id: string;
  readonly type: string;
  readonly function: { readonly name: string; arguments: string };
}

interface ToolCallDelta {
  readonly index: number;
  readonly id?: string;
  readonly function: { readonly name?: string; readonly arguments?: string };
}

interface ChatDelta extends Fields {
  readonly thinking_blocks?: readonly ({ readonly index: number } & Fields)[];
  readonly tool_calls?: readonly ToolCallDelta[];
}

/** The only choice of a chat completion. */
export function choiceOf(completion: JsonObject): {
  readonly message: JsonObject;
  readonly finish_reason: string;
} {
  return (completion["choices"] as [{ message: JsonObject; finish_reason: string }])[0];
}

/** From chat completion chunks, which must end with `[DONE]`. */
export function assembleChat(events: readonly ClientEvent[]): JsonObject {
  assert.equal(events.at(-1)?.data, "[DONE]");
  const message: Fields = { role: "assistant", content: null, refusal: null };
  const out: Fields = {};
  const choice: Fields = { index: 0, message, logprobs: null, finish_reason: null };
  for (const { event, data } of events.slice(0, -1)) {
    assert.equal(event, null);
    const chunk = JSON.parse(data) as Fields;
    assert.equal(chunk["object"], "chat.completion.chunk");
    for (const key of ["id", "created", "model", "service_tier"])
      if (chunk[key] !== undefined) out[key] = chunk[key];
    if (chunk["usage"]) out["usage"] = chunk["usage"];
    const [first] = chunk["choices"] as { delta: ChatDelta; finish_reason: string | null }[];
    if (first === undefined) continue;
    assert.equal(choice["finish_reason"], null, "nothing follows the finish reason");
    choice["finish_reason"] = first.finish_reason;
    addDelta(message, first.delta);
  }
  return { ...out, object: "chat.completion", choices: [choice] };
}

function addDelta(message: Fields, delta: ChatDelta): void {
  for (const key of ["content", "refusal", "reasoning_content"])
    if (delta[key])
      message[key] = `${(message[key] as string | null) ?? ""}${delta[key] as string}`;
  for (const { index, ...block } of delta.thinking_blocks ?? []) {
    const blocks = listOf<Fields>(message, "thinking_blocks");
    assert.equal(index, blocks.length, "blocks are numbered in order");
    blocks.push(block);
  }
  for (const { index, id, function: called } of delta.tool_calls ?? []) {
    const calls = listOf<ToolCall>(message, "tool_calls");
    if (id !== undefined)
      calls[index] = { id, type: "function", function: { name: called.name!, arguments: "" } };
    calls[index]!.function.arguments += called.arguments ?? "";
  }
}

function listOf<T>(message: Fields, field: string): T[] {
  message[field] ??= [];
  return message[field] as T[];
}

/** From Anthropic's events: start, one block after the other, delta, stop. */
export function assembleMessages(events: readonly ClientEvent[]): JsonObject {
  let message: Fields | null = null;
  let open: Fields | null = null;
  let json = "";
  let stopped = false;
  for (const { event, data } of events) {
    const value = JSON.parse(data) as Fields;
    assert.equal(event, value["type"]);
    assert(!stopped, "nothing follows message_stop");
    const content = message?.["content"] as Fields[];
    const delta = value["delta"] as Fields;
    switch (event) {
      case "message_start":
        assert.equal(message, null);
        message = value["message"] as Fields;
        break;
      case "content_block_start":
        assert.equal(open, null, "one block at a time");
        assert.equal(value["index"], content.length);
        open = value["content_block"] as Fields;
        json = "";
        content.push(open);
        break;
      case "content_block_delta":
        assert(open !== null && value["index"] === content.length - 1);
        if (delta["type"] === "text_delta")
          open["text"] = `${open["text"] as string}${delta["text"] as string}`;
        else if (delta["type"] === "thinking_delta")
          open["thinking"] = `${open["thinking"] as string}${delta["thinking"] as string}`;
        else if (delta["type"] === "signature_delta") open["signature"] = delta["signature"];
        else if (delta["type"] === "input_json_delta") json += delta["partial_json"] as string;
        else assert.fail(`delta ${delta["type"] as string}`);
        break;
      case "content_block_stop":
        assert(open !== null && value["index"] === content.length - 1);
        if (open["type"] === "tool_use") open["input"] = JSON.parse(json === "" ? "{}" : json);
        open = null;
        break;
      case "message_delta":
        assert(message !== null && open === null);
        Object.assign(message, delta, {
          usage: { ...(message["usage"] as Fields), ...(value["usage"] as Fields) },
        });
        break;
      case "message_stop":
        stopped = true;
        break;
      default:
        assert.fail(`event ${event}`);
    }
  }
  assert(stopped && message !== null);
  return message;
}

/** From the chunks of Gemini's own API: the parts of all, and of the last one everything else. */
export function assembleGoogle(events: readonly ClientEvent[]): JsonObject {
  const chunks = events.map(({ data }) => JSON.parse(data) as Fields);
  const candidates = chunks.map((chunk) => (chunk["candidates"] as [Fields])[0]);
  const parts = candidates.flatMap(
    (candidate) => (candidate["content"] as { parts: readonly Fields[] }).parts,
  );
  const finished = candidates.filter((candidate) => candidate["finishReason"] !== undefined);
  assert.deepEqual(finished, [candidates.at(-1)], "the last one has the reason, and no other");
  for (const candidate of candidates)
    assert((candidate["content"] as { parts: readonly unknown[] }).parts.length > 0);
  return {
    ...chunks.at(-1),
    candidates: [{ ...candidates.at(-1), content: { role: "model", parts } }],
  };
}
