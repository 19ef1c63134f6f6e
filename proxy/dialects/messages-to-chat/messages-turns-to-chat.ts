/**
 * Translates the system prompt and the turns of an Anthropic request to chat messages. A user turn
 * becomes one message of the role `tool` for each tool result, and a user message for the rest.
 */
import { isAbsent, isObject, shortName } from "../../../shared/checked.js";
import { append } from "../../../shared/long-lists.js";
import { writeExactly } from "../../body/exact-json.js";
import { withoutAttribution } from "../shared/attribution.js";
import { chatContent, failedContent, splitToolResult } from "../shared/chat-request.js";
import type { RequestReader } from "../shared/request-reader.js";
import { noSignature, thinkingBlock, wrapsReasoning } from "../shared/thinking-blocks.js";
import { readSignedId } from "../shared/thought-signature.js";
import { fittingToolName } from "../shared/tool-call.js";
import type { JsonObject } from "../shared/translation.js";
import { messagesBlockToChat, messagesTextsToChat } from "./messages-content-to-chat.js";
import {
  messagesThinkingFields,
  messagesToolResultFields,
  messagesToolUseFields,
  messagesTurnFields,
} from "./messages-request-fields.js";

export function messagesTurnsToChat(
  body: JsonObject,
  reader: RequestReader,
  takesFilesInResults: boolean,
): readonly JsonObject[] {
  const messages: JsonObject[] = [];
  const turns: Turns = { messages, takesFilesInResults };
  if (!isAbsent(body["system"]))
    addSystem(messages, withoutAttribution(body["system"]), "system", reader);
  const clientTurns = reader.list(body["messages"], "messages");
  const compaction = lastCompaction(clientTurns);
  if (compaction !== null) messages.push({ role: "user", content: compaction.summary });
  for (const [i, item] of clientTurns.entries()) {
    if (i < (compaction?.turn ?? 0)) continue;
    const path = `messages[${i}]`;
    const turn = i === compaction?.turn ? compaction.rest : reader.object(item, path);
    reader.fields(turn, messagesTurnFields, `${path}.`);
    switch (turn["role"]) {
      case "user":
        addUser(turns, turn["content"], `${path}.content`, reader);
        break;
      case "assistant":
        if (i === clientTurns.length - 1)
          reader.unsupported(path, "must not be an assistant message", "which can't continue one");
        addAssistant(messages, turn["content"], `${path}.content`, reader);
        break;
      case "system":
        addSystem(messages, turn["content"], `${path}.content`, reader);
        break;
      default:
        reader.refuse(`${path}.role`, "must be one of user, assistant, system");
    }
  }
  if (clientTurns.length === 0) reader.refuse("messages", "must hold at least one message");
  return messages;
}

interface Compaction {
  readonly turn: number;
  readonly summary: string;
  /** The turn without its blocks up to and including the compaction. */
  readonly rest: JsonObject;
}

/**
 * The last compaction: a block with which Anthropic has replaced the conversation before it, which
 * clients may still send (BerriAI/litellm#28868). Null if there is none.
 */
function lastCompaction(turns: readonly unknown[]): Compaction | null {
  const isCompaction = (block: unknown): block is JsonObject =>
    isObject(block) && block["type"] === "compaction" && typeof block["content"] === "string";
  const turn = turns.findLastIndex(
    (item) =>
      isObject(item) && Array.isArray(item["content"]) && item["content"].some(isCompaction),
  );
  if (turn === -1) return null;
  const { content, ...others } = turns[turn] as JsonObject & { readonly content: unknown[] };
  const last = content.findLastIndex(isCompaction);
  return {
    turn,
    summary: (content[last] as JsonObject)["content"] as string,
    rest: { ...others, content: content.slice(last + 1) },
  };
}

function addSystem(
  messages: JsonObject[],
  content: unknown,
  path: string,
  reader: RequestReader,
): void {
  const text = messagesTextsToChat(content, path, reader);
  if (text !== "") messages.push({ role: "system", content: text });
}

interface Turns {
  readonly messages: JsonObject[];
  /** As in `RequestOptions`. */
  readonly takesFilesInResults: boolean;
}

function addUser(
  { messages, takesFilesInResults }: Turns,
  content: unknown,
  path: string,
  reader: RequestReader,
): void {
  const blocks = reader.content(content, path);
  if (typeof blocks === "string") return void messages.push({ role: "user", content: blocks });
  const results: JsonObject[] = [];
  const attached: JsonObject[] = [];
  const parts: JsonObject[] = [];
  for (const [i, item] of blocks.entries()) {
    const block = reader.object(item, `${path}[${i}]`);
    if (block["type"] === "tool_result") {
      const result = toolResult(block, `${path}[${i}]`, reader);
      if (takesFilesInResults) results.push(toolMessage(result, result.parts));
      else {
        const split = splitToolResult(result.parts, result.id);
        results.push(toolMessage(result, split.texts));
        append(attached, split.attached);
      }
    } else parts.push(messagesBlockToChat(block, "user", `${path}[${i}]`, reader));
  }
  // Results must directly follow their calls.
  append(messages, results);
  append(attached, parts);
  if (attached.length > 0) messages.push({ role: "user", content: chatContent(attached) });
  else if (results.length === 0) reader.refuse(path, "must not be empty");
}

interface ToolResult {
  readonly id: string;
  readonly parts: readonly JsonObject[];
  readonly hasFailed: boolean;
}

function toolResult(block: JsonObject, path: string, reader: RequestReader): ToolResult {
  reader.fields(block, messagesToolResultFields, `${path}.`);
  const { id } = readSignedId(reader.name(block["tool_use_id"], `${path}.tool_use_id`));
  const parts = resultParts(block["content"], `${path}.content`, reader);
  return { id, parts, hasFailed: reader.flag(block["is_error"], `${path}.is_error`) === true };
}

function toolMessage({ id, hasFailed }: ToolResult, parts: readonly JsonObject[]): JsonObject {
  const content = chatContent(parts);
  return { role: "tool", tool_call_id: id, content: hasFailed ? failedContent(content) : content };
}

function resultParts(content: unknown, path: string, reader: RequestReader): JsonObject[] {
  const blocks = isAbsent(content) ? "" : reader.content(content, path);
  if (typeof blocks === "string") return blocks === "" ? [] : [{ type: "text", text: blocks }];
  return blocks.map((item, i) =>
    messagesBlockToChat(reader.object(item, `${path}[${i}]`), "result", `${path}[${i}]`, reader),
  );
}

function addAssistant(
  messages: JsonObject[],
  content: unknown,
  path: string,
  reader: RequestReader,
): void {
  const blocks = reader.content(content, path);
  if (typeof blocks === "string") return void messages.push({ role: "assistant", content: blocks });
  const thinking: string[] = [];
  const wrapped: JsonObject[] = [];
  const parts: JsonObject[] = [];
  const calls: JsonObject[] = [];
  for (const [i, item] of blocks.entries()) {
    const blockAt = `${path}[${i}]`;
    const block = reader.object(item, blockAt);
    switch (block["type"]) {
      case "thinking":
      case "redacted_thinking":
        reader.fields(block, messagesThinkingFields, `${blockAt}.`);
        if (wrapsReasoning(block)) wrapped.push(thinkingBlock(block));
        else if (block["type"] === "thinking" && isUnsigned(block["signature"]))
          thinking.push(reader.text(block["thinking"], `${blockAt}.thinking`));
        break;
      case "tool_use":
        calls.push(toolCall(block, blockAt, reader));
        break;
      case "text":
        parts.push(messagesBlockToChat(block, "assistant", blockAt, reader));
        break;
      default:
        // Calls and results of tools that Anthropic ran: the text contains the outcome.
        reader.drop(
          `${blockAt}.type`,
          "must be text, thinking or tool_use",
          "which supports nothing else there",
          `messages[].content[] (${shortName(reader.text(block["type"], `${blockAt}.type`))})`,
        );
    }
  }
  if (parts.length === 0 && calls.length === 0 && thinking.length === 0) return;
  const message: Record<string, unknown> = {
    role: "assistant",
    content: parts.length === 0 && calls.length > 0 ? null : chatContent(parts),
  };
  if (thinking.length > 0) message["reasoning_content"] = thinking.join("");
  if (wrapped.length > 0) message["thinking_blocks"] = wrapped;
  if (calls.length > 0) message["tool_calls"] = calls;
  messages.push(message);
}

function isUnsigned(signature: unknown): boolean {
  return isAbsent(signature) || signature === "" || signature === noSignature;
}

function toolCall(block: JsonObject, path: string, reader: RequestReader): JsonObject {
  reader.fields(block, messagesToolUseFields, `${path}.`);
  const { id, extra } = readSignedId(reader.name(block["id"], `${path}.id`));
  return {
    id,
    type: "function",
    function: {
      name: fittingToolName(reader.name(block["name"], `${path}.name`)),
      arguments: writeExactly(reader.object(block["input"], `${path}.input`)),
    },
    ...extra,
  };
}
