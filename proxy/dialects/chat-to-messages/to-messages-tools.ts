/** The tools of a chat completion's request, and the choice among them, as Anthropic's. */
import { isAbsent, isObject } from "../../../shared/assert.js";
import type { Refusals } from "../translation/refusals.js";
import type { JsonObject } from "../translation/translation.js";
import { chatFunctionFields, chatToolDefinitionFields } from "./chat-fields.js";

/** Undefined when there are none. */
export function toMessagesTools(value: unknown, refusals: Refusals): JsonObject[] | undefined {
  if (isAbsent(value)) return undefined;
  const tools = refusals
    .list(value, "tools")
    .map((tool, i) => toTool(tool, `tools[${i}]`, refusals));
  return tools.length === 0 ? undefined : tools;
}

function toTool(value: unknown, at: string, refusals: Refusals): JsonObject {
  const tool = refusals.object(value, at);
  refusals.fields(tool, chatToolDefinitionFields, `${at}.`);
  if (tool["type"] !== "function")
    refusals.unsupported(`${at}.type`, "must be function", "whose tools take JSON alone");
  const called = refusals.object(tool["function"], `${at}.function`);
  refusals.fields(called, chatFunctionFields, `${at}.function.`);
  const out: Record<string, unknown> = {
    name: refusals.name(called["name"], `${at}.function.name`),
  };
  if (!isAbsent(called["description"]))
    out["description"] = refusals.text(called["description"], `${at}.function.description`);
  out["input_schema"] = inputSchema(called["parameters"], `${at}.function.parameters`, refusals);
  if (refusals.flag(called["strict"], `${at}.function.strict`) === true) out["strict"] = true;
  if (!isAbsent(tool["cache_control"])) out["cache_control"] = tool["cache_control"];
  return out;
}

/** Anthropic requires a schema, and the type in it; arguments are always an object. */
function inputSchema(value: unknown, at: string, refusals: Refusals): JsonObject {
  if (isAbsent(value)) return { type: "object", properties: {} };
  const schema = refusals.object(value, at);
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
 * Undefined when the choice is Anthropic's own default. Without tools there is nothing to choose,
 * and Anthropic refuses a choice.
 */
export function toMessagesToolChoice(
  body: JsonObject,
  hasTools: boolean,
  refusals: Refusals,
): JsonObject | undefined {
  const given = body["tool_choice"];
  const parallel = refusals.flag(body["parallel_tool_calls"], "parallel_tool_calls");
  const choice = isObject(given) ? namedTool(given, refusals) : chosenWord(given, refusals);
  if (!hasTools && (choice === undefined || choice["type"] === "auto" || choice["type"] === "none"))
    return undefined;
  if (parallel !== false || choice?.["type"] === "none") return choice;
  return choice === undefined
    ? { type: "auto", disable_parallel_tool_use: true }
    : Object.assign(choice, { disable_parallel_tool_use: true });
}

function chosenWord(given: unknown, refusals: Refusals): JsonObject | undefined {
  const type = refusals.word(given, choices, "tool_choice");
  return type === undefined ? undefined : { type };
}

function namedTool(given: JsonObject, refusals: Refusals): JsonObject {
  if (given["type"] !== "function")
    refusals.unsupported(
      "tool_choice.type",
      "must be function",
      "which chooses among all tools, or names one",
    );
  const called = refusals.object(given["function"], "tool_choice.function");
  return { type: "tool", name: refusals.name(called["name"], "tool_choice.function.name") };
}
