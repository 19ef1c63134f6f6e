/** The input of the Responses API as the messages of chat completions. */
import { isAbsent, unreachable } from "../../../shared/assert.js";
import { quote, type RequestCheck } from "../translation/request-check.js";
import { readSignedId } from "../translation/thought-signature.js";
import type { JsonObject } from "../translation/translation.js";
import { responsesContentToChat, toolOutputToChat } from "./responses-content-to-chat.js";

type Content = string | readonly JsonObject[];

interface ChatMessage {
  role: string;
  content: Content | null;
  tool_calls?: JsonObject[];
  tool_call_id?: string;
}

/** `instructions` come first, as a system message. */
export function responsesInputToChat(body: JsonObject, check: RequestCheck): readonly object[] {
  const messages: ChatMessage[] = [];
  const { instructions, input } = body;
  if (!isAbsent(instructions))
    messages.push({ role: "system", content: check.string(instructions, "instructions") ?? "" });
  const before = messages.length;
  if (typeof input === "string") messages.push({ role: "user", content: input });
  else if (!isAbsent(input) && !Array.isArray(input))
    check.refuse("input", `must be a string or an array, not ${quote(input)}`);
  else {
    const items = check.list(input, "input") ?? [];
    const attached: JsonObject[] = [];
    for (let i = 0; i < items.length && check.failure === null; i++)
      addItem(messages, attached, items[i], `input[${i}]`, check);
    attach(messages, attached);
  }
  if (messages.length === before) check.refuse("input", "must not be empty");
  return messages;
}

/**
 * `id` and `status` say where an item was kept and how it came about: labels for the provider that
 * kept it. `parsed_arguments` is what OpenAI's SDK has made of the arguments.
 */
const known = {
  message: new Set(["type", "role", "content", "id", "status", "phase"]),
  function_call: new Set([
    "type",
    "call_id",
    "name",
    "arguments",
    "parsed_arguments",
    "id",
    "status",
    "namespace",
    "caller",
  ]),
  custom_tool_call: new Set([
    "type",
    "call_id",
    "name",
    "input",
    "id",
    "status",
    "namespace",
    "caller",
  ]),
  function_call_output: new Set(["type", "call_id", "output", "id", "status", "caller"]),
  custom_tool_call_output: new Set(["type", "call_id", "output", "id", "status", "caller"]),
  reasoning: new Set(["type", "id", "summary", "content", "encrypted_content", "status"]),
} as const;

type ItemType = keyof typeof known;

/**
 * What the outputs of tools held beside texts, once all outputs of a turn are there: a call must be
 * followed by them at once.
 */
function attach(messages: ChatMessage[], attached: JsonObject[]): void {
  if (attached.length > 0) messages.push({ role: "user", content: attached.splice(0) });
}

function addItem(
  messages: ChatMessage[],
  attached: JsonObject[],
  value: unknown,
  path: string,
  check: RequestCheck,
): void {
  const given = check.object(value, path);
  if (given === undefined) return;
  const type = itemType(given, path, check);
  if (type === undefined) return;
  const item = check.fields(given, path, known[type]);
  if (item === undefined) return;
  if (type === "function_call_output" || type === "custom_tool_call_output")
    return addOutput(messages, attached, item, path, check);
  // Left out: chat completions have no place for what a model thought earlier.
  if (type === "reasoning") return;
  attach(messages, attached);
  switch (type) {
    case "message":
      return addMessage(messages, item, path, check);
    case "function_call":
    case "custom_tool_call":
      return addCall(messages, callOf(type, item, path, check));
    default:
      unreachable(type);
  }
}

/** An item without a type is a message when it has a role, else a reference. */
function itemType(item: JsonObject, path: string, check: RequestCheck): ItemType | undefined {
  const type = item["type"] ?? (item["role"] === undefined ? "item_reference" : "message");
  if (typeof type === "string" && Object.hasOwn(known, type)) return type as ItemType;
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
 * Most providers of chat completions don't know the role `developer`, and those that do treat it as
 * `system`.
 */
const roles: ReadonlyMap<unknown, "system" | "user" | "assistant"> = new Map([
  ["system", "system"],
  ["developer", "system"],
  ["user", "user"],
  ["assistant", "assistant"],
]);

function addMessage(
  messages: ChatMessage[],
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
  if (content === undefined) return;
  const last = messages.at(-1);
  // Its calls must be answered next, so what the assistant said beside them belongs into the same
  // message.
  if (role === "assistant" && last?.tool_calls !== undefined)
    last.content =
      last.content === null ? content : [...partsOf(last.content), ...partsOf(content)];
  else messages.push({ role, content });
}

function partsOf(content: Content): readonly JsonObject[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** Calls that follow each other, or a text of the assistant, were one turn and are one message. */
function addCall(messages: ChatMessage[], call: JsonObject): void {
  const last = messages.at(-1);
  if (last?.role !== "assistant")
    messages.push({ role: "assistant", content: null, tool_calls: [call] });
  else if (last.tool_calls === undefined) last.tool_calls = [call];
  else last.tool_calls.push(call);
}

function callOf(
  type: "function_call" | "custom_tool_call",
  item: JsonObject,
  path: string,
  check: RequestCheck,
): JsonObject {
  if (!isAbsent(item["namespace"]))
    check.refuse(
      `${path}.namespace`,
      "can't be passed on: chat completions have no tool namespaces",
    );
  checkCaller(item, path, check);
  const { id, extra } = readSignedId(check.string(item["call_id"], `${path}.call_id`) ?? "");
  const name = check.string(item["name"], `${path}.name`);
  if (type === "custom_tool_call")
    return {
      id,
      type: "custom",
      custom: { name, input: check.string(item["input"], `${path}.input`) },
      ...extra,
    };
  return {
    id,
    type: "function",
    function: { name, arguments: check.string(item["arguments"], `${path}.arguments`) },
    ...extra,
  };
}

function addOutput(
  messages: ChatMessage[],
  attached: JsonObject[],
  item: JsonObject,
  path: string,
  check: RequestCheck,
): void {
  checkCaller(item, path, check);
  const { id } = readSignedId(check.string(item["call_id"], `${path}.call_id`) ?? "");
  const output = toolOutputToChat(item["output"], `${path}.output`, id, check);
  if (output === undefined) return;
  messages.push({ role: "tool", content: output.content, tool_call_id: id });
  attached.push(...output.attached);
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
