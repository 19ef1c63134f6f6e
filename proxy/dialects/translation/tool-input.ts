/**
 * The input of a tool: a JSON object at Anthropic, the same object as text in the `arguments` of a
 * chat completion's call.
 */
import { jsonDepthMax } from "../../../shared/bounds.js";
import { isObject } from "../../../shared/checked.js";
import { parseExactly } from "../../body/exact-json.js";
import { nestedDeeperThan } from "../../body/json-depth.js";
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
