/**
 * Reorders chat messages for a host's template: most templates of open models support one system
 * message, at the beginning, and some require turns to alternate.
 */
import type { ChatTraits } from "../../../shared/config/host-traits.js";
import { append } from "../../../shared/long-lists.js";
import type { JsonObject } from "../shared/translation.js";

type Messages = readonly JsonObject[];

export function orderMessages(messages: Messages, order: ChatTraits["messageOrder"]): Messages {
  if (order === "any") return messages;
  const ordered = systemFirst(messages);
  return order === "alternating" ? alternatingTurns(ordered) : ordered;
}

/** Later system messages keep their positions and get the role of the user. */
function systemFirst(messages: Messages): Messages {
  const first = messages.findIndex(({ role }) => role !== "system");
  const leading = first === -1 ? messages.length : first;
  if (leading <= 1 && !messages.some(({ role }, i) => role === "system" && i >= leading))
    return messages;
  const out: JsonObject[] = [];
  if (leading > 0)
    out.push({ role: "system", content: joinTexts(messages.slice(0, leading), "\n\n") });
  for (const message of messages.slice(leading))
    out.push(message["role"] === "system" ? { ...message, role: "user" } : message);
  return out;
}

/** The joined texts of the messages. */
function joinTexts(messages: Messages, between: string): string {
  return messages.map(({ content }) => contentText(content, between)).join(between);
}

function contentText(content: unknown, between: string): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return (content as Messages)
    .map(({ text }) => (typeof text === "string" ? text : ""))
    .join(between);
}

/**
 * A user's text after a tool's result joins the result, since no user message may follow it.
 * Consecutive messages of one role become one.
 */
function alternatingTurns(messages: Messages): Messages {
  const out: JsonObject[] = [];
  /** The content of the last message if other messages have joined it; the list grows with each. */
  let joinedParts: JsonObject[] = [];
  for (const message of messages) {
    const last = out.at(-1);
    const { role, content } = message;
    if (role === "user" && last?.["role"] === "tool") addAfterTool(out, last, content);
    else if (last !== undefined && role === last["role"] && isMergeable(last, message)) {
      if (last["content"] !== joinedParts) {
        joinedParts = [...partsOf(last["content"])];
        out[out.length - 1] = { ...last, content: joinedParts };
      }
      append(joinedParts, partsOf(content));
    } else out.push(message);
  }
  return out.map(withPlainContent);
}

function isMergeable(last: JsonObject, message: JsonObject): boolean {
  if (message["role"] === "user") return true;
  return (
    message["role"] === "assistant" &&
    last["tool_calls"] === undefined &&
    message["tool_calls"] === undefined
  );
}

/**
 * A tool's message can't hold pictures, so an assistant's turn goes between the result and the
 * user's message.
 */
function addAfterTool(out: JsonObject[], last: JsonObject, content: unknown): void {
  const parts = partsOf(content);
  if (parts.every(({ type }) => type === "text"))
    out[out.length - 1] = {
      ...last,
      content: `${contentText(last["content"], "\n\n")}\n\n${contentText(content, "\n\n")}`,
    };
  else out.push({ role: "assistant", content: "I have the result." }, { role: "user", content });
}

function partsOf(content: unknown): Messages {
  if (Array.isArray(content)) return content as Messages;
  return typeof content === "string" && content !== "" ? [{ type: "text", text: content }] : [];
}

function withPlainContent(message: JsonObject): JsonObject {
  const { content } = message;
  if (!Array.isArray(content) || content.length !== 1) return message;
  const [part] = content as Messages;
  return part!["type"] === "text" ? { ...message, content: part!["text"] } : message;
}

/** Replaces lists of texts with one text each, for hosts that accept only strings. */
export function withTexts(messages: Messages): Messages {
  return messages.map((message) => {
    const { content } = message;
    return Array.isArray(content) && (content as Messages).every(({ type }) => type === "text")
      ? { ...message, content: contentText(content, "\n") }
      : message;
  });
}
