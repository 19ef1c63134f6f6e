/** Translates the tools of a request in Gemini's own API, and its tool configuration. */
import { isAbsent, isObject } from "../../../shared/checked.js";
import type { RequestReader } from "../shared/request-reader.js";
import { fittingToolName } from "../shared/tool-call.js";
import type { JsonObject } from "../shared/translation.js";
import {
  asList,
  camelFields,
  googleFunctionFields,
  googleToolConfigFields,
  googleToolFields,
} from "./google-request-fields.js";
import { jsonSchemaOf } from "./json-schema.js";

interface ChatTools {
  /** Undefined if there are no tools. */
  readonly tools: readonly JsonObject[] | undefined;
  /** Undefined: the provider's default. */
  readonly choice: string | JsonObject | undefined;
}

export function googleToolsToChat(body: JsonObject, reader: RequestReader): ChatTools {
  const functions = functionsIn(body["tools"], reader);
  const { mode, allowed } = callingConfig(body["toolConfig"], reader);
  const tools =
    allowed === null
      ? functions
      : functions.filter((tool) => allowed.has((tool["function"] as JsonObject)["name"]));
  if (tools.length === 0) {
    if (mode === "ANY")
      reader.refuse("toolConfig.functionCallingConfig.mode", "must not be ANY without a function");
    return { tools: undefined, choice: undefined };
  }
  return { tools, choice: choiceOf(mode, tools) };
}

function choiceOf(mode: string, tools: readonly JsonObject[]): ChatTools["choice"] {
  if (mode === "NONE") return "none";
  if (mode !== "ANY") return undefined;
  if (tools.length > 1) return "required";
  return { type: "function", function: { name: (tools[0]!["function"] as JsonObject)["name"] } };
}

/** The objects that declare the functions of a body whose fields haven't been checked. */
export function declaredFunctions({ tools }: JsonObject): readonly JsonObject[] {
  return objectsIn(tools).flatMap((tool) => objectsIn(camelFields(tool)["functionDeclarations"]));
}

function objectsIn(value: unknown): readonly JsonObject[] {
  const list = asList(value);
  return Array.isArray(list) ? list.filter(isObject) : [];
}

function functionsIn(value: unknown, reader: RequestReader): JsonObject[] {
  const tools: JsonObject[] = [];
  if (isAbsent(value)) return tools;
  for (const [i, item] of reader.list(asList(value), "tools").entries()) {
    const tool = camelFields(reader.object(item, `tools[${i}]`));
    reader.fields(tool, googleToolFields, `tools[${i}].`);
    if (isAbsent(tool["functionDeclarations"])) continue;
    const path = `tools[${i}].functionDeclarations`;
    for (const [j, declared] of reader.list(asList(tool["functionDeclarations"]), path).entries())
      tools.push(toTool(declared, `${path}[${j}]`, reader));
  }
  return tools;
}

function toTool(value: unknown, path: string, reader: RequestReader): JsonObject {
  const declared = camelFields(reader.object(value, path));
  reader.fields(declared, googleFunctionFields, `${path}.`);
  const called: Record<string, unknown> = {
    name: fittingToolName(reader.name(declared["name"], `${path}.name`)),
  };
  if (!isAbsent(declared["description"]))
    called["description"] = reader.text(declared["description"], `${path}.description`);
  const { parameters, parametersJsonSchema } = declared;
  if (!isAbsent(parametersJsonSchema))
    called["parameters"] = reader.object(parametersJsonSchema, `${path}.parametersJsonSchema`);
  else if (!isAbsent(parameters))
    called["parameters"] = jsonSchemaOf(reader.object(parameters, `${path}.parameters`));
  return { type: "function", function: called };
}

const modes: ReadonlyMap<string, string> = new Map(
  ["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"].map((mode) => [mode, mode]),
);

interface CallingConfig {
  readonly mode: string;
  /** Null for all tools. */
  readonly allowed: ReadonlySet<unknown> | null;
}

function callingConfig(value: unknown, reader: RequestReader): CallingConfig {
  const path = "toolConfig.functionCallingConfig";
  const none = { mode: "AUTO", allowed: null };
  if (isAbsent(value)) return none;
  const config = camelFields(reader.object(value, "toolConfig"));
  reader.fields(config, googleToolConfigFields, "toolConfig.");
  if (isAbsent(config["functionCallingConfig"])) return none;
  const calling = camelFields(reader.object(config["functionCallingConfig"], path));
  const mode = reader.enumValue(calling["mode"], modes, `${path}.mode`) ?? "AUTO";
  const { allowedFunctionNames: allowed } = calling;
  if (isAbsent(allowed)) return { mode, allowed: null };
  const names = reader
    .list(allowed, `${path}.allowedFunctionNames`)
    .map((name, i) => fittingToolName(reader.text(name, `${path}.allowedFunctionNames[${i}]`)));
  return { mode, allowed: names.length === 0 ? null : new Set(names) };
}
