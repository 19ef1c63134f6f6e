/** The input of the Responses API as the messages of a chat completion. */
import { unreachable } from "../../../shared/assert.js";
import { isAbsent } from "../../../shared/checked.js";
import { quote, type RequestCheck } from "../translation/request-check.js";
import { type CallIdentity, readSignedId } from "../translation/thought-signature.js";
import type { JsonObject } from "../translation/translation.js";
import { ChatConversation, type ChatMessage } from "./chat-conversation.js";
import { responsesContentToChat, toolOutputToChat } from "./responses-content-to-chat.js";

/** `instructions` come first, as a system message. */
export function responsesInputToChat(
  body: JsonObject,
  check: RequestCheck,
): readonly ChatMessage[] {
  const chat = new ChatConversation();
  const { instructions, input } = body;
  if (!isAbsent(instructions))
    chat.addMessage("system", check.string(instructions, "instructions") ?? "");
  const before = chat.messages.length;
  if (typeof input === "string") chat.addMessage("user", input);
  else if (!isAbsent(input) && !Array.isArray(input))
    check.refuse("input", `must be a string or an array, not ${quote(input)}`);
  else {
    const items = check.list(input, "input") ?? [];
    for (let i = 0; i < items.length && check.failure === null; i++)
      addItem(chat, items[i], `input[${i}]`, check);
    chat.end();
  }
  if (chat.messages.length === before) check.refuse("input", "must not be empty");
  return chat.messages;
}

const callFields = ["type", "call_id", "name", "id", "status", "namespace", "caller"];
const outputFields = new Set(["type", "call_id", "output", "id", "status", "caller"]);

/**
 * The fields of each item. Left out are `id` and `status`, which are labels for the provider that
 * stored the item, and `parsed_arguments`, which OpenAI's SDK adds.
 */
const itemFields = {
  message: new Set(["type", "role", "content", "id", "status", "phase"]),
  function_call: new Set([...callFields, "arguments", "parsed_arguments"]),
  custom_tool_call: new Set([...callFields, "input"]),
  function_call_output: outputFields,
  custom_tool_call_output: outputFields,
  reasoning: new Set(["type", "id", "summary", "content", "encrypted_content", "status"]),
} as const;

type ItemType = keyof typeof itemFields;

function addItem(chat: ChatConversation, value: unknown, path: string, check: RequestCheck): void {
  const object = check.object(value, path);
  if (object === undefined) return;
  const type = itemType(object, path, check);
  if (type === undefined) return;
  const item = check.fields(object, path, itemFields[type]);
  if (item === undefined) return;
  switch (type) {
    case "message":
      return addMessage(chat, item, path, check);
    case "function_call":
      return chat.addCall(functionCall(item, path, check));
    case "custom_tool_call":
      return chat.addCall(customCall(item, path, check));
    case "function_call_output":
    case "custom_tool_call_output":
      return addToolOutput(chat, item, path, check);
    case "reasoning":
      // Left out: chat completions have no field for earlier reasoning.
      return;
    default:
      unreachable(type);
  }
}

/** An item without a type is a message when it has a role, else a reference. */
function itemType(item: JsonObject, path: string, check: RequestCheck): ItemType | undefined {
  const type = item["type"] ?? (item["role"] === undefined ? "item_reference" : "message");
  if (typeof type === "string" && Object.hasOwn(itemFields, type)) return type as ItemType;
  if (type === "item_reference")
    return check.refuse(
      path,
      "refers to a stored item, and no items are stored: send the item itself, as SDKs do with store: false",
    );
  return check.refuse(
    `${path}.type`,
    `can't be passed on: chat completions have no ${quote(type)}`,
  );
}

/**
 * Most providers of chat completions don't support the role `developer`, and those that do treat it
 * as `system`.
 */
const roles: ReadonlyMap<unknown, "system" | "user" | "assistant"> = new Map([
  ["system", "system"],
  ["developer", "system"],
  ["user", "user"],
  ["assistant", "assistant"],
]);

function addMessage(
  chat: ChatConversation,
  item: JsonObject,
  path: string,
  check: RequestCheck,
): void {
  const role = roles.get(item["role"]);
  if (role === undefined)
    return check.refuse(
      `${path}.role`,
      `must be one of ${[...roles.keys()].join(", ")}, not ${quote(item["role"])}`,
    );
  const content = responsesContentToChat(item["content"], `${path}.content`, role, check);
  if (content !== undefined) chat.addMessage(role, content);
}

function functionCall(item: JsonObject, path: string, check: RequestCheck): JsonObject {
  const { id, name, extra } = readCall(item, path, check);
  const text = check.string(item["arguments"], `${path}.arguments`);
  return { id, type: "function", function: { name, arguments: text }, ...extra };
}

function customCall(item: JsonObject, path: string, check: RequestCheck): JsonObject {
  const { id, name, extra } = readCall(item, path, check);
  const input = check.string(item["input"], `${path}.input`);
  return { id, type: "custom", custom: { name, input }, ...extra };
}

interface NamedCall extends CallIdentity {
  readonly name: string | undefined;
}

function readCall(item: JsonObject, path: string, check: RequestCheck): NamedCall {
  if (!isAbsent(item["namespace"]))
    check.refuse(
      `${path}.namespace`,
      "can't be passed on: chat completions have no tool namespaces",
    );
  checkCaller(item, path, check);
  const { id, extra } = readSignedId(check.string(item["call_id"], `${path}.call_id`) ?? "");
  return { id, name: check.string(item["name"], `${path}.name`), extra };
}

function addToolOutput(
  chat: ChatConversation,
  item: JsonObject,
  path: string,
  check: RequestCheck,
): void {
  checkCaller(item, path, check);
  const { id } = readSignedId(check.string(item["call_id"], `${path}.call_id`) ?? "");
  const output = toolOutputToChat(item["output"], `${path}.output`, id, check);
  if (output !== undefined) chat.addToolOutput(id, output);
}

function checkCaller(item: JsonObject, path: string, check: RequestCheck): void {
  if (isAbsent(item["caller"])) return;
  const type = check.object(item["caller"], `${path}.caller`)?.["type"];
  if (type !== "direct")
    check.refuse(
      `${path}.caller`,
      "can't be passed on: in chat completions only the model calls tools",
    );
}
