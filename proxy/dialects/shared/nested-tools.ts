/**
 * Converts the tools of a chat request to the form of chat completions. Cursor writes some or all
 * of them as in the Responses API, and for Claude as in Anthropic's (BerriAI/litellm#34029,
 * su-kaka/gcli2api#218).
 */
import { isAbsent, isObject } from "../../../shared/checked.js";
import type { JsonObject } from "./translation.js";

/** The same body if all of its tools have that form. */
export function withNestedTools(body: JsonObject): JsonObject {
  const { tools } = body;
  if (!Array.isArray(tools) || !tools.some(isFlat)) return body;
  return { ...body, tools: tools.map((tool: unknown) => (isFlat(tool) ? nested(tool) : tool)) };
}

function isFlat(tool: unknown): tool is JsonObject {
  if (!isObject(tool) || typeof tool["name"] !== "string") return false;
  const { type = "function" } = tool;
  return type === "function" || type === "custom"
    ? tool[type] === undefined && tool["function"] === undefined
    : false;
}

function nested({ type, format, input_schema: schema, ...fields }: JsonObject): JsonObject {
  if (type !== "custom" || !isAbsent(schema)) {
    const { cache_control: mark, ...called } = fields;
    const parameters = schema ?? called["parameters"];
    return {
      type: "function",
      function: isAbsent(parameters) ? called : { ...called, parameters },
      ...(isAbsent(mark) ? {} : { cache_control: mark }),
    };
  }
  if (!isObject(format) || format["type"] !== "grammar" || isObject(format["grammar"]))
    return { type, custom: isAbsent(format) ? fields : { ...fields, format } };
  const { type: kind, ...grammar } = format;
  return { type, custom: { ...fields, format: { type: kind, grammar } } };
}
