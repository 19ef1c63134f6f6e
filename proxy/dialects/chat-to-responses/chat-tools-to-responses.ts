/** Translates tools and the tool choice: nested in chat completions, flat in the Responses API. */
import { isAbsent, isObject } from "../../../shared/checked.js";
import { quote } from "../shared/request-check.js";
import type { RequestReader } from "../shared/request-reader.js";
import type { JsonObject } from "../shared/translation.js";
import { chatToolFields } from "./chat-fields.js";

/** Undefined if there are no tools. */
export function chatToolsToResponses(
  value: unknown,
  reader: RequestReader,
): readonly JsonObject[] | undefined {
  if (isAbsent(value)) return undefined;
  const tools = reader.list(value, "tools").map((tool, i) => flatTool(tool, `tools[${i}]`, reader));
  return tools.length === 0 ? undefined : tools;
}

function flatTool(value: unknown, at: string, reader: RequestReader): JsonObject {
  const tool = reader.object(value, at);
  reader.fields(tool, chatToolFields, `${at}.`);
  const { type } = tool;
  if (type === "function") return flatFunction(tool["function"], `${at}.function`, reader);
  if (type === "custom") return flatCustom(tool["custom"], `${at}.custom`, reader);
  reader.refuse(`${at}.type`, `must be function or custom, not ${quote(type)}`);
  return {};
}

/** The API treats a function without `strict` as strict, and requires parameters. */
function flatFunction(value: unknown, at: string, reader: RequestReader): JsonObject {
  const { name, description, parameters, strict, ...rest } = reader.object(value, at);
  for (const field in rest)
    if (!isAbsent(rest[field]))
      reader.drop(`${at}.${field}`, "must be left out", "and Sluice can't translate this field");
  return {
    type: "function",
    name: reader.name(name, `${at}.name`),
    ...(isAbsent(description) ? {} : { description }),
    parameters: isAbsent(parameters)
      ? { type: "object", properties: {} }
      : reader.object(parameters, `${at}.parameters`),
    strict: reader.flag(strict, `${at}.strict`) ?? false,
  };
}

function flatCustom(value: unknown, at: string, reader: RequestReader): JsonObject {
  const { format, ...tool } = reader.object(value, at);
  reader.name(tool["name"], `${at}.name`);
  const flat = { type: "custom", ...tool };
  if (isAbsent(format)) return flat;
  const { type, grammar } = reader.object(format, `${at}.format`);
  return {
    ...flat,
    format:
      type === "grammar" ? { type, ...reader.object(grammar, `${at}.format.grammar`) } : { type },
  };
}

const simpleChoices: readonly unknown[] = ["auto", "none", "required"];

/**
 * Undefined for the default, and for `auto` and `none` without tools, with which the API refuses
 * any choice. `required` passes: the API answers that it needs tools.
 */
export function chatToolChoiceToResponses(
  value: unknown,
  hasTools: boolean,
  reader: RequestReader,
): unknown {
  if (isAbsent(value)) return undefined;
  if (simpleChoices.includes(value)) return hasTools || value === "required" ? value : undefined;
  const choice = reader.object(value, "tool_choice");
  if (choice["type"] !== "allowed_tools") return namedChoice(choice, "tool_choice", reader);
  const at = "tool_choice.allowed_tools";
  const { mode, tools } = reader.object(choice["allowed_tools"], at);
  return {
    type: "allowed_tools",
    mode,
    tools: reader.list(tools, `${at}.tools`).map((tool, i) => {
      const place = `${at}.tools[${i}]`;
      return namedChoice(reader.object(tool, place), place, reader);
    }),
  };
}

function namedChoice(choice: JsonObject, at: string, reader: RequestReader): JsonObject {
  const { type } = choice;
  if (type !== "function" && type !== "custom") {
    reader.refuse(`${at}.type`, `must be function or custom, not ${quote(type)}`);
    return {};
  }
  const inner = choice[type];
  const { name } = isObject(inner) ? inner : choice;
  return { type, name: reader.name(name, `${at}.${type}.name`) };
}
