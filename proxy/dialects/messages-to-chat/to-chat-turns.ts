/**
 * The system prompt and the turns of an Anthropic request as chat messages. A turn of the user
 * becomes a message of the role `tool` for each result of a tool, and one of the user for the rest.
 */
import { isAbsent } from "../../../shared/assert.js";
import { writeExactly } from "../../body/exact-json.js";
import type { Refusals } from "../translation/refusals.js";
import { readSignedId } from "../translation/thought-signature.js";
import { splitToolResult } from "../translation/tool-result.js";
import type { JsonObject } from "../translation/translation.js";
import {
  messagesThinkingFields,
  messagesToolResultFields,
  messagesToolUseFields,
  messagesTurnFields,
} from "./messages-fields.js";
import { chatContent, toChatPart, toChatTexts } from "./to-chat-parts.js";

export function toChatTurns(body: JsonObject, refusals: Refusals): readonly JsonObject[] {
  const messages: JsonObject[] = [];
  if (!isAbsent(body["system"])) addSystem(messages, body["system"], "system", refusals);
  const turns = refusals.list(body["messages"], "messages");
  turns.forEach((item, i) => {
    const at = `messages[${i}]`;
    const turn = refusals.object(item, at);
    refusals.fields(turn, messagesTurnFields, `${at}.`);
    switch (turn["role"]) {
      case "user":
        return addUser(messages, turn["content"], `${at}.content`, refusals);
      case "assistant":
        if (i === turns.length - 1)
          refusals.unsupported(at, "must not be the assistant's", "which begins each answer anew");
        return addAssistant(messages, turn["content"], `${at}.content`, refusals);
      case "system":
        return addSystem(messages, turn["content"], `${at}.content`, refusals);
      default:
        return refusals.refuse(`${at}.role`, "must be one of user, assistant, system");
    }
  });
  if (turns.length === 0) refusals.refuse("messages", "must hold at least one message");
  return messages;
}

function addSystem(messages: JsonObject[], content: unknown, at: string, refusals: Refusals): void {
  const said = toChatTexts(content, at, refusals);
  if (said !== "") messages.push({ role: "system", content: said });
}

function addUser(messages: JsonObject[], content: unknown, at: string, refusals: Refusals): void {
  const given = refusals.content(content, at);
  if (typeof given === "string") return void messages.push({ role: "user", content: given });
  const results: JsonObject[] = [];
  const attached: JsonObject[] = [];
  const parts: JsonObject[] = [];
  given.forEach((item, i) => {
    const block = refusals.object(item, `${at}[${i}]`);
    if (block["type"] === "tool_result")
      results.push(toolMessage(block, `${at}[${i}]`, attached, refusals));
    else parts.push(toChatPart(block, "user", `${at}[${i}]`, refusals));
  });
  // A call must be followed by its results at once.
  messages.push(...results);
  parts.unshift(...attached);
  if (parts.length > 0) messages.push({ role: "user", content: chatContent(parts) });
  else if (results.length === 0) refusals.refuse(at, "must not be empty");
}

function toolMessage(
  block: JsonObject,
  at: string,
  attached: JsonObject[],
  refusals: Refusals,
): JsonObject {
  refusals.fields(block, messagesToolResultFields, `${at}.`);
  const { id } = readSignedId(refusals.name(block["tool_use_id"], `${at}.tool_use_id`));
  const result = splitToolResult(resultParts(block["content"], `${at}.content`, refusals), id);
  attached.push(...result.attached);
  const content = chatContent(result.texts);
  const failed = refusals.flag(block["is_error"], `${at}.is_error`) === true;
  return { role: "tool", tool_call_id: id, content: failed ? asError(content) : content };
}

function resultParts(content: unknown, at: string, refusals: Refusals): JsonObject[] {
  const given = isAbsent(content) ? "" : refusals.content(content, at);
  if (typeof given === "string") return given === "" ? [] : [{ type: "text", text: given }];
  return given.map((item, i) =>
    toChatPart(refusals.object(item, `${at}[${i}]`), "result", `${at}[${i}]`, refusals),
  );
}

/** Chat completions have no flag for a failed tool: the text has to say it. */
function asError(content: string | readonly JsonObject[]): string | readonly JsonObject[] {
  if (typeof content !== "string") return [{ type: "text", text: "Error: " }, ...content];
  return /^\s*error/i.test(content) ? content : `Error: ${content}`;
}

function addAssistant(
  messages: JsonObject[],
  content: unknown,
  at: string,
  refusals: Refusals,
): void {
  const given = refusals.content(content, at);
  if (typeof given === "string") return void messages.push({ role: "assistant", content: given });
  const thinking: string[] = [];
  const parts: JsonObject[] = [];
  const calls: JsonObject[] = [];
  given.forEach((item, i) => {
    const block = refusals.object(item, `${at}[${i}]`);
    const blockAt = `${at}[${i}]`;
    switch (block["type"]) {
      case "thinking":
      case "redacted_thinking": {
        refusals.fields(block, messagesThinkingFields, `${blockAt}.`);
        if (block["type"] === "thinking" && !block["signature"])
          thinking.push(refusals.text(block["thinking"], `${blockAt}.thinking`));
        return;
      }
      case "tool_use":
        return void calls.push(toolCall(block, blockAt, refusals));
      default:
        return void parts.push(toChatPart(block, "assistant", blockAt, refusals));
    }
  });
  if (parts.length === 0 && calls.length === 0 && thinking.length === 0) return;
  const message: Record<string, unknown> = {
    role: "assistant",
    content: parts.length === 0 && calls.length > 0 ? null : chatContent(parts),
  };
  if (thinking.length > 0) message["reasoning_content"] = thinking.join("");
  if (calls.length > 0) message["tool_calls"] = calls;
  messages.push(message);
}

function toolCall(block: JsonObject, at: string, refusals: Refusals): JsonObject {
  refusals.fields(block, messagesToolUseFields, `${at}.`);
  const { id, extra } = readSignedId(refusals.name(block["id"], `${at}.id`));
  return {
    id,
    type: "function",
    function: {
      name: refusals.name(block["name"], `${at}.name`),
      arguments: writeExactly(refusals.object(block["input"], `${at}.input`)),
    },
    ...extra,
  };
}
