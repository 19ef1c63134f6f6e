/**
 * Translates the messages of a chat request to the items of a request of the Responses API. An
 * assistant's message becomes its reasoning, its text and its calls, in the order in which models
 * produce them.
 */
import { isAbsent } from "../../../shared/checked.js";
import { append } from "../../../shared/long-lists.js";
import { quote } from "../shared/request-check.js";
import type { RequestReader } from "../shared/request-reader.js";
import { unwrapReasoning } from "../shared/thinking-blocks.js";
import { readSignedId } from "../shared/thought-signature.js";
import type { JsonObject } from "../shared/translation.js";
import { chatAssistantFields, chatMessageFields, chatToolCallFields } from "./chat-fields.js";
import { chatContentToResponses } from "./chat-parts-to-responses.js";

/** `provider`: the provider whose encrypted reasoning is passed on, since no other can read it. */
export function chatTurnsToResponses(
  value: unknown,
  provider: string,
  reader: RequestReader,
): readonly JsonObject[] {
  const items: JsonObject[] = [];
  /** The ids of calls to custom tools, whose outputs have a type of their own. */
  const customCalls = new Set<string>();
  const messages = reader.list(value, "messages");
  for (const [i, rawMessage] of messages.entries()) {
    const path = `messages[${i}]`;
    const message = reader.object(rawMessage, path);
    const { role } = message;
    reader.fields(
      message,
      role === "assistant" ? chatAssistantFields : chatMessageFields,
      `${path}.`,
    );
    switch (role) {
      case "system":
      case "developer":
      case "user": {
        const content = chatContentToResponses(message["content"], role, `${path}.content`, reader);
        if (content.length > 0) items.push({ type: "message", role, content });
        break;
      }
      case "assistant":
        append(items, assistantItems(message, { at: path, provider, customCalls }, reader));
        break;
      case "tool":
        items.push(toolOutput(message, path, customCalls, reader));
        break;
      default:
        reader.refuse(
          `${path}.role`,
          `must be one of system, developer, user, assistant, tool, not ${quote(role)}`,
        );
    }
  }
  if (messages.length === 0) reader.refuse("messages", "must hold at least one message");
  return items;
}

interface Turn {
  readonly at: string;
  readonly provider: string;
  readonly customCalls: Set<string>;
}

function assistantItems(message: JsonObject, turn: Turn, reader: RequestReader): JsonObject[] {
  const { at } = turn;
  const turns: JsonObject[] = [];
  const { content: chatContent, refusal, tool_calls: calls } = message;
  const content = isAbsent(chatContent)
    ? []
    : chatContentToResponses(chatContent, "assistant", `${at}.content`, reader);
  if (!isAbsent(refusal) && refusal !== "")
    content.push({ type: "refusal", refusal: reader.text(refusal, `${at}.refusal`) });
  if (content.length > 0) turns.push({ type: "message", role: "assistant", content });
  if (!isAbsent(calls))
    for (const [i, call] of reader.list(calls, `${at}.tool_calls`).entries())
      turns.push(callItem(call, `${at}.tool_calls[${i}]`, turn.customCalls, reader));
  // The API refuses reasoning without an item after it: the answer was aborted before its text.
  if (turns.length === 0) return turns;
  return [...reasoningItems(message["thinking_blocks"], turn, reader), ...turns];
}

function reasoningItems(
  blocks: unknown,
  { at, provider }: Turn,
  reader: RequestReader,
): JsonObject[] {
  if (isAbsent(blocks)) return [];
  const items: JsonObject[] = [];
  for (const [i, rawBlock] of reader.list(blocks, `${at}.thinking_blocks`).entries()) {
    const block = reader.object(rawBlock, `${at}.thinking_blocks[${i}]`);
    const encrypted = unwrapReasoning(block, provider);
    if (encrypted === null) continue;
    const { thinking } = block;
    const summary =
      typeof thinking === "string" && thinking !== ""
        ? [{ type: "summary_text", text: thinking }]
        : [];
    items.push({ type: "reasoning", summary, encrypted_content: encrypted });
  }
  return items;
}

function callItem(
  value: unknown,
  path: string,
  customCalls: Set<string>,
  reader: RequestReader,
): JsonObject {
  const call = reader.object(value, path);
  reader.fields(call, chatToolCallFields, `${path}.`);
  const { id } = readSignedId(reader.name(call["id"], `${path}.id`));
  const { type = "function" } = call;
  if (type !== "function" && type !== "custom")
    reader.refuse(`${path}.type`, `must be function or custom, not ${quote(type)}`);
  const kind = type === "custom" ? "custom" : "function";
  const called = reader.object(call[kind], `${path}.${kind}`);
  const name = reader.name(called["name"], `${path}.${kind}.name`);
  if (kind === "custom") {
    customCalls.add(id);
    const input = reader.text(called["input"], `${path}.custom.input`);
    return { type: "custom_tool_call", call_id: id, name, input };
  }
  const text = reader.argumentsText(called["arguments"], `${path}.function.arguments`);
  return { type: "function_call", call_id: id, name, arguments: text };
}

function toolOutput(
  message: JsonObject,
  path: string,
  customCalls: ReadonlySet<string>,
  reader: RequestReader,
): JsonObject {
  const { id } = readSignedId(reader.name(message["tool_call_id"], `${path}.tool_call_id`));
  const content = message["content"] ?? "";
  const output =
    typeof content === "string"
      ? content
      : chatContentToResponses(content, "tool", `${path}.content`, reader);
  const type = customCalls.has(id) ? "custom_tool_call_output" : "function_call_output";
  return { type, call_id: id, output };
}
