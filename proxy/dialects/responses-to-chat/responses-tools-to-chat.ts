/** Translates tools and the tool choice: flat in the Responses API, nested in chat completions. */
import { isAbsent, isObject } from "../../../shared/checked.js";
import { append } from "../../../shared/long-lists.js";
import { quote, type RequestCheck } from "../shared/request-check.js";
import { fittingToolName } from "../shared/tool-call.js";
import type { JsonObject } from "../shared/translation.js";
import { chatToolName, customToolParameters } from "./client-tools.js";

type Fields = Record<string, unknown>;

/**
 * Sets `tools`, `tool_choice` and `parallel_tool_calls`. Without tools the latter two have no
 * effect, and providers refuse them.
 */
export function responsesToolsToChat(body: JsonObject, chat: Fields, context: ToolContext): void {
  const { check } = context;
  const { tools: toolsField, tool_choice: choice, parallel_tool_calls: parallel } = body;
  const requestTools = isAbsent(toolsField) ? [] : (check.list(toolsField, "tools") ?? []);
  const tools: JsonObject[] = [];
  for (const [i, tool] of requestTools.entries())
    append(tools, translateTool(tool, `tools[${i}]`, null, context));
  if (!isAbsent(parallel)) check.boolean(parallel, "parallel_tool_calls");
  if (check.failure !== null) return;
  if (tools.length === 0) {
    if (isAbsent(choice) || choice === "auto" || choice === "none") return;
    if (requestTools.length > 0)
      check.drop("tool_choice", "must be one of the tools that are passed on");
    else check.refuse("tool_choice", "requires a tool, but the request has none");
    return;
  }
  chat["tools"] = tools;
  if (!isAbsent(choice)) translateChoice(choice, tools, chat, context);
  if (!isAbsent(parallel)) chat["parallel_tool_calls"] = parallel;
}

interface ToolContext {
  readonly check: RequestCheck;
  /** See `RequestOptions`. */
  readonly takesCustomTools: boolean;
}

const namespaceFields = new Set(["type", "name", "description", "tools"]);
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

/** Returns no tool for one that was dropped, and all tools of a namespace. */
function translateTool(
  value: unknown,
  path: string,
  namespace: string | null,
  context: ToolContext,
): JsonObject[] {
  const { check } = context;
  const type = check.object(value, path)?.["type"];
  if (isAbsent(type)) check.refuse(`${path}.type`, "is required");
  else if (type === "namespace" && namespace === null)
    return toolsOfNamespace(value, path, context);
  else if (type !== "function" && type !== "custom")
    check.drop(
      `${path}.type`,
      `can't be passed on: this provider only has chat completions, which support functions and custom tools, not ${quote(type)}`,
      `tools[] (${quote(type)})`,
    );
  else {
    const tool = check.fields(value, path, type === "function" ? functionFields : customFields);
    if (tool === undefined) return [];
    dropUnsupported(tool, path, check);
    const inner: Fields = {
      name: chatToolName(check.string(tool["name"], `${path}.name`) ?? "", namespace),
    };
    if (!isAbsent(tool["description"]))
      inner["description"] = check.string(tool["description"], `${path}.description`);
    return [
      type === "function"
        ? functionTool(tool, inner, path, check)
        : customTool(tool, inner, path, context),
    ];
  }
  return [];
}

/** The tools of an MCP server. Their names contain the server's name. */
function toolsOfNamespace(value: unknown, path: string, context: ToolContext): JsonObject[] {
  const { check } = context;
  const group = check.fields(value, path, namespaceFields);
  const name = check.string(group?.["name"], `${path}.name`) ?? "";
  const tools: JsonObject[] = [];
  for (const [i, tool] of (check.list(group?.["tools"], `${path}.tools`) ?? []).entries())
    append(tools, translateTool(tool, `${path}.tools[${i}]`, name, context));
  return tools;
}

function functionTool(
  tool: JsonObject,
  inner: Fields,
  path: string,
  check: RequestCheck,
): JsonObject {
  if (!isAbsent(tool["output_schema"]))
    check.drop(`${path}.output_schema`, "can't be passed on: chat completions have no such field");
  if (!isAbsent(tool["parameters"]))
    inner["parameters"] = check.object(tool["parameters"], `${path}.parameters`);
  if (!isAbsent(tool["strict"])) inner["strict"] = check.boolean(tool["strict"], `${path}.strict`);
  return { type: "function", function: inner };
}

/**
 * A function with one text if the provider doesn't support custom tools. Its description has the
 * grammar.
 */
function customTool(
  tool: JsonObject,
  inner: Fields,
  path: string,
  { check, takesCustomTools }: ToolContext,
): JsonObject {
  const format = isAbsent(tool["format"])
    ? undefined
    : translateFormat(tool["format"], `${path}.format`, check);
  if (takesCustomTools)
    return { type: "custom", custom: format === undefined ? inner : { ...inner, format } };
  const { description = "" } = inner;
  const grammar = isObject(format?.["grammar"]) ? format["grammar"] : null;
  const words =
    grammar === null
      ? description
      : `${String(description)}\n\nThe input follows this ${String(grammar["syntax"])} grammar:\n${String(grammar["definition"])}`;
  return {
    type: "function",
    function: { ...inner, description: words, parameters: customToolParameters },
  };
}

/** Drops the fields for deferred loading and for calls by programs, which chat doesn't have. */
function dropUnsupported(tool: JsonObject, path: string, check: RequestCheck): void {
  const { defer_loading: deferred, allowed_callers: callers } = tool;
  if (!isAbsent(deferred) && deferred !== false)
    check.drop(
      `${path}.defer_loading`,
      "can't be passed on: chat completions load every tool at once",
    );
  if (isAbsent(callers)) return;
  if (check.list(callers, `${path}.allowed_callers`)?.some((caller) => caller !== "direct"))
    check.drop(
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
  { check, takesCustomTools }: ToolContext,
): void {
  if (choice === "auto" || choice === "none" || choice === "required") {
    chat["tool_choice"] = choice;
    return;
  }
  const type = check.object(choice, "tool_choice")?.["type"];
  if (type === "allowed_tools") return allowTools(choice, tools, chat, check);
  if (type !== "function" && type !== "custom")
    return check.drop(
      "tool_choice",
      `can't be passed on: chat completions support functions and custom tools, not ${quote(type)}`,
    );
  const choiceFields = check.fields(choice, "tool_choice", new Set(["type", "name"]));
  const name = fittingToolName(check.string(choiceFields?.["name"], "tool_choice.name") ?? "");
  chat["tool_choice"] =
    type === "custom" && takesCustomTools
      ? { type, custom: { name } }
      : { type: "function", function: { name } };
}

/**
 * Sends only the allowed tools: few providers support `allowed_tools`, and a tool that isn't sent
 * can't be called.
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
  const allowedTools = check.list(allowed, "tool_choice.tools") ?? [];
  if (allowedTools.length === 0)
    return check.refuse("tool_choice.tools", "must name at least one tool");
  const { byName, byType } = byNameAndType(tools);
  const keptTools = new Set<JsonObject>();
  for (let i = 0; i < allowedTools.length; i++) {
    const { type, name } = check.object(allowedTools[i], `tool_choice.tools[${i}]`) ?? {};
    const toolName = typeof name === "string" ? fittingToolName(name) : null;
    const tool = type === "custom" ? byName.get(toolName) : byType.get(type)?.get(toolName);
    if (tool === undefined)
      return check.refuse(`tool_choice.tools[${i}]`, "is not one of the request's tools");
    keptTools.add(tool);
  }
  chat["tools"] = tools.filter((tool) => keptTools.has(tool));
  chat["tool_choice"] = mode;
}

type ToolsByName = ReadonlyMap<unknown, JsonObject>;

/** The first tool of each name, of any type and of each type. */
function byNameAndType(tools: readonly JsonObject[]): {
  readonly byName: ToolsByName;
  readonly byType: ReadonlyMap<unknown, ToolsByName>;
} {
  const byName = new Map<unknown, JsonObject>();
  const byType = new Map<unknown, Map<unknown, JsonObject>>();
  for (const tool of tools) {
    const name = nameOf(tool);
    if (!byName.has(name)) byName.set(name, tool);
    const sameType = byType.get(tool["type"]) ?? new Map<unknown, JsonObject>();
    byType.set(tool["type"], sameType);
    if (!sameType.has(name)) sameType.set(name, tool);
  }
  return { byName, byType };
}

function nameOf(tool: JsonObject): unknown {
  return ((tool["function"] ?? tool["custom"]) as JsonObject)["name"];
}
