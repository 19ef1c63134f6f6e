/** Translates the tools of a chat request, and its tool choice, to Anthropic's. */
import { isAbsent, isObject } from "../../../shared/checked.js";
import { objectSchema } from "../shared/object-schema.js";
import type { RequestReader } from "../shared/request-reader.js";
import { fittingToolName, messagesNameCharsMax } from "../shared/tool-call.js";
import type { JsonObject } from "../shared/translation.js";
import { chatFunctionFields, chatToolDefinitionFields } from "./chat-request-fields.js";
import type { SchemaBudget } from "./output-schema.js";

/** Undefined if there are no tools. */
export function chatToolsToMessages(
  { tools: value, tool_choice: choice }: JsonObject,
  budget: SchemaBudget,
  reader: RequestReader,
): JsonObject[] | undefined {
  if (isAbsent(value)) return undefined;
  const tools = reader
    .list(value, "tools")
    .map((tool, i) => toTool(tool, `tools[${i}]`, budget, reader));
  if (tools.length === 0) return undefined;
  const allowed = allowedNames(choice, reader);
  return allowed === null ? tools : tools.filter(({ name }) => allowed.has(name as string));
}

function toTool(
  value: unknown,
  path: string,
  budget: SchemaBudget,
  reader: RequestReader,
): JsonObject {
  const tool = reader.object(value, path);
  reader.fields(tool, chatToolDefinitionFields, `${path}.`);
  if (tool["type"] !== "function")
    reader.unsupported(`${path}.type`, "must be function", "which only has function tools");
  const called = reader.object(tool["function"], `${path}.function`);
  reader.fields(called, chatFunctionFields, `${path}.function.`);
  const out: Record<string, unknown> = {
    name: readToolName(called["name"], `${path}.function.name`, reader),
  };
  if (!isAbsent(called["description"]))
    out["description"] = reader.text(called["description"], `${path}.function.description`);
  const { parameters = null } = called;
  const schema =
    parameters === null
      ? { type: "object", properties: {} }
      : objectSchema(parameters, `${path}.function.parameters`, reader);
  out["input_schema"] = schema;
  if (reader.flag(called["strict"], `${path}.function.strict`) === true) {
    const strict = budget.take(schema, true);
    if (strict === null)
      reader.drop(`${path}.function.strict`, "must be left out", "which can't enforce its schema");
    else Object.assign(out, { input_schema: strict, strict: true });
  }
  if (!isAbsent(tool["cache_control"])) out["cache_control"] = tool["cache_control"];
  return out;
}

const choices: ReadonlyMap<string, string> = new Map([
  ["auto", "auto"],
  ["none", "none"],
  ["required", "any"],
]);

/**
 * Undefined for Anthropic's default, and if there are no tools, because Anthropic then refuses a
 * choice.
 */
export function chatToolChoiceToMessages(
  body: JsonObject,
  hasTools: boolean,
  reader: RequestReader,
): JsonObject | undefined {
  const chatChoice = body["tool_choice"];
  const parallel = reader.flag(body["parallel_tool_calls"], "parallel_tool_calls");
  const choice = isObject(chatChoice)
    ? objectChoice(chatChoice, reader)
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

function objectChoice(choice: JsonObject, reader: RequestReader): JsonObject | undefined {
  if (choice["type"] === "allowed_tools") {
    const { mode } = reader.object(choice["allowed_tools"], "tool_choice.allowed_tools");
    const type = reader.enumValue(mode, modes, "tool_choice.allowed_tools.mode");
    return type === undefined ? undefined : { type };
  }
  if (choice["type"] !== "function")
    reader.refuse("tool_choice.type", "must be function or allowed_tools");
  const called = reader.object(choice["function"], "tool_choice.function");
  return { type: "tool", name: readToolName(called["name"], "tool_choice.function.name", reader) };
}

const modes: ReadonlyMap<string, string> = new Map([
  ["auto", "auto"],
  ["required", "any"],
]);

/**
 * The names, as Anthropic gets them, of the tools that may be called; null for all tools. Anthropic
 * can't limit the choice, but a tool that isn't sent can't be called.
 */
function allowedNames(choice: unknown, reader: RequestReader): ReadonlySet<string> | null {
  if (!isObject(choice) || choice["type"] !== "allowed_tools") return null;
  const path = "tool_choice.allowed_tools";
  const { tools } = reader.object(choice["allowed_tools"], path);
  const names = reader.list(tools, `${path}.tools`).map((item, i) => {
    const tool = reader.object(item, `${path}.tools[${i}]`);
    const called = reader.object(tool["function"], `${path}.tools[${i}].function`);
    return readToolName(called["name"], `${path}.tools[${i}].function.name`, reader);
  });
  return new Set(names);
}

/** A tool's name in a form that Anthropic accepts. */
export function readToolName(value: unknown, path: string, reader: RequestReader): string {
  return fittingToolName(reader.name(value, path), messagesNameCharsMax);
}
