/**
 * Puts streams together again as an SDK does, so that a stream can be compared with the whole
 * answer.
 */
import assert from "node:assert/strict";
import type { ClientEvent, JsonObject } from "../../../proxy/dialects/translation/translation.js";

type Fields = Record<string, unknown>;

/** Of chat completion chunks; asserts that they are in order and end with `[DONE]`. */
export function wholeChat(events: readonly ClientEvent[]): JsonObject {
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
    const [first] = chunk["choices"] as { delta: Fields; finish_reason: string | null }[];
    if (first === undefined) continue;
    assert.equal(choice["finish_reason"], null, "nothing follows the finish reason");
    choice["finish_reason"] = first.finish_reason;
    const delta = first.delta;
    for (const key of ["content", "refusal", "reasoning_content"])
      if (delta[key])
        message[key] = `${(message[key] as string | null) ?? ""}${delta[key] as string}`;
    for (const { index, ...block } of (delta["thinking_blocks"] as
      | ({ index: number } & Fields)[]
      | undefined) ?? []) {
      const blocks = (message["thinking_blocks"] ??= []) as Fields[];
      assert.equal(index, blocks.length, "a list is put together by the places of its items");
      blocks.push(block);
    }
    for (const call of (delta["tool_calls"] as
      | { index: number; id?: string; function: { name?: string; arguments?: string } }[]
      | undefined) ?? []) {
      const calls = (message["tool_calls"] ??= []) as {
        id: string;
        type: string;
        function: { name: string; arguments: string };
      }[];
      if (call.id !== undefined)
        calls[call.index] = {
          id: call.id,
          type: "function",
          function: { name: call.function.name!, arguments: "" },
        };
      calls[call.index]!.function.arguments += call.function.arguments ?? "";
    }
  }
  return { ...out, object: "chat.completion", choices: [choice] };
}

/** Of Anthropic's events; asserts their order: start, blocks one after the other, delta, stop. */
export function wholeMessages(events: readonly ClientEvent[]): JsonObject {
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
