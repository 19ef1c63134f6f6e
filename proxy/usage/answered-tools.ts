/**
 * Counts the calls of tools that an answer reports: items of the Responses API, blocks of Messages,
 * parts of Gemini, and the counts in the usage of those that list no calls. Functions that the
 * client runs don't count.
 */
import { isObject } from "../../shared/checked.js";
import {
  addedCalls,
  mcpTool,
  type ToolCalls,
  toolName,
  withCalls,
} from "../../shared/usage/tool-calls.js";
import type { UsageDetails } from "../../shared/usage/usage-details.js";

type Fields = Readonly<Record<string, unknown>>;

/** The types of items that are calls of a provider's tools. */
const itemTypes = "web_search|x_search|file_search|code_interpreter|image_generation|mcp";
const itemType = new RegExp(`^(${itemTypes})_call$`);

/**
 * The alternatives that find such a call in the JSON of an event: the type of an item, and that of
 * a block. They follow a quote.
 */
export const itemPattern = `type"\\s*:\\s*"(?:${itemTypes})_call"`;
export const blockPattern = 'type"\\s*:\\s*"(?:mcp|server)_tool_use"';
/** The members of Gemini's parts and candidates. */
export const partPattern = '(?:executableCode|urlContextMetadata)"\\s*:\\s*\\{';

/** The calls in a whole answer; undefined without any. */
export function toolCallsIn(answer: unknown): ToolCalls | undefined {
  if (Array.isArray(answer))
    return (answer as unknown[])
      .map(toolCallsIn)
      .reduce<ToolCalls | undefined>(addedCalls, undefined);
  if (!isObject(answer)) return undefined;
  const { output, content, candidates } = answer;
  // An answer of chat completions has none of these fields.
  if (output === undefined && content === undefined && candidates === undefined) return undefined;
  const names = [
    ...objectsIn(output).map(nameOfItem),
    ...objectsIn(content).map(nameOfBlock),
    ...objectsIn(candidates).flatMap(namesInCandidate),
  ];
  return callsOf(names);
}

/** The calls in one event of a stream; undefined without any. Each call is in one event. */
export function toolCallsInEvent(event: Fields): ToolCalls | undefined {
  const { type, item, content_block: block, candidates } = event;
  if (type === "response.output_item.done" && isObject(item)) return callsOf([nameOfItem(item)]);
  if (type === "content_block_start" && isObject(block)) return callsOf([nameOfBlock(block)]);
  return candidates === undefined
    ? undefined
    : callsOf(objectsIn(candidates).flatMap(namesInCandidate));
}

function callsOf(names: readonly (string | null)[]): ToolCalls | undefined {
  let calls: ToolCalls | undefined;
  for (const name of names) if (name !== null) calls = withCalls(calls ?? null, name);
  return calls;
}

function objectsIn(list: unknown): readonly Fields[] {
  return Array.isArray(list) ? (list as unknown[]).filter(isObject) : [];
}

function nameOfItem({ type, server_label: server, name }: Fields): string | null {
  const [, tool] = itemType.exec(String(type)) ?? [];
  if (tool === undefined) return null;
  return tool === "mcp" ? mcpTool(nameOrUnknown(server), nameOrUnknown(name)) : toolName(tool);
}

function nameOfBlock({ type, name, server_name: server }: Fields): string | null {
  if (type === "mcp_tool_use") return mcpTool(nameOrUnknown(server), nameOrUnknown(name));
  return type === "server_tool_use" ? toolName(nameOrUnknown(name)) : null;
}

function nameOrUnknown(value: unknown): string {
  return typeof value === "string" && value !== "" ? value : "unknown";
}

function namesInCandidate(candidate: Fields): readonly string[] {
  const { content, urlContextMetadata: fetched } = candidate;
  const parts = isObject(content) ? objectsIn(content["parts"]) : [];
  const urls = isObject(fetched) ? objectsIn(fetched["urlMetadata"]) : [];
  return [
    ...parts.flatMap((part) => (isObject(part["executableCode"]) ? ["code_execution"] : [])),
    ...urls.map(() => "web_fetch"),
  ];
}

/** The calls, with those that only the usage counts. */
export function withCountedCalls(
  calls: ToolCalls | undefined,
  details: UsageDetails | null,
): ToolCalls | undefined {
  if (details === null) return calls;
  const { webSearches, fileSearches, mapsSearches } = details.counts;
  let all = calls;
  const add = (name: string, count: number): void => {
    if (count > 0 && (all === undefined || !Object.hasOwn(all, name)))
      all = withCalls(all ?? null, name, count);
  };
  add("web_search", webSearches);
  add("file_search", fileSearches);
  add("maps_search", mapsSearches);
  return all;
}
