/**
 * The system prompt and the turns of an Anthropic request as chat messages. A turn of the user
 * becomes a message of the role `tool` for each result of a tool, and one of the user for the rest.
 */
import { isAbsent } from "../../../shared/assert.js";
import { writeExactly } from "../../body/exact-json.js";
import type { RequestReader } from "../translation/request-reader.js";
import { readSignedId } from "../translation/thought-signature.js";
import { splitToolResult } from "../translation/tool-result.js";
import type { JsonObject } from "../translation/translation.js";
import {
  chatContent,
  messagesBlockToChat,
  messagesTextsToChat,
} from "./messages-content-to-chat.js";
import {
  messagesThinkingFields,
  messagesToolResultFields,
  messagesToolUseFields,
  messagesTurnFields,
} from "./messages-request-fields.js";

export function messagesTurnsToChat(
  body: JsonObject,
  reader: RequestReader,
): readonly JsonObject[] {
  const messages: JsonObject[] = [];
  if (!isAbsent(body["system"])) addSystem(messages, body["system"], "system", reader);
  const turns = reader.list(body["messages"], "messages");
  turns.forEach((item, i) => {
    const at = `messages[${i}]`;
    const turn = reader.object(item, at);
    reader.fields(turn, messagesTurnFields, `${at}.`);
    switch (turn["role"]) {
      case "user":
        return addUser(messages, turn["content"], `${at}.content`, reader);
      case "assistant":
        if (i === turns.length - 1)
          reader.unsupported(at, "must not be an assistant message", "which can't continue one");
        return addAssistant(messages, turn["content"], `${at}.content`, reader);
      case "system":
        return addSystem(messages, turn["content"], `${at}.content`, reader);
      default:
        return reader.refuse(`${at}.role`, "must be one of user, assistant, system");
    }
  });
  if (turns.length === 0) reader.refuse("messages", "must hold at least one message");
  return messages;
}

function addSystem(
  messages: JsonObject[],
  content: unknown,
  at: string,
  reader: RequestReader,
): void {
  const said = messagesTextsToChat(content, at, reader);
  if (said !== "") messages.push({ role: "system", content: said });
}

function addUser(
  messages: JsonObject[],
  content: unknown,
  at: string,
  reader: RequestReader,
): void {
  const given = reader.content(content, at);
  if (typeof given === "string") return void messages.push({ role: "user", content: given });
  const results: JsonObject[] = [];
  const attached: JsonObject[] = [];
  const parts: JsonObject[] = [];
  given.forEach((item, i) => {
    const block = reader.object(item, `${at}[${i}]`);
    if (block["type"] === "tool_result")
      results.push(toolMessage(block, `${at}[${i}]`, attached, reader));
    else parts.push(messagesBlockToChat(block, "user", `${at}[${i}]`, reader));
  });
  // A call must be followed by its results at once.
  messages.push(...results);
  parts.unshift(...attached);
  if (parts.length > 0) messages.push({ role: "user", content: chatContent(parts) });
  else if (results.length === 0) reader.refuse(at, "must not be empty");
}

function toolMessage(
  block: JsonObject,
  at: string,
  attached: JsonObject[],
  reader: RequestReader,
): JsonObject {
  reader.fields(block, messagesToolResultFields, `${at}.`);
  const { id } = readSignedId(reader.name(block["tool_use_id"], `${at}.tool_use_id`));
  const result = splitToolResult(resultParts(block["content"], `${at}.content`, reader), id);
  attached.push(...result.attached);
  const content = chatContent(result.texts);
  const failed = reader.flag(block["is_error"], `${at}.is_error`) === true;
  return { role: "tool", tool_call_id: id, content: failed ? asError(content) : content };
}

function resultParts(content: unknown, at: string, reader: RequestReader): JsonObject[] {
  const given = isAbsent(content) ? "" : reader.content(content, at);
  if (typeof given === "string") return given === "" ? [] : [{ type: "text", text: given }];
  return given.map((item, i) =>
    messagesBlockToChat(reader.object(item, `${at}[${i}]`), "result", `${at}[${i}]`, reader),
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
  reader: RequestReader,
): void {
  const given = reader.content(content, at);
  if (typeof given === "string") return void messages.push({ role: "assistant", content: given });
  const thinking: string[] = [];
  const parts: JsonObject[] = [];
  const calls: JsonObject[] = [];
  given.forEach((item, i) => {
    const block = reader.object(item, `${at}[${i}]`);
    const blockAt = `${at}[${i}]`;
    switch (block["type"]) {
      case "thinking":
      case "redacted_thinking": {
        reader.fields(block, messagesThinkingFields, `${blockAt}.`);
        if (block["type"] === "thinking" && !block["signature"])
          thinking.push(reader.text(block["thinking"], `${blockAt}.thinking`));
        return;
      }
      case "tool_use":
        return void calls.push(toolCall(block, blockAt, reader));
      default:
        return void parts.push(messagesBlockToChat(block, "assistant", blockAt, reader));
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

function toolCall(block: JsonObject, at: string, reader: RequestReader): JsonObject {
  reader.fields(block, messagesToolUseFields, `${at}.`);
  const { id, extra } = readSignedId(reader.name(block["id"], `${at}.id`));
  return {
    id,
    type: "function",
    function: {
      name: reader.name(block["name"], `${at}.name`),
      arguments: writeExactly(reader.object(block["input"], `${at}.input`)),
    },
    ...extra,
  };
}
