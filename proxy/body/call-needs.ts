/**
 * What a call needs of its target beyond its operation, read from the fields of the body: reasoning
 * with tools, features that only some hosts of the Responses API have, and the choice of other
 * models.
 */
import { isAbsent, isObject } from "../../shared/checked.js";
import type { Operation } from "../../shared/operation.js";
import { requestedEffort } from "./requested-effort.js";

type Fields = Readonly<Record<string, unknown>>;

/** The parts of a request that decide which of OpenAI's APIs takes it. */
export interface RequestedReasoning {
  readonly hasTools: boolean;
  /** `unsaid`: the request leaves the effort to the model. */
  readonly effort: "none" | "some" | "unsaid";
}

/** Reads the fields of a body, whose types haven't been checked. */
export function requestedReasoning(operation: Operation, fields: Fields): RequestedReasoning {
  if (operation === "generate_content" || operation === "stream_generate_content")
    return reasoningForGoogle(fields);
  const { tools, thinking, output_config: config } = fields;
  const hasTools = Array.isArray(tools) && tools.length > 0;
  if (operation !== "messages") return { hasTools, effort: effortOf(requestedEffort(fields)) };
  const type = isObject(thinking) ? thinking["type"] : undefined;
  if (type === "disabled" || type === "between_tools") return { hasTools, effort: "none" };
  const effort = isObject(config) ? config["effort"] : undefined;
  return { hasTools, effort: type === "enabled" ? "some" : effortOf(effort) };
}

/** Google's servers also read names with underscores. */
function reasoningForGoogle(fields: Fields): RequestedReasoning {
  const { tools } = fields;
  const hasTools = Array.isArray(tools) && tools.length > 0;
  const config = eitherField(fields, "generationConfig", "generation_config");
  const thinking = eitherField(config, "thinkingConfig", "thinking_config");
  const level = thinking["thinkingLevel"] ?? thinking["thinking_level"];
  const budget = thinking["thinkingBudget"] ?? thinking["thinking_budget"];
  if (isAbsent(level) && budget === 0) return { hasTools, effort: "none" };
  const isRequested = !isAbsent(level) || (typeof budget === "number" && budget > 0);
  return { hasTools, effort: isRequested ? "some" : "unsaid" };
}

function eitherField(fields: Fields, name: string, alternative: string): Fields {
  const value = fields[name] ?? fields[alternative];
  return isObject(value) ? value : {};
}

function effortOf(effort: unknown): RequestedReasoning["effort"] {
  return typeof effort === "string" ? (effort === "none" ? "none" : "some") : "unsaid";
}

export interface ResponsesNeeds {
  /** The request has tools made for OpenAI's own agents, or items of calls to them. */
  readonly usesAgentTools: boolean;
  /** The request continues a stored response, or refers to an item of one. */
  readonly stored: boolean;
}

const nothing: ResponsesNeeds = { usesAgentTools: false, stored: false };

/** The types of tools that Codex sends. The host decides about tools that OpenAI runs. */
const agentTools: ReadonlySet<unknown> = new Set(["custom", "namespace", "tool_search"]);
const agentItems: ReadonlySet<unknown> = new Set([
  "additional_tools",
  "custom_tool_call",
  "custom_tool_call_output",
  "tool_search_call",
  "tool_search_output",
  "local_shell_call",
  "local_shell_call_output",
  "shell_call",
  "shell_call_output",
  "apply_patch_call",
  "apply_patch_call_output",
  "compaction",
  "compaction_summary",
  "compaction_trigger",
  "configuration_update",
]);

/** Reads the fields of a body, whose types haven't been checked. */
export function responsesNeeds(operation: Operation, fields: Fields): ResponsesNeeds {
  if (operation !== "responses") return nothing;
  const { tools, input } = fields;
  const items: readonly unknown[] = Array.isArray(input) ? input : [];
  const continues = ["previous_response_id", "conversation", "prompt"];
  return {
    usesAgentTools:
      (Array.isArray(tools) &&
        tools.some((tool) => isObject(tool) && agentTools.has(tool["type"]))) ||
      items.some(isOfAgent),
    stored: continues.some((name) => !isAbsent(fields[name])) || items.some(isReference),
  };
}

/** Whether an item is one of an agent: of a type for agents, or a call of a tool in a namespace. */
function isOfAgent(item: unknown): boolean {
  return isObject(item) && (agentItems.has(item["type"]) || !isAbsent(item["namespace"]));
}

/** Whether an item of the input refers to an item that the host has stored. */
export function isReference(item: unknown): item is Fields {
  if (!isObject(item)) return false;
  const { type, role } = item;
  return type === "item_reference" || (isAbsent(type) && isAbsent(role));
}

/** `preset` names models and other settings that OpenRouter stores. */
const naming: ReadonlySet<string> = new Set(["models", "route", "preset"]);

/**
 * Whether the client lets the provider run models other than the one that the body names:
 * alternatives (OpenRouter's `models`, Anthropic's `fallbacks`), panels of models, and tools that
 * call another model. An allow list can't judge such a request by the model that it names. The
 * models of image tools don't count (docs/authentication.md). `fields` must be in their Latin-1
 * reading.
 */
export function mayRunOthers(fields: Fields): boolean {
  for (const key in fields)
    if (!common.has(key) && runsOthers(foldCase(key), fields[key])) return true;
  return false;
}

/** Fields of nearly all bodies. None of them names a model to run. */
const common: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "input",
  "system",
  "stream",
  "stream_options",
  "temperature",
  "top_p",
  "max_tokens",
  "metadata",
  "user",
]);

/** `name`: the folded name of a field of the body. */
function runsOthers(name: string, value: unknown): boolean {
  if (isAlternatives(name)) return true;
  if (name === "tools" || name === "plugins") return objectsIn(value).some(asksOther);
  return name === "provideroptions" && objectsIn(value).some(hasAlternatives);
}

/** Whether the provider runs this tool or plugin with another model. */
function asksOther(tool: Fields): boolean {
  let namesModel = false;
  let kinds = 0;
  let pictures = 0;
  for (const key in tool) {
    const value = tool[key];
    const name = usual.has(key) ? key : foldCase(key);
    if (name === "type" || name === "id") {
      if (typeof value === "string" && /advisor|fusion|subagent/i.test(value)) return true;
      kinds++;
      if (value === "image_generation") pictures++;
    } else if (name === "parameters") namesModel ||= objectsIn(value).some(hasModel);
    else namesModel ||= name.includes("model");
  }
  return namesModel && (kinds === 0 || pictures < kinds);
}

/** The usual names, which need no folding. */
const usual: ReadonlySet<string> = new Set([
  "type",
  "function",
  "name",
  "description",
  "parameters",
  "properties",
  "required",
  "additionalProperties",
  "input_schema",
  "strict",
  "cache_control",
]);

function hasModel(object: Fields): boolean {
  for (const key in object) if (!usual.has(key) && foldCase(key).includes("model")) return true;
  return false;
}

/** Vercel's gateway puts the alternatives within `gateway`. */
function hasAlternatives(options: Fields): boolean {
  return foldedMembers(options).some(
    ([name, option]) =>
      name === "gateway" &&
      objectsIn(option)
        .flatMap(foldedMembers)
        .some(([option]) => isAlternatives(option)),
  );
}

function isAlternatives(name: string): boolean {
  return naming.has(name) || name.includes("fallback");
}

type Member = readonly [name: string, value: unknown];

function foldedMembers(object: Fields): readonly Member[] {
  return Object.entries(object).map(([key, value]) => [foldCase(key), value]);
}

/** The objects in a value, which is an object or a list. */
function objectsIn(value: unknown): readonly Fields[] {
  return [value].flat().filter(isObject);
}

/**
 * In lower case, because some servers ignore the case of keys. For some of them the long s and the
 * Kelvin sign are letters too; both may appear in the Latin-1 reading of their UTF-8.
 */
function foldCase(key: string): string {
  return /[\u0080-\uffff]/.test(key)
    ? key
        .replace(/\u017f|\u00c5\u00bf/g, "s")
        .replace(/\u212a|\u00e2\u0084\u00aa/g, "k")
        .toLowerCase()
    : key.toLowerCase();
}
