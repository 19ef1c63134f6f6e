/** What a request of the Responses API asks for that not every host of that API has. */
import { isAbsent, isObject } from "../../../shared/checked.js";
import type { Operation } from "../../../shared/operation.js";

type Fields = Readonly<Record<string, unknown>>;

export interface AskedOfResponses {
  /** Tools that OpenAI has made for its own agents, or the items of their calls. */
  readonly agentTools: boolean;
  /** What the host has stored: it continues a response, or refers to an item of one. */
  readonly stored: boolean;
}

const nothing: AskedOfResponses = { agentTools: false, stored: false };

/** As Codex sends them; those that OpenAI runs by itself are the host's to judge. */
const agentTools: ReadonlySet<unknown> = new Set(["custom", "namespace", "tool_search"]);
const agentItems: ReadonlySet<unknown> = new Set([
  "additional_tools",
  "custom_tool_call",
  "custom_tool_call_output",
  "tool_search_call",
  "tool_search_output",
]);

/** Of the fields of a body, whose types haven't been checked. */
export function askedOfResponses(operation: Operation, fields: Fields): AskedOfResponses {
  if (operation !== "responses") return nothing;
  const { tools, input } = fields;
  const items: readonly unknown[] = Array.isArray(input) ? input : [];
  const continues = ["previous_response_id", "conversation", "prompt"];
  return {
    agentTools:
      (Array.isArray(tools) &&
        tools.some((tool) => isObject(tool) && agentTools.has(tool["type"]))) ||
      items.some(isOfAgent),
    stored: continues.some((name) => !isAbsent(fields[name])) || items.some(isReference),
  };
}

/** Items of agents, and calls of tools that stand in a namespace. */
function isOfAgent(item: unknown): boolean {
  return isObject(item) && (agentItems.has(item["type"]) || !isAbsent(item["namespace"]));
}

/** Whether an item of the input stands for one that its host has stored. */
export function isReference(item: unknown): item is Fields {
  if (!isObject(item)) return false;
  const { type, role } = item;
  return type === "item_reference" || (isAbsent(type) && isAbsent(role));
}
