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
  for (const [i, each] of messages.entries()) {
    const at = `messages[${i}]`;
    const message = reader.object(each, at);
    const { role } = message;
    reader.fields(
      message,
      role === "assistant" ? chatAssistantFields : chatMessageFields,
      `${at}.`,
    );
    switch (role) {
      case "system":
      case "developer":
      case "user": {
        const content = chatContentToResponses(message["content"], role, `${at}.content`, reader);
        if (content.length > 0) items.push({ type: "message", role, content });
        break;
      }
      case "assistant":
        append(items, assistantItems(message, { at, provider, customCalls }, reader));
        break;
      case "tool":
        items.push(toolOutput(message, at, customCalls, reader));
        break;
      default:
        reader.refuse(
          `${at}.role`,
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
  for (const [i, each] of reader.list(blocks, `${at}.thinking_blocks`).entries()) {
    const block = reader.object(each, `${at}.thinking_blocks[${i}]`);
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
  at: string,
  customCalls: Set<string>,
  reader: RequestReader,
): JsonObject {
  const call = reader.object(value, at);
  reader.fields(call, chatToolCallFields, `${at}.`);
  const { id } = readSignedId(reader.name(call["id"], `${at}.id`));
  const { type = "function" } = call;
  if (type !== "function" && type !== "custom")
    reader.refuse(`${at}.type`, `must be function or custom, not ${quote(type)}`);
  const inner = type === "custom" ? "custom" : "function";
  const called = reader.object(call[inner], `${at}.${inner}`);
  const name = reader.name(called["name"], `${at}.${inner}.name`);
  if (inner === "custom") {
    customCalls.add(id);
    const input = reader.text(called["input"], `${at}.custom.input`);
    return { type: "custom_tool_call", call_id: id, name, input };
  }
  const text = reader.argumentsText(called["arguments"], `${at}.function.arguments`);
  return { type: "function_call", call_id: id, name, arguments: text };
}

function toolOutput(
  message: JsonObject,
  at: string,
  customCalls: ReadonlySet<string>,
  reader: RequestReader,
): JsonObject {
  const { id } = readSignedId(reader.name(message["tool_call_id"], `${at}.tool_call_id`));
  const content = message["content"] ?? "";
  const output =
    typeof content === "string"
      ? content
      : chatContentToResponses(content, "tool", `${at}.content`, reader);
  const type = customCalls.has(id) ? "custom_tool_call_output" : "function_call_output";
  return { type, call_id: id, output };
}
