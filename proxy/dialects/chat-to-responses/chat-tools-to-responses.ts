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

function flatTool(value: unknown, path: string, reader: RequestReader): JsonObject {
  const tool = reader.object(value, path);
  reader.fields(tool, chatToolFields, `${path}.`);
  const { type } = tool;
  if (type === "function") return flatFunction(tool["function"], `${path}.function`, reader);
  if (type === "custom") return flatCustom(tool["custom"], `${path}.custom`, reader);
  reader.refuse(`${path}.type`, `must be function or custom, not ${quote(type)}`);
  return {};
}

/** The API treats a function without `strict` as strict, and requires parameters. */
function flatFunction(value: unknown, path: string, reader: RequestReader): JsonObject {
  const { name, description, parameters, strict, ...rest } = reader.object(value, path);
  for (const field in rest)
    if (!isAbsent(rest[field]))
      reader.drop(`${path}.${field}`, "must be left out", "and Sluice can't translate this field");
  return {
    type: "function",
    name: reader.name(name, `${path}.name`),
    ...(isAbsent(description) ? {} : { description }),
    parameters: isAbsent(parameters)
      ? { type: "object", properties: {} }
      : reader.object(parameters, `${path}.parameters`),
    strict: reader.flag(strict, `${path}.strict`) ?? false,
  };
}

function flatCustom(value: unknown, path: string, reader: RequestReader): JsonObject {
  const { format, ...tool } = reader.object(value, path);
  reader.name(tool["name"], `${path}.name`);
  const flat = { type: "custom", ...tool };
  if (isAbsent(format)) return flat;
  const { type, grammar } = reader.object(format, `${path}.format`);
  return {
    ...flat,
    format:
      type === "grammar" ? { type, ...reader.object(grammar, `${path}.format.grammar`) } : { type },
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
  const path = "tool_choice.allowed_tools";
  const { mode, tools } = reader.object(choice["allowed_tools"], path);
  return {
    type: "allowed_tools",
    mode,
    tools: reader.list(tools, `${path}.tools`).map((tool, i) => {
      const place = `${path}.tools[${i}]`;
      return namedChoice(reader.object(tool, place), place, reader);
    }),
  };
}

function namedChoice(choice: JsonObject, path: string, reader: RequestReader): JsonObject {
  const { type } = choice;
  if (type !== "function" && type !== "custom") {
    reader.refuse(`${path}.type`, `must be function or custom, not ${quote(type)}`);
    return {};
  }
  const inner = choice[type];
  const { name } = isObject(inner) ? inner : choice;
  return { type, name: reader.name(name, `${path}.${type}.name`) };
}
