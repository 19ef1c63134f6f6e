/**
 * Calls of tools that a provider or an MCP server ran, by the tool's name. Tools that several
 * providers have share a name: `web_search`, `code_execution`. A tool of an MCP server is
 * `mcp:{server}/{tool}`, whether the provider called it or Sluice forwarded the call.
 */
import { isCount } from "../checked.js";
import { isPrintable, type Target } from "../domain/target-name.js";
import { callsPerResponseMax } from "./usage-details.js";

/** Names are in lower case; each count is at least 1. */
export type ToolCalls = Readonly<Record<string, number>>;

/** Names in one answer; calls of further tools count as `other`. */
export const toolNamesMax = 64;
const otherTool = "other";
const toolNameCharsMax = 256;

/** The tools that providers run, and that limits know in requests. */
export const providersTools = [
  ...["web_search", "web_fetch", "x_search", "file_search", "maps_search"],
  ...["code_execution", "image_generation"],
] as const;

/** The names that several providers have for one tool. */
const sameTool: Readonly<Record<string, string>> = {
  web_search_preview: "web_search",
  google_search: "web_search",
  google_search_retrieval: "web_search",
  url_context: "web_fetch",
  code_interpreter: "code_execution",
  bash_code_execution: "code_execution",
  text_editor_code_execution: "code_execution",
  collections_search: "file_search",
  google_maps: "maps_search",
};

/** The common name of a tool. A comma, an asterisk and white space have no place in a name. */
export function toolName(name: string): string {
  const plain = name
    .toLowerCase()
    .replace(/[\s,*\p{Cc}\p{Cs}]/gu, "_")
    .slice(0, toolNameCharsMax);
  return Object.hasOwn(sameTool, plain) ? sameTool[plain]! : plain;
}

/** The target of a request to a configured MCP server; the tool is empty if it calls none. */
export function targetOfTool(provider: string, tool: string): Target {
  const carried = tool === "" ? {} : { tools: [toolName(`${provider}/${tool}`)] };
  return { provider, model: tool, ...carried };
}

/** A tool of an MCP server. */
export function mcpTool(server: string, tool: string): string {
  return toolName(`mcp:${server}/${tool}`);
}

/** `calls` with `more` calls of a tool. */
export function withCalls(calls: ToolCalls | null, name: string, more = 1): ToolCalls {
  const existing = calls ?? {};
  const isFull = !Object.hasOwn(existing, name) && Object.keys(existing).length >= toolNamesMax - 1;
  const countedName = isFull ? otherTool : name;
  const before = Object.hasOwn(existing, countedName) ? existing[countedName]! : 0;
  return { ...existing, [countedName]: Math.min(before + more, callsPerResponseMax) };
}

/** The calls of two answers; undefined if there are none. */
export function addedCalls(
  a: ToolCalls | undefined,
  b: ToolCalls | undefined,
): ToolCalls | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Object.entries(b).reduce((sum, [name, count]) => withCalls(sum, name, count), a);
}

/** The calls that `countedName` lacks; undefined if there are none. */
export function callsBeyond(
  calls: ToolCalls | undefined,
  countedCalls: ToolCalls | undefined,
): ToolCalls | undefined {
  if (calls === undefined || countedCalls === undefined) return calls;
  const more = Object.entries(calls)
    .map(
      ([name, count]) =>
        [name, count - (Object.hasOwn(countedCalls, name) ? countedCalls[name]! : 0)] as const,
    )
    .filter(([, count]) => count > 0);
  return more.length === 0 ? undefined : Object.fromEntries(more);
}

/** Names and counts in turn, for the wire and the store. */
export function callsToFlat(calls: ToolCalls | undefined): readonly (string | number)[] {
  return calls === undefined ? [] : Object.entries(calls).flat();
}

/** Undefined for anything that `callsToFlat` doesn't produce; `none` for an empty list. */
export function callsFromFlat(flat: unknown): ToolCalls | "none" | undefined {
  if (!Array.isArray(flat) || flat.length % 2 === 1 || flat.length > 2 * toolNamesMax)
    return undefined;
  if (flat.length === 0) return "none";
  const calls: Record<string, number> = {};
  for (let i = 0; i < flat.length; i += 2) {
    const [name, count]: readonly unknown[] = [flat[i], flat[i + 1]];
    if (typeof name !== "string" || typeof count !== "number" || name === "__proto__")
      return undefined;
    calls[name] = count;
  }
  return calls;
}

/** Whether all names and counts are valid. */
export function areCalls(calls: ToolCalls): boolean {
  for (const name in calls) {
    const count = calls[name];
    const isName = name !== "" && name.length <= toolNameCharsMax && isPrintable(name);
    if (!isName || !isCount(count, 1) || count > callsPerResponseMax) return false;
  }
  return true;
}

/** For people and exports: `web_search=3`. */
export function callsAsTexts(calls: ToolCalls | undefined): readonly string[] {
  return Object.entries(calls ?? {}).map(([name, count]) => `${name}=${count}`);
}
