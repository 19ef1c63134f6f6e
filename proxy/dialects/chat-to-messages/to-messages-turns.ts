/**
 * The messages of a chat completion as Anthropic's: a system prompt apart, then turns of the user
 * and the assistant.
 *
 * System messages from the middle of a conversation join the others at its beginning, in order, as
 * they do at Anthropic's own endpoint for chat completions: only some of its models take them where
 * they stand, and only between certain turns.
 */
import { isAbsent, isObject } from "../../../shared/assert.js";
import { jsonDepthMax } from "../../../shared/bounds.js";
import { parseExactly } from "../../body/exact-json.js";
import { nestedDeeperThan } from "../../body/json-depth.js";
import type { Refusals } from "../translation/refusals.js";
import type { JsonObject } from "../translation/translation.js";
import {
  chatAssistantFields,
  chatFunctionCallFields,
  chatSystemFields,
  chatToolCallFields,
  chatToolFields,
  chatUserFields,
} from "./chat-fields.js";
import { textBlock, toMessagesBlocks } from "./to-messages-parts.js";

export interface MessagesTurns {
  readonly system: readonly JsonObject[];
  readonly messages: readonly JsonObject[];
}

interface Turn {
  readonly role: "user" | "assistant";
  readonly content: JsonObject[];
}

export function toMessagesTurns(value: unknown, refusals: Refusals): MessagesTurns {
  const system: JsonObject[] = [];
  const turns: Turn[] = [];
  refusals.list(value, "messages").forEach((item, i) => {
    const at = `messages[${i}]`;
    const message = refusals.object(item, at);
    switch (message["role"]) {
      case "system":
      case "developer":
        refusals.fields(message, chatSystemFields, `${at}.`);
        system.push(...toMessagesBlocks(message["content"], "system", `${at}.content`, refusals));
        return;
      case "user":
        return add(turns, "user", userBlocks(message, at, refusals));
      case "assistant":
        return add(turns, "assistant", assistantBlocks(message, at, refusals));
      case "tool":
        return add(turns, "user", [toolResult(message, at, refusals)]);
      case "function":
        return refusals.unsupported(
          `${at}.role`,
          "must be tool",
          "which has tools in place of functions",
        );
      default:
        return refusals.refuse(
          `${at}.role`,
          "must be one of system, developer, user, assistant, tool",
        );
    }
  });
  if (turns.length === 0)
    refusals.unsupported(
      "messages",
      "must hold a message of the user",
      "which has nothing to answer without one",
    );
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

function userBlocks(message: JsonObject, at: string, refusals: Refusals): JsonObject[] {
  refusals.fields(message, chatUserFields, `${at}.`);
  const blocks = toMessagesBlocks(message["content"], "user", `${at}.content`, refusals);
  if (blocks.length === 0)
    refusals.unsupported(`${at}.content`, "must not be empty", "which refuses an empty message");
  return blocks;
}

function assistantBlocks(message: JsonObject, at: string, refusals: Refusals): JsonObject[] {
  refusals.fields(message, chatAssistantFields, `${at}.`);
  const blocks = isAbsent(message["thinking_blocks"])
    ? []
    : thinkingBlocks(message["thinking_blocks"], `${at}.thinking_blocks`, refusals);
  if (!isAbsent(message["content"]))
    blocks.push(...toMessagesBlocks(message["content"], "assistant", `${at}.content`, refusals));
  const refusal = isAbsent(message["refusal"])
    ? ""
    : refusals.text(message["refusal"], `${at}.refusal`);
  if (refusal !== "") blocks.push(textBlock(refusal));
  if (!isAbsent(message["tool_calls"])) {
    refusals
      .list(message["tool_calls"], `${at}.tool_calls`)
      .forEach((call, i) => void blocks.push(toolUse(call, `${at}.tool_calls[${i}]`, refusals)));
  }
  return blocks;
}

/**
 * As Sluice gave them to the client, and as Anthropic wants them back: untouched. One without a
 * signature can't be proven, and is left out.
 */
function thinkingBlocks(value: unknown, at: string, refusals: Refusals): JsonObject[] {
  const blocks: JsonObject[] = [];
  refusals.list(value, at).forEach((item, i) => {
    const block = refusals.object(item, `${at}[${i}]`);
    if (block["type"] === "redacted_thinking")
      blocks.push({
        type: "redacted_thinking",
        data: refusals.text(block["data"], `${at}[${i}].data`),
      });
    else if (block["type"] !== "thinking")
      refusals.refuse(`${at}[${i}].type`, "must be thinking or redacted_thinking");
    else if (!isAbsent(block["signature"]) && block["signature"] !== "") {
      blocks.push({
        type: "thinking",
        thinking: refusals.text(block["thinking"], `${at}[${i}].thinking`),
        signature: refusals.text(block["signature"], `${at}[${i}].signature`),
      });
    }
  });
  return blocks;
}

function toolUse(value: unknown, at: string, refusals: Refusals): JsonObject {
  const call = refusals.object(value, at);
  refusals.fields(call, chatToolCallFields, `${at}.`);
  if (call["type"] !== "function")
    refusals.unsupported(`${at}.type`, "must be function", "whose tools take JSON alone");
  const called = refusals.object(call["function"], `${at}.function`);
  refusals.fields(called, chatFunctionCallFields, `${at}.function.`);
  return {
    type: "tool_use",
    id: callId(call["id"], `${at}.id`, refusals),
    name: refusals.name(called["name"], `${at}.function.name`),
    input: toolInput(
      refusals.text(called["arguments"], `${at}.function.arguments`),
      `${at}.function.arguments`,
      refusals,
    ),
  };
}

/**
 * Of a call and of its result alike. An earlier answer may be of a model whose ids hold dots and
 * colons.
 */
function callId(value: unknown, at: string, refusals: Refusals): string {
  return refusals.name(value, at).replace(/[^\w-]/g, "_");
}

function toolInput(text: string, at: string, refusals: Refusals): JsonObject {
  const input = readToolInput(text);
  if (input !== null) return input;
  refusals.refuse(
    at,
    `must be a JSON object as a string, nested at most ${jsonDepthMax} levels deep`,
  );
  return {};
}

/**
 * The arguments of a call, or null when they aren't a JSON object. None at all are an empty one:
 * that is how some models call a tool without parameters.
 */
export function readToolInput(text: string): JsonObject | null {
  if (text.trim() === "") return {};
  const input = parseExactly(text);
  return isObject(input) && !nestedDeeperThan(input, jsonDepthMax) ? input : null;
}

function toolResult(message: JsonObject, at: string, refusals: Refusals): JsonObject {
  refusals.fields(message, chatToolFields, `${at}.`);
  const block: Record<string, unknown> = {
    type: "tool_result",
    tool_use_id: callId(message["tool_call_id"], `${at}.tool_call_id`, refusals),
  };
  const content = message["content"];
  if (typeof content === "string") {
    if (content !== "") block["content"] = content;
    return block;
  }
  const blocks = toMessagesBlocks(content, "tool", `${at}.content`, refusals);
  if (blocks.length > 0) block["content"] = blocks;
  return block;
}
