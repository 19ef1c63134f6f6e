/**
 * The tools that a request carries for its provider to run: searches, code, MCP servers that the
 * provider connects to. Functions that the client runs aren't among them.
 */
import { isAbsent, isObject } from "../../shared/checked.js";
import { mcpTool, providersTools, toolName, toolNamesMax } from "../../shared/usage/tool-calls.js";

type Fields = Readonly<Record<string, unknown>>;

const providerTools: ReadonlySet<string> = new Set(providersTools);

/** The date at the end of OpenAI's and Anthropic's types. */
const date = /_(?:\d{8}|\d{4}_\d\d_\d\d)$/;

/** Stands for any tools. */
const anyTool: readonly string[] = ["*"];

/**
 * The names of the tools, as in `shared/usage/tool-calls.ts`; the name of an MCP server may end in
 * an asterisk. Null without tools. `fields`: of the body, in their Latin-1 reading.
 */
export function carriedTools(fields: Fields): readonly string[] | null {
  const { tools, mcp_servers: servers, plugins, web_search_options: options } = fields;
  const search = fields["search_parameters"];
  if (tools === undefined && servers === undefined && plugins === undefined)
    if (isAbsent(options) && isAbsent(search)) return null;
  const names = new Set<string>();
  for (const tool of objectsIn(tools)) for (const name of namesOf(tool)) names.add(name);
  for (const server of objectsIn(servers)) addServer(names, server["name"], server);
  if (objectsIn(plugins).some(({ id }) => id === "web")) names.add("web_search");
  const isSearching = isObject(search) && search["mode"] !== "off";
  if (isObject(options) || isSearching) names.add("web_search");
  if (names.size > toolNamesMax) return anyTool;
  return names.size === 0 ? null : [...names];
}

function objectsIn(list: unknown): readonly Fields[] {
  return Array.isArray(list) ? (list as unknown[]).filter(isObject) : [];
}

const noNames: ReadonlySet<string> = new Set();

function namesOf(tool: Fields): ReadonlySet<string> {
  const { type } = tool;
  // A function of the client, of which agents send dozens.
  const isFunction = type === undefined && tool["input_schema"] !== undefined;
  if (isFunction || type === "function" || type === "custom") return noNames;
  const names = new Set<string>();
  if (type === "mcp") addServer(names, tool["server_label"], tool);
  else if (type === "mcp_server") addServer(names, tool["name"], tool);
  else if (typeof type === "string") addKnownTool(names, type.replace(date, ""));
  // Gemini's tools are named by their members.
  else for (const key in tool) addKnownTool(names, key.replace(/[A-Z]/g, "_$&"));
  return names;
}

function addKnownTool(names: Set<string>, nameAsWritten: string): void {
  const name = toolName(nameAsWritten);
  if (providerTools.has(name)) names.add(name);
}

/** Adds the tools of an MCP server: those that the client allows, if it lists them. */
function addServer(names: Set<string>, label: unknown, server: Fields): void {
  const { allowed_tools: allowed, tool_configuration: configuration } = server;
  const allowedTools = isObject(configuration) ? configuration["allowed_tools"] : allowed;
  const list = isObject(allowedTools) ? allowedTools["tool_names"] : allowedTools;
  const name = utf8Text(String(label));
  if (Array.isArray(list) && list.every((tool) => typeof tool === "string"))
    for (const tool of list as readonly string[]) names.add(mcpTool(name, utf8Text(tool)));
  else names.add(`${mcpTool(name, "")}*`);
}

function utf8Text(latin1: string): string {
  return /[\u0080-\u00ff]/.test(latin1) ? Buffer.from(latin1, "latin1").toString("utf8") : latin1;
}
