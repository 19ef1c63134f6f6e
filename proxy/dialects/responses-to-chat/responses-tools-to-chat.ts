/** Tools and the tool choice: flat in the Responses API, nested in chat completions. */
import { isAbsent } from "../../../shared/checked.js";
import { quote, type RequestCheck } from "../translation/request-check.js";
import type { JsonObject } from "../translation/translation.js";

type Fields = Record<string, unknown>;

/**
 * Sets `tools`, `tool_choice` and `parallel_tool_calls`. Without tools the last two have no effect,
 * and providers refuse them.
 */
export function responsesToolsToChat(body: JsonObject, chat: Fields, check: RequestCheck): void {
  const { tools: given, tool_choice: choice, parallel_tool_calls: parallel } = body;
  const listed = isAbsent(given) ? [] : (check.list(given, "tools") ?? []);
  const tools = listed.map((tool, i) => translateTool(tool, `tools[${i}]`, check) ?? {});
  if (!isAbsent(parallel)) check.boolean(parallel, "parallel_tool_calls");
  if (check.failure !== null) return;
  if (tools.length === 0) {
    if (!isAbsent(choice) && choice !== "auto" && choice !== "none")
      check.refuse("tool_choice", "requires a tool, but the request has none");
    return;
  }
  chat["tools"] = tools;
  if (!isAbsent(choice)) translateChoice(choice, tools, chat, check);
  if (!isAbsent(parallel)) chat["parallel_tool_calls"] = parallel;
}

const functionFields = new Set([
  "type",
  "name",
  "description",
  "parameters",
  "strict",
  "defer_loading",
  "allowed_callers",
  "output_schema",
]);
const customFields = new Set([
  "type",
  "name",
  "description",
  "format",
  "defer_loading",
  "allowed_callers",
]);

function translateTool(value: unknown, path: string, check: RequestCheck): JsonObject | undefined {
  const type = check.object(value, path)?.["type"];
  if (type !== "function" && type !== "custom") {
    if (isAbsent(type)) return check.refuse(`${path}.type`, "is required");
    return check.refuse(
      `${path}.type`,
      `can't be passed on: this provider only has chat completions, which support functions and custom tools, not ${quote(type)}`,
    );
  }
  const tool = check.fields(value, path, type === "function" ? functionFields : customFields);
  if (tool === undefined) return undefined;
  checkCallers(tool, path, check);
  const inner: Fields = { name: check.string(tool["name"], `${path}.name`) };
  if (!isAbsent(tool["description"]))
    inner["description"] = check.string(tool["description"], `${path}.description`);
  if (type === "custom") {
    if (!isAbsent(tool["format"]))
      inner["format"] = translateFormat(tool["format"], `${path}.format`, check);
    return { type, custom: inner };
  }
  if (!isAbsent(tool["output_schema"]))
    return check.refuse(
      `${path}.output_schema`,
      "can't be passed on: chat completions have no such field",
    );
  if (!isAbsent(tool["parameters"]))
    inner["parameters"] = check.object(tool["parameters"], `${path}.parameters`);
  if (!isAbsent(tool["strict"])) inner["strict"] = check.boolean(tool["strict"], `${path}.strict`);
  return { type, function: inner };
}

/** Refuses deferred tools and programmatic callers. */
function checkCallers(tool: JsonObject, path: string, check: RequestCheck): void {
  const { defer_loading: deferred, allowed_callers: callers } = tool;
  if (!isAbsent(deferred) && deferred !== false)
    check.refuse(
      `${path}.defer_loading`,
      "can't be passed on: chat completions load every tool at once",
    );
  if (isAbsent(callers)) return;
  if (check.list(callers, `${path}.allowed_callers`)?.some((caller) => caller !== "direct"))
    check.refuse(
      `${path}.allowed_callers`,
      "can't be passed on: in chat completions only the model calls tools",
    );
}

function translateFormat(
  value: unknown,
  path: string,
  check: RequestCheck,
): JsonObject | undefined {
  const type = check.object(value, path)?.["type"];
  if (type === "text") return check.fields(value, path, new Set(["type"]));
  if (type !== "grammar")
    return check.refuse(`${path}.type`, `must be text or grammar, not ${quote(type)}`);
  const format = check.fields(value, path, new Set(["type", "syntax", "definition"]));
  if (format === undefined) return undefined;
  const syntax = check.string(format["syntax"], `${path}.syntax`);
  return {
    type,
    grammar: { definition: check.string(format["definition"], `${path}.definition`), syntax },
  };
}

function translateChoice(
  choice: unknown,
  tools: readonly JsonObject[],
  chat: Fields,
  check: RequestCheck,
): void {
  if (choice === "auto" || choice === "none" || choice === "required") {
    chat["tool_choice"] = choice;
    return;
  }
  const type = check.object(choice, "tool_choice")?.["type"];
  if (type === "allowed_tools") return allowTools(choice, tools, chat, check);
  if (type !== "function" && type !== "custom")
    return check.refuse(
      "tool_choice",
      `can't be passed on: chat completions support functions and custom tools, not ${quote(type)}`,
    );
  const named = check.fields(choice, "tool_choice", new Set(["type", "name"]));
  const name = check.string(named?.["name"], "tool_choice.name");
  chat["tool_choice"] =
    type === "function" ? { type, function: { name } } : { type, custom: { name } };
}

/**
 * Passes on only the allowed tools: few providers support `allowed_tools`, and a tool that isn't
 * sent can't be called either.
 */
function allowTools(
  choice: unknown,
  tools: readonly JsonObject[],
  chat: Fields,
  check: RequestCheck,
): void {
  const { mode, tools: allowed } =
    check.fields(choice, "tool_choice", new Set(["type", "mode", "tools"])) ?? {};
  if (mode !== "auto" && mode !== "required")
    return check.refuse("tool_choice.mode", `must be auto or required, not ${quote(mode)}`);
  const wanted = check.list(allowed, "tool_choice.tools") ?? [];
  if (wanted.length === 0) return check.refuse("tool_choice.tools", "must name at least one tool");
  const kept = new Set<JsonObject>();
  for (let i = 0; i < wanted.length; i++) {
    const { type, name } = check.object(wanted[i], `tool_choice.tools[${i}]`) ?? {};
    const tool = tools.find((each) => each["type"] === type && nameOf(each) === name);
    if (tool === undefined)
      return check.refuse(`tool_choice.tools[${i}]`, "is not one of the request's tools");
    kept.add(tool);
  }
  chat["tools"] = tools.filter((tool) => kept.has(tool));
  chat["tool_choice"] = mode;
}

function nameOf(tool: JsonObject): unknown {
  return ((tool["function"] ?? tool["custom"]) as JsonObject)["name"];
}
