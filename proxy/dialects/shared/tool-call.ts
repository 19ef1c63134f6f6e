/**
 * What a tool call has in chat completions: a name of at most 64 letters, digits, `_` and `-`,
 * and its input, a JSON object at Anthropic, as a text. Another name is shortened, and the
 * model's call gets the client's name back.
 */
import { jsonDepthMax } from "../../../shared/bounds.js";
import { isObject } from "../../../shared/checked.js";
import { parseExactly } from "../../body/exact-json.js";
import { nestedDeeperThan } from "../../body/json-value.js";
import type { JsonObject } from "./translation.js";

/**
 * The object in a call's `arguments`, or null when they aren't a JSON object. Some models call a
 * tool without parameters with an empty text, which is an empty object.
 */
export function readToolInput(text: string): JsonObject | null {
  if (text.trim() === "") return {};
  const input = parseExactly(text);
  return isObject(input) && !nestedDeeperThan(input, jsonDepthMax) ? input : null;
}

/**
 * Arguments that are no JSON object, in one: a model has written them so, or was cut off in them,
 * and the conversation must go on. Nothing of the text is lost.
 */
export function unreadableInput(text: string): JsonObject {
  return { unreadable_arguments: text };
}

/** Anthropic's names may be longer. */
export const messagesNameCharsMax = 128;

/**
 * The same for the same name, and with a check value, so that names with one beginning differ.
 * `charsMax`: 64, or 128 at Anthropic.
 */
export function fittingToolName(name: string, charsMax = 64): string {
  if (isFitting(name, charsMax) || name === "") return name;
  return `${name.slice(0, 55).replace(/[^\w-]/g, "_")}_${checkValue(name)}`;
}

function isFitting(name: string, charsMax: number): boolean {
  return name.length <= charsMax && /^[\w-]+$/.test(name);
}

/** FNV-1a with 32 bits, as eight hexadecimal digits. */
export function checkValue(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++)
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, "0");
}

/** Of a request's tools, the names of those that are called by another name. */
export function renamedTools(tools: unknown): readonly JsonObject[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool: unknown) => {
    const name = isObject(tool) ? tool["name"] : undefined;
    return typeof name === "string" && !isFitting(name, 64) ? [{ name }] : [];
  });
}

/** The same of a chat request, whose tools Anthropic calls by another name. */
export function renamedFunctions(tools: unknown): readonly JsonObject[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool: unknown) => {
    const called = isObject(tool) && isObject(tool["function"]) ? tool["function"] : {};
    const { name } = called;
    return typeof name === "string" && !isFitting(name, messagesNameCharsMax)
      ? [{ function: { name } }]
      : [];
  });
}

/** The client's name for a tool that the model calls: its own tools, by their fitting names. */
export class ToolNames {
  readonly #names = new Map<string, string>();

  /** `names`: those of the request's tools; values of other types are passed over. */
  constructor(names: readonly unknown[], charsMax = 64) {
    for (const name of names) {
      if (typeof name !== "string" || isFitting(name, charsMax)) continue;
      this.#names.set(fittingToolName(name, charsMax), name);
    }
  }

  original(fittingName: string): string {
    return this.#names.get(fittingName) ?? fittingName;
  }
}
