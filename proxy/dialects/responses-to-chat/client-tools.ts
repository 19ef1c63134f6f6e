/**
 * Maps the tools of a client of the Responses API to names in chat completions, which have no
 * namespaces and, at most providers, no tools with free text as input. A tool of a namespace gets a
 * name made of both, and a custom tool becomes a function with one text. Calls of the model are
 * mapped back to the client's tools.
 */
import { isObject } from "../../../shared/checked.js";
import { fittingToolName, readToolInput } from "../shared/tool-call.js";
import type { JsonObject } from "../shared/translation.js";

export interface ClientTool {
  readonly name: string;
  /** Null for a tool without a namespace. */
  readonly namespace: string | null;
  readonly isCustom: boolean;
}

/** The chat completions name of a client's tool. */
export function chatToolName(name: string, namespace: string | null): string {
  return fittingToolName(namespace === null ? name : `${namespace}__${name}`);
}

/** The parameter that holds the free text of a custom tool. */
const inputName = "input";

/** The parameters of a function that replaces a custom tool. */
export const customToolParameters: JsonObject = {
  type: "object",
  properties: { [inputName]: { type: "string", description: "The complete input of the tool." } },
  required: [inputName],
  additionalProperties: false,
};

/** The arguments of a call of such a function. */
export function customCallArguments(input: string): string {
  return JSON.stringify({ [inputName]: input });
}

/** The text in such arguments. Arguments that don't match the parameters are taken as the text. */
export function customCallInput(text: string): string {
  const input = readToolInput(text)?.[inputName];
  return typeof input === "string" ? input : text;
}

export class ClientTools {
  readonly #tools = new Map<string, ClientTool>();

  /** `tools`: the tools of a translated request. */
  constructor(tools: unknown) {
    this.#add(tools, null);
  }

  #add(tools: unknown, namespace: string | null): void {
    if (!Array.isArray(tools)) return;
    for (const tool of tools as readonly unknown[]) {
      if (!isObject(tool) || typeof tool["name"] !== "string") continue;
      const { name, type } = tool;
      if (type === "namespace" && namespace === null) this.#add(tool["tools"], name);
      else if (type === "function" || type === "custom")
        this.#tools.set(chatToolName(name, namespace), {
          name,
          namespace,
          isCustom: type === "custom",
        });
    }
  }

  /** The client's tool with this chat completions name; null if the client has none. */
  calledAs(chatName: string): ClientTool | null {
    return this.#tools.get(chatName) ?? null;
  }
}

/**
 * Moves all tools of a request to `tools`, and keeps the newest of each name. Newer clients, such
 * as Codex since 0.147, send tools in input items of the type `additional_tools`, and repeat them
 * in the history that they replay. Returns the same object if it has no such item.
 */
export function hoistTools(body: JsonObject): JsonObject {
  const { input, tools } = body;
  if (!Array.isArray(input) || !input.some(holdsTools)) return body;
  const byName = new Map<unknown, unknown>();
  const add = (tool: unknown): void => {
    const { type, name = tool } = isObject(tool) ? tool : { type: null };
    byName.set(typeof name === "string" ? `${String(type)} ${name}` : tool, tool);
  };
  if (Array.isArray(tools)) tools.forEach(add);
  const items: unknown[] = [];
  for (const item of input as readonly unknown[])
    if (holdsTools(item)) item.tools.forEach(add);
    else items.push(item);
  return { ...body, input: items, tools: [...byName.values()] };
}

/**
 * The functions of a client that writes them as in chat completions (microsoft/autogen#6935), or as
 * Anthropic does: Cursor, in this API's body.
 */
export function flatTools(body: JsonObject): JsonObject {
  const { tools } = body;
  if (!Array.isArray(tools)) return body;
  const flat = tools.map(flatTool);
  return flat.every((tool, i) => tool === tools[i]) ? body : { ...body, tools: flat };
}

function flatTool(tool: unknown): unknown {
  if (!isObject(tool)) return tool;
  const { type = "function", function: called, input_schema: parameters, ...rest } = tool;
  if (type !== "function") return tool;
  if (isObject(called) && rest["name"] === undefined) return { type, ...called };
  return isObject(parameters) ? { type, ...rest, parameters } : tool;
}

function holdsTools(item: unknown): item is { readonly tools: readonly unknown[] } {
  return isObject(item) && item["type"] === "additional_tools" && Array.isArray(item["tools"]);
}
