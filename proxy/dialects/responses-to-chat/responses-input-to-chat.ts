/** Translates the input of the Responses API to the messages of a chat completion. */
import { unreachable } from "../../../shared/assert.js";
import { isAbsent, isObject } from "../../../shared/checked.js";
import { isReference } from "../../body/call-needs.js";
import { writeExactly } from "../../body/exact-json.js";
import { type KeptReasoning, readKeptReasoning } from "../shared/kept-reasoning.js";
import { compactedElsewhere, isCompaction } from "../shared/made-by.js";
import { quote, type RequestCheck } from "../shared/request-check.js";
import { type CallIdentity, readSignedId } from "../shared/thought-signature.js";
import type { JsonObject, RequestOptions } from "../shared/translation.js";
import { ChatConversation, type ChatMessage } from "./chat-conversation.js";
import { chatToolName, customCallArguments } from "./client-tools.js";
import { responsesContentToChat, toolOutputToChat } from "./responses-content-to-chat.js";

/** `instructions` come first, as a system message. */
export function responsesInputToChat(
  body: JsonObject,
  { takesCustomTools }: RequestOptions,
  check: RequestCheck,
): readonly ChatMessage[] {
  const chat = new ChatConversation(takesCustomTools);
  const { instructions, input } = body;
  if (!isAbsent(instructions))
    chat.addMessage("system", check.string(instructions, "instructions") ?? "");
  const before = chat.messages.length;
  if (typeof input === "string") chat.addMessage("user", input);
  else if (!isAbsent(input) && !Array.isArray(input))
    check.refuse("input", `must be a string or an array, not ${quote(input)}`);
  else {
    const items = check.list(input, "input") ?? [];
    let inputIds: ReadonlySet<unknown> | null = null;
    for (let i = 0; i < items.length && check.failure === null; i++) {
      const item = items[i];
      const id = referenceIn(item);
      if (id === null) addItem(chat, item, `input[${i}]`, check);
      else {
        inputIds ??= new Set(items.map(idOfItem));
        if (!inputIds.has(id)) missReference(id, `input[${i}]`, check);
      }
    }
    chat.end();
  }
  if (chat.messages.length === before) check.refuse("input", "must not be empty");
  return chat.messages;
}

/** Codex marks items with their turn. */
const internalField = "internal_chat_message_metadata_passthrough";
const anyFields = ["type", "id", "status", internalField];
const callFields = [...anyFields, "call_id", "name", "namespace", "caller"];
const outputFields = new Set([...anyFields, "call_id", "output", "caller"]);

/**
 * The fields of each item. Fields that are left out without a report are `id` and `status`, which
 * are labels for the provider that stored the item, and fields that clients add for themselves:
 * `parsed_arguments` is from OpenAI's SDK.
 */
const itemFields = {
  message: new Set([...anyFields, "role", "content", "phase"]),
  function_call: new Set([...callFields, "arguments", "parsed_arguments"]),
  custom_tool_call: new Set([...callFields, "input"]),
  function_call_output: outputFields,
  custom_tool_call_output: outputFields,
  reasoning: new Set([...anyFields, "summary", "content", "encrypted_content"]),
  local_shell_call: new Set([...callFields, "action"]),
  local_shell_call_output: outputFields,
  shell_call: new Set([...callFields, "action", "environment", "created_by"]),
  shell_call_output: new Set([...outputFields, "max_output_length", "created_by"]),
  apply_patch_call: new Set([...callFields, "operation", "created_by"]),
  apply_patch_call_output: new Set([...outputFields, "created_by"]),
} as const;

/**
 * Items of tools that OpenAI runs, and of OpenAI's own bookkeeping: an agent can continue without
 * them. The text after a search contains the results.
 */
const droppedItems: ReadonlySet<unknown> = new Set([
  "web_search_call",
  "file_search_call",
  "code_interpreter_call",
  "image_generation_call",
  "tool_search_call",
  "tool_search_output",
  "mcp_list_tools",
  "mcp_call",
  "mcp_approval_request",
  "mcp_approval_response",
]);

/** The type of an item by which a client asks to compact the conversation. */
export const compactionTrigger = "compaction_trigger";

const compactionPrompt =
  "Summarize this conversation so that another model can continue the work from the summary alone: the task and its constraints, decisions, results so far with the names and data that matter, and what remains to be done. Write only the summary, and call no tool.";

/** Whether a client wants its conversation compacted, as Codex does before its context is full. */
export function wantsCompaction({ input }: JsonObject): boolean {
  const last: unknown = Array.isArray(input) ? input.at(-1) : null;
  return isObject(last) && last["type"] === compactionTrigger;
}

/** The body with the settings that the items of its input change. */
export function withUpdates(body: JsonObject): JsonObject {
  const { input } = body;
  if (!Array.isArray(input) || !input.some(isUpdate)) return body;
  const out: Record<string, unknown> = { ...body, input: input.filter((item) => !isUpdate(item)) };
  for (const update of input.filter(isUpdate))
    for (const name of ["reasoning", "text"]) {
      const { [name]: changed } = update;
      if (isAbsent(changed)) continue;
      const before = out[name];
      out[name] = isObject(changed) && isObject(before) ? { ...before, ...changed } : changed;
    }
  return out;
}

function isUpdate(item: unknown): item is JsonObject {
  return isObject(item) && item["type"] === "configuration_update";
}

type ItemType = keyof typeof itemFields;

function addItem(chat: ChatConversation, value: unknown, path: string, check: RequestCheck): void {
  const object = check.object(value, path);
  if (object === undefined) return;
  if (object["type"] === compactionTrigger) return chat.addMessage("user", compactionPrompt);
  if (isCompaction(object)) {
    const summary = readKeptReasoning(object["encrypted_content"]);
    if (summary !== null) return chat.addMessage("user", summary.text);
    check.drop(`${path}.type`, "can't be read by another provider", "input[] (compaction)");
    return chat.addMessage("system", compactedElsewhere);
  }
  if (droppedItems.has(object["type"])) {
    const name = String(object["type"]);
    return check.drop(
      `${path}.type`,
      `can't be passed on: chat completions have no ${quote(name)}`,
      `input[] (${name})`,
    );
  }
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
      return chat.addCall(customCall(item, path, chat.takesCustomTools, check));
    case "local_shell_call":
    case "shell_call":
    case "apply_patch_call":
      return chat.addCall(agentCall(item, type.replace(/_call$/, ""), path, check));
    case "function_call_output":
    case "custom_tool_call_output":
    case "local_shell_call_output":
    case "shell_call_output":
    case "apply_patch_call_output":
      return addToolOutput(chat, item, path, check);
    case "reasoning":
      return chat.addReasoning(reasoningOf(item));
    default:
      unreachable(type);
  }
}

/** An item without a type is a message. */
function itemType(item: JsonObject, path: string, check: RequestCheck): ItemType | undefined {
  const type = isAbsent(item["type"]) ? "message" : item["type"];
  if (typeof type === "string" && Object.hasOwn(itemFields, type)) return type as ItemType;
  return check.refuse(
    `${path}.type`,
    `can't be passed on: chat completions have no ${quote(type)}`,
  );
}

/** The id of the stored item that this item refers to; null if it isn't a reference. */
function referenceIn(item: unknown): unknown {
  return isReference(item) ? (item["id"] ?? "") : null;
}

/** The item's id; null for a reference. */
function idOfItem(item: unknown): unknown {
  return isObject(item) && referenceIn(item) === null ? item["id"] : null;
}

/**
 * Handles a reference to an item that isn't in the input, since items aren't stored: drops
 * reasoning, refuses other items.
 */
function missReference(id: unknown, path: string, check: RequestCheck): void {
  const problem =
    "refers to a stored item, and no items are stored: send the item itself, as SDKs do with store: false";
  if (typeof id === "string" && id.startsWith("rs_"))
    check.drop(path, problem, "input[] (reference to reasoning)");
  else check.refuse(path, problem);
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

function customCall(
  item: JsonObject,
  path: string,
  takesCustomTools: boolean,
  check: RequestCheck,
): JsonObject {
  const { id, name, extra } = readCall(item, path, check);
  const input = check.string(item["input"], `${path}.input`) ?? "";
  return takesCustomTools
    ? { id, type: "custom", custom: { name, input }, ...extra }
    : { id, type: "function", function: { name, arguments: customCallArguments(input) }, ...extra };
}

/** A call of a tool that OpenAI defined for its own agents, as a call of a function. */
function agentCall(item: JsonObject, name: string, path: string, check: RequestCheck): JsonObject {
  const { id, extra } = readCallId(item, path, check);
  const input = item["action"] ?? item["operation"] ?? {};
  return { id, type: "function", function: { name, arguments: writeExactly(input) }, ...extra };
}

/** Older clients name the call of a local shell only by its id. */
function readCallId(item: JsonObject, path: string, check: RequestCheck): CallIdentity {
  const id = item["call_id"] ?? item["id"];
  return readSignedId(check.string(id, `${path}.call_id`) ?? "");
}

/**
 * The reasoning that Sluice kept in `encrypted_content`, or the text that clients of open models
 * send. Only OpenAI's models can read what OpenAI encrypted.
 */
function reasoningOf(item: JsonObject): KeptReasoning {
  const reasoning = readKeptReasoning(item["encrypted_content"]);
  if (reasoning !== null) return reasoning;
  const { content } = item;
  const texts = Array.isArray(content)
    ? content.map((part: unknown) => (isObject(part) ? part["text"] : null))
    : [];
  return { text: texts.filter((text) => typeof text === "string").join(""), blocks: [] };
}

interface NamedCall extends CallIdentity {
  /** The chat completions name. */
  readonly name: string;
}

function readCall(item: JsonObject, path: string, check: RequestCheck): NamedCall {
  const namespace = isAbsent(item["namespace"])
    ? null
    : (check.string(item["namespace"], `${path}.namespace`) ?? null);
  checkCaller(item, path, check);
  const { id, extra } = readSignedId(check.string(item["call_id"], `${path}.call_id`) ?? "");
  const name = check.string(item["name"], `${path}.name`) ?? "";
  return { id, name: chatToolName(name, namespace), extra };
}

function addToolOutput(
  chat: ChatConversation,
  item: JsonObject,
  path: string,
  check: RequestCheck,
): void {
  checkCaller(item, path, check);
  const { id } = readCallId(item, path, check);
  const { type, output: outputField = "" } = item;
  // The output of a shell is a list of what each command wrote.
  const isText = type !== "shell_call_output" || typeof outputField === "string";
  const output = toolOutputToChat(
    isText ? outputField : writeExactly(outputField),
    `${path}.output`,
    id,
    check,
  );
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
