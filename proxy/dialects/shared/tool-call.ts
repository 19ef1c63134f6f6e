/**
 * Names and inputs of tool calls. In chat completions a name has at most 64 letters, digits, `_`
 * and `-`, and the input is a text; at Anthropic the input is a JSON object. A longer name is
 * shortened, and the model's call is mapped back to the client's name.
 */
import { jsonDepthMax } from "../../../shared/bounds.js";
import { isObject } from "../../../shared/checked.js";
import { parseExactly } from "../../body/exact-json.js";
import { nestedDeeperThan } from "../../body/json-value.js";
import type { JsonObject } from "./translation.js";

/**
 * The object in a call's `arguments`; null if they aren't a JSON object. Some models call a tool
 * without parameters with an empty text, which counts as an empty object.
 */
export function readToolInput(text: string): JsonObject | null {
  if (text.trim() === "") return {};
  const input = parseExactly(plainArguments(text));
  return isObject(input) && !nestedDeeperThan(input, jsonDepthMax) ? input : null;
}

/**
 * Decodes arguments that are a JSON string, as some models write them; returns any others
 * unchanged.
 */
export function plainArguments(text: string): string {
  if (!isQuoted(text)) return text;
  const parsed = parseExactly(text);
  return typeof parsed === "string" && isObject(parseExactly(parsed)) ? parsed : text;
}

/** Whether arguments, or their beginning, are a JSON string. */
export function isQuoted(text: string): boolean {
  return text.trimStart().startsWith('"');
}

/**
 * Wraps arguments that aren't a JSON object in one, so that the conversation can continue: the
 * model wrote them so, or was cut off. No part of the text is lost.
 */
export function unreadableInput(text: string): JsonObject {
  return { unreadable_arguments: text };
}

/** The longest tool name at Anthropic. */
export const messagesNameCharsMax = 128;

/**
 * Returns the same name for the same input, with a check value, so that names with the same
 * beginning differ. `charsMax`: 64, or 128 at Anthropic.
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

/** The names of the request's tools that are shortened. */
export function renamedTools(tools: unknown): readonly JsonObject[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool: unknown) => {
    const name = isObject(tool) ? tool["name"] : undefined;
    return typeof name === "string" && !isFitting(name, 64) ? [{ name }] : [];
  });
}

/** As `renamedTools`, for the tools of a chat request that are shortened for Anthropic. */
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

/** Maps the name in a model's call to the client's name for the tool. */
export class ToolNames {
  readonly #names = new Map<string, string>();

  /** `names`: the names of the request's tools. Values that aren't strings are ignored. */
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
