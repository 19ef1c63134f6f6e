/**
 * The tools of a client of the Responses API, by their names in chat completions, which know
 * neither namespaces nor, at most providers, tools with free text as their input: a tool of a
 * namespace gets a name made of both, a custom tool becomes a function with one text. A call of the
 * model becomes what the client expects of its own tool again.
 */
import { isObject } from "../../../shared/checked.js";
import { fittingToolName, readToolInput } from "../shared/tool-call.js";
import type { JsonObject } from "../shared/translation.js";

export interface ClientTool {
  readonly name: string;
  /** Null if it is in none. */
  readonly namespace: string | null;
  readonly custom: boolean;
}

/** The name in chat completions of a client's tool. */
export function chatToolName(name: string, namespace: string | null): string {
  return fittingToolName(namespace === null ? name : `${namespace}__${name}`);
}

/** The parameter that holds the free text of a custom tool. */
const inputName = "input";

/** The parameters of a function that stands for a custom tool. */
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

/** The text in such arguments; what isn't as the parameters say is itself taken for the text. */
export function customCallInput(text: string): string {
  const input = readToolInput(text)?.[inputName];
  return typeof input === "string" ? input : text;
}

export class ClientTools {
  readonly #tools = new Map<string, ClientTool>();

  /** `tools`: those of a request that was translated. */
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
          custom: type === "custom",
        });
    }
  }

  /** The client's tool that the model calls by this name; null when it is none of the client's. */
  calledAs(chatName: string): ClientTool | null {
    return this.#tools.get(chatName) ?? null;
  }
}

/**
 * The request with all its tools in `tools`, the newest of each name. Newer clients, such as Codex
 * since 0.147, have them in items of the input, of the type `additional_tools`, and again in the
 * history that they replay. Itself when it has no such item.
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

function holdsTools(item: unknown): item is { readonly tools: readonly unknown[] } {
  return isObject(item) && item["type"] === "additional_tools" && Array.isArray(item["tools"]);
}
