/** Translates the tools of a chat request, and its tool choice, to Anthropic's. */
import { isAbsent, isObject } from "../../../shared/checked.js";
import type { RequestReader } from "../shared/request-reader.js";
import type { JsonObject } from "../shared/translation.js";
import { chatFunctionFields, chatToolDefinitionFields } from "./chat-request-fields.js";

/** Undefined when there are none. */
export function chatToolsToMessages(
  value: unknown,
  reader: RequestReader,
): JsonObject[] | undefined {
  if (isAbsent(value)) return undefined;
  const tools = reader.list(value, "tools").map((tool, i) => toTool(tool, `tools[${i}]`, reader));
  return tools.length === 0 ? undefined : tools;
}

function toTool(value: unknown, at: string, reader: RequestReader): JsonObject {
  const tool = reader.object(value, at);
  reader.fields(tool, chatToolDefinitionFields, `${at}.`);
  if (tool["type"] !== "function")
    reader.unsupported(`${at}.type`, "must be function", "which only has function tools");
  const called = reader.object(tool["function"], `${at}.function`);
  reader.fields(called, chatFunctionFields, `${at}.function.`);
  const out: Record<string, unknown> = {
    name: reader.name(called["name"], `${at}.function.name`),
  };
  if (!isAbsent(called["description"]))
    out["description"] = reader.text(called["description"], `${at}.function.description`);
  out["input_schema"] = inputSchema(called["parameters"], `${at}.function.parameters`, reader);
  if (reader.flag(called["strict"], `${at}.function.strict`) === true) out["strict"] = true;
  if (!isAbsent(tool["cache_control"])) out["cache_control"] = tool["cache_control"];
  return out;
}

/** Alternatives of the whole input, which Anthropic refuses: only fields may have them. */
const alternatives = ["anyOf", "oneOf", "allOf"];

/** Anthropic requires a schema with a type, which is always an object. */
function inputSchema(value: unknown, at: string, reader: RequestReader): JsonObject {
  if (isAbsent(value)) return { type: "object", properties: {} };
  const given = reader.object(value, at);
  const refused = alternatives.filter((key) => given[key] !== undefined);
  for (const key of refused)
    reader.drop(`${at}.${key}`, "must be left out", "whose tools have one form of input");
  const schema =
    refused.length === 0
      ? given
      : Object.fromEntries(Object.entries(given).filter(([key]) => !refused.includes(key)));
  return isAbsent(schema["type"])
    ? Object.fromEntries([["type", "object"], ...Object.entries(schema)])
    : schema;
}

const choices: ReadonlyMap<string, string> = new Map([
  ["auto", "auto"],
  ["none", "none"],
  ["required", "any"],
]);

/**
 * Undefined for Anthropic's default, and without tools, because Anthropic then refuses a choice.
 */
export function chatToolChoiceToMessages(
  body: JsonObject,
  hasTools: boolean,
  reader: RequestReader,
): JsonObject | undefined {
  const chatChoice = body["tool_choice"];
  const parallel = reader.flag(body["parallel_tool_calls"], "parallel_tool_calls");
  const choice = isObject(chatChoice)
    ? namedTool(chatChoice, reader)
    : simpleChoice(chatChoice, reader);
  if (!hasTools && (choice === undefined || choice["type"] === "auto" || choice["type"] === "none"))
    return undefined;
  if (parallel !== false || choice?.["type"] === "none") return choice;
  return choice === undefined
    ? { type: "auto", disable_parallel_tool_use: true }
    : Object.assign(choice, { disable_parallel_tool_use: true });
}

function simpleChoice(value: unknown, reader: RequestReader): JsonObject | undefined {
  const type = reader.enumValue(value, choices, "tool_choice");
  return type === undefined ? undefined : { type };
}

function namedTool(choice: JsonObject, reader: RequestReader): JsonObject {
  if (choice["type"] !== "function")
    reader.unsupported(
      "tool_choice.type",
      "must be function",
      "which can't limit the choice to some of the tools",
    );
  const called = reader.object(choice["function"], "tool_choice.function");
  return { type: "tool", name: reader.name(called["name"], "tool_choice.function.name") };
}
