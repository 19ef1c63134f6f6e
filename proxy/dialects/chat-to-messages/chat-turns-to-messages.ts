/**
 * The messages of a chat completion as Anthropic's: a system prompt apart, then turns of the user
 * and the assistant.
 *
 * System messages from the middle of a conversation join the others at its beginning, in order, as
 * they do at Anthropic's own endpoint for chat completions: only some of its models take them where
 * they stand, and only between certain turns.
 */
import { isAbsent } from "../../../shared/assert.js";
import { jsonDepthMax } from "../../../shared/bounds.js";
import type { RequestReader } from "../translation/request-reader.js";
import { readToolInput } from "../translation/tool-input.js";
import type { JsonObject } from "../translation/translation.js";
import { chatContentToMessages, textBlock } from "./chat-content-to-messages.js";
import {
  chatAssistantFields,
  chatFunctionCallFields,
  chatSystemFields,
  chatToolCallFields,
  chatToolFields,
  chatUserFields,
} from "./chat-request-fields.js";

export interface MessagesTurns {
  readonly system: readonly JsonObject[];
  readonly messages: readonly JsonObject[];
}

interface Turn {
  readonly role: "user" | "assistant";
  readonly content: JsonObject[];
}

export function chatTurnsToMessages(value: unknown, reader: RequestReader): MessagesTurns {
  const system: JsonObject[] = [];
  const turns: Turn[] = [];
  reader.list(value, "messages").forEach((item, i) => {
    const at = `messages[${i}]`;
    const message = reader.object(item, at);
    switch (message["role"]) {
      case "system":
      case "developer":
        reader.fields(message, chatSystemFields, `${at}.`);
        system.push(
          ...chatContentToMessages(message["content"], "system", `${at}.content`, reader),
        );
        return;
      case "user":
        return add(turns, "user", userBlocks(message, at, reader));
      case "assistant":
        return add(turns, "assistant", assistantBlocks(message, at, reader));
      case "tool":
        return add(turns, "user", [toolResult(message, at, reader)]);
      case "function":
        return reader.unsupported(
          `${at}.role`,
          "must be tool",
          "which has tools instead of functions",
        );
      default:
        return reader.refuse(
          `${at}.role`,
          "must be one of system, developer, user, assistant, tool",
        );
    }
  });
  if (turns.length === 0)
    reader.unsupported("messages", "must contain a user message", "which requires one");
  return { system, messages: turns as readonly unknown[] as readonly JsonObject[] };
}

/**
 * Anthropic has one turn where a chat has several messages of one role in a row; so the results of
 * parallel calls share one.
 */
function add(turns: Turn[], role: Turn["role"], blocks: readonly JsonObject[]): void {
  const last = turns.at(-1);
  if (blocks.length === 0) return;
  if (last?.role === role) last.content.push(...blocks);
  else turns.push({ role, content: [...blocks] });
}

function userBlocks(message: JsonObject, at: string, reader: RequestReader): JsonObject[] {
  reader.fields(message, chatUserFields, `${at}.`);
  const blocks = chatContentToMessages(message["content"], "user", `${at}.content`, reader);
  if (blocks.length === 0)
    reader.unsupported(`${at}.content`, "must not be empty", "which refuses empty messages");
  return blocks;
}

function assistantBlocks(message: JsonObject, at: string, reader: RequestReader): JsonObject[] {
  reader.fields(message, chatAssistantFields, `${at}.`);
  const blocks = isAbsent(message["thinking_blocks"])
    ? []
    : thinkingBlocks(message["thinking_blocks"], `${at}.thinking_blocks`, reader);
  if (!isAbsent(message["content"]))
    blocks.push(...chatContentToMessages(message["content"], "assistant", `${at}.content`, reader));
  const refusal = isAbsent(message["refusal"])
    ? ""
    : reader.text(message["refusal"], `${at}.refusal`);
  if (refusal !== "") blocks.push(textBlock(refusal));
  if (!isAbsent(message["tool_calls"])) {
    reader
      .list(message["tool_calls"], `${at}.tool_calls`)
      .forEach((call, i) => void blocks.push(toolUse(call, `${at}.tool_calls[${i}]`, reader)));
  }
  return blocks;
}

/**
 * As Sluice gave them to the client, and as Anthropic wants them back: untouched. One without a
 * signature can't be proven, and is left out.
 */
function thinkingBlocks(value: unknown, at: string, reader: RequestReader): JsonObject[] {
  const blocks: JsonObject[] = [];
  reader.list(value, at).forEach((item, i) => {
    const block = reader.object(item, `${at}[${i}]`);
    if (block["type"] === "redacted_thinking")
      blocks.push({
        type: "redacted_thinking",
        data: reader.text(block["data"], `${at}[${i}].data`),
      });
    else if (block["type"] !== "thinking")
      reader.refuse(`${at}[${i}].type`, "must be thinking or redacted_thinking");
    else if (!isAbsent(block["signature"]) && block["signature"] !== "") {
      blocks.push({
        type: "thinking",
        thinking: reader.text(block["thinking"], `${at}[${i}].thinking`),
        signature: reader.text(block["signature"], `${at}[${i}].signature`),
      });
    }
  });
  return blocks;
}

function toolUse(value: unknown, at: string, reader: RequestReader): JsonObject {
  const call = reader.object(value, at);
  reader.fields(call, chatToolCallFields, `${at}.`);
  if (call["type"] !== "function")
    reader.unsupported(`${at}.type`, "must be function", "which only has function tools");
  const called = reader.object(call["function"], `${at}.function`);
  reader.fields(called, chatFunctionCallFields, `${at}.function.`);
  return {
    type: "tool_use",
    id: callId(call["id"], `${at}.id`, reader),
    name: reader.name(called["name"], `${at}.function.name`),
    input: toolInput(
      reader.text(called["arguments"], `${at}.function.arguments`),
      `${at}.function.arguments`,
      reader,
    ),
  };
}

/**
 * Of a call and of its result alike. An earlier answer may be of a model whose ids hold dots and
 * colons.
 */
function callId(value: unknown, at: string, reader: RequestReader): string {
  return reader.name(value, at).replace(/[^\w-]/g, "_");
}

function toolInput(text: string, at: string, reader: RequestReader): JsonObject {
  const input = readToolInput(text);
  if (input !== null) return input;
  reader.refuse(
    at,
    `must be a JSON object as a string, nested at most ${jsonDepthMax} levels deep`,
  );
  return {};
}

function toolResult(message: JsonObject, at: string, reader: RequestReader): JsonObject {
  reader.fields(message, chatToolFields, `${at}.`);
  const block: Record<string, unknown> = {
    type: "tool_result",
    tool_use_id: callId(message["tool_call_id"], `${at}.tool_call_id`, reader),
  };
  const content = message["content"];
  if (typeof content === "string") {
    if (content !== "") block["content"] = content;
    return block;
  }
  const blocks = chatContentToMessages(content, "tool", `${at}.content`, reader);
  if (blocks.length > 0) block["content"] = blocks;
  return block;
}
