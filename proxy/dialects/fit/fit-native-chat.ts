/**
 * Removes from a client's own chat request what its host is known to refuse. Most clients of chat
 * completions are written for OpenAI, and don't know about other providers.
 *
 * Not here: unknown hosts, and what only a model refuses (`fitChatTuning`).
 */
import { isAbsent, isObject } from "../../../shared/checked.js";
import {
  type ChatTraits,
  type NativeRules,
  openaiFields,
} from "../../../shared/config/host-traits.js";
import type { RequestCheck } from "../shared/request-check.js";
import type { JsonObject } from "../shared/translation.js";
import {
  type ChatHost,
  fitMaxTokens,
  fitMessages,
  fitSampling,
  fitToolChoice,
  outputSchemaInWords,
  usualEffort,
} from "./fit-chat-request.js";

/** Null if the host isn't known, or if the body can't be fitted; then the provider checks it. */
export function fitNativeChat(
  body: JsonObject,
  host: ChatHost,
  check: RequestCheck,
): JsonObject | null {
  const { chat, traits } = host;
  const { native } = chat;
  const original = messagesIn(body);
  if (native === null || original === null) return null;
  const out: Record<string, unknown> = { ...body };
  dropOpenaiFields(out, native, { chat, check });
  fitSampling(out, out["reasoning_effort"] ?? usualEffort(traits), traits, check);
  fitToolChoice(out, traits, check);
  if (!native.takesMaxCompletionTokens && typeof body["max_completion_tokens"] === "number")
    fitMaxTokens(out, chat.maxTokensField, traits);
  if (!chat.takesStreamOptions) delete out["stream_options"];
  const instructions = chat.takesOutputSchema ? [] : outputSchemaInWords(out, check);
  const knownMessages = original.map((message) =>
    withKnownFields(withKnownRole(message, native), native, check),
  );
  const messages = fitMessages([...instructions, ...knownMessages], {
    ...host,
    chat: withOrderOfClient(chat),
  });
  const isSame =
    messages.length === original.length && messages.every((message, i) => message === original[i]);
  if (!isSame) out["messages"] = messages;
  return out;
}

/** The messages of another model's conversation, as the host takes them. */
export function fitMovedMessages(body: JsonObject, host: ChatHost): JsonObject {
  const { chat } = host;
  const original = messagesIn(body);
  if (original === null) return body;
  const readable = chat.earlierReasoning === "refused" ? original.map(withoutReasoning) : original;
  const messages = fitMessages(readable, { ...host, chat: withOrderOfClient(chat) });
  const isSame =
    messages.length === original.length && messages.every((message, i) => message === original[i]);
  return isSame ? body : { ...body, messages };
}

/** OpenRouter and others have these fields beside `reasoning_content`. */
function withoutReasoning(message: JsonObject): JsonObject {
  if (message["reasoning_details"] === undefined && message["reasoning"] === undefined)
    return message;
  const { reasoning: _, reasoning_details: __, ...rest } = message;
  return rest;
}

/** Null if a message is invalid. */
function messagesIn({ messages }: JsonObject): readonly JsonObject[] | null {
  return Array.isArray(messages) && messages.every(isMessage) ? messages : null;
}

function dropOpenaiFields(
  out: Record<string, unknown>,
  { refusesUnknown, refusedFields }: NativeRules,
  { chat, check }: { readonly chat: ChatTraits; readonly check: RequestCheck },
): void {
  const unknown = refusesUnknown
    ? openaiFields.filter((field) => !chat.optionalFields.has(field))
    : [];
  for (const field of [...unknown, ...refusedFields]) {
    if (out[field] === undefined) continue;
    check.drop(field, "must be left out: the provider refuses it");
    delete out[field];
  }
}

/** Keeps the order of messages, unless the host is known to need another one. */
function withOrderOfClient(chat: ChatTraits): ChatTraits {
  return chat.messageOrder === "alternating" ? chat : { ...chat, messageOrder: "any" };
}

/** Whether a message is valid as far as the steps here read it. */
function isMessage(value: unknown): value is JsonObject {
  if (!isObject(value) || typeof value["role"] !== "string") return false;
  const { content, tool_calls: calls } = value;
  const isContent =
    isAbsent(content) ||
    typeof content === "string" ||
    (Array.isArray(content) && content.every(isObject));
  const isCalls =
    calls === undefined ||
    (Array.isArray(calls) &&
      calls.every((call) => isObject(call) && typeof call["id"] === "string"));
  return isContent && isCalls;
}

function withKnownRole(message: JsonObject, { takesDeveloper }: NativeRules): JsonObject {
  return message["role"] !== "developer" || takesDeveloper
    ? message
    : { ...message, role: "system" };
}

/** A Map rather than an object: clients may send roles such as `constructor`. */
const fieldsOfAll: ReadonlyMap<string, readonly string[]> = new Map([
  ["tool", ["role", "content", "tool_call_id"]],
  ["assistant", ["role", "content", "tool_calls", "refusal"]],
]);
const usualFields = ["role", "content"];

function withKnownFields(
  message: JsonObject,
  { refusesUnknown, assistantFields, takesNames }: NativeRules,
  check: RequestCheck,
): JsonObject {
  if (!refusesUnknown) return message;
  const role = message["role"] as string;
  const knownFields = fieldsOfAll.get(role) ?? usualFields;
  const isKnown = (name: string): boolean =>
    knownFields.includes(name) ||
    (name === "name" && takesNames) ||
    (role === "assistant" && assistantFields.includes(name));
  const fitted = withFields(message, isKnown, { path: "messages[]", check });
  const { content } = fitted;
  if (!Array.isArray(content)) return fitted;
  const parts = (content as readonly JsonObject[]).map((part) =>
    part["type"] === "text"
      ? withFields(part, isOfText, { path: "messages[].content[]", check })
      : part,
  );
  return parts.every((part, i) => part === content[i]) ? fitted : { ...fitted, content: parts };
}

function isOfText(name: string): boolean {
  return name === "type" || name === "text";
}

/** The same object if it has only known fields. */
function withFields(
  object: JsonObject,
  isKnown: (name: string) => boolean,
  { path, check }: { readonly path: string; readonly check: RequestCheck },
): JsonObject {
  const unknownNames = Object.keys(object).filter((name) => !isKnown(name));
  if (unknownNames.length === 0) return object;
  for (const name of unknownNames)
    if (!isAbsent(object[name]))
      check.drop(`${path}.${name}`, "must be left out: the provider refuses it");
  return Object.fromEntries(Object.entries(object).filter(([name]) => isKnown(name)));
}
