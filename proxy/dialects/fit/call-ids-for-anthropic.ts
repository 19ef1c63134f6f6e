/**
 * Replaces ids of calls that Anthropic refuses, in a client's own request for Anthropic messages:
 * only letters, digits, `_` and `-` are allowed. A conversation that began at another maker's model
 * has that model's ids, such as Kimi's `functions.read:0` (farion1231/cc-switch#1181).
 */
import { isObject } from "../../../shared/checked.js";
import type { JsonObject } from "../shared/translation.js";
import type { FitStep, FitTarget } from "./fit-tuning.js";
import { messagesModelTraits } from "./model-families.js";

/** Null if no id needs a change, or if the body doesn't go to one of Anthropic's models. */
export function callIdsStep({ provider, model }: FitTarget, bytes: Buffer): FitStep | null {
  if (provider.nativeRequests === "untouched") return null;
  const isAnthropics = provider.type === "anthropic" || messagesModelTraits(model) !== null;
  return isAnthropics && hasOtherId(bytes) ? withPlainIds : null;
}

const resultOf = Buffer.from('"tool_use_id"');
const otherId = /^\s{0,8}:\s{0,8}"[\w-]{0,256}[^\w"-]/;
const idCharsMax = 300;

/** Every call has a result with the same id, so the search needs only results. */
function hasOtherId(bytes: Buffer): boolean {
  for (
    let position = bytes.indexOf(resultOf);
    position !== -1;
    position = bytes.indexOf(resultOf, position + 1)
  ) {
    const start = position + resultOf.length;
    if (otherId.test(bytes.toString("latin1", start, start + idCharsMax))) return true;
  }
  return false;
}

function withPlainIds(body: JsonObject): JsonObject {
  const { messages } = body;
  if (!Array.isArray(messages)) return body;
  return { ...body, messages: messages.map(withPlainIdsInside) };
}

function withPlainIdsInside(message: unknown): unknown {
  if (!isObject(message) || !Array.isArray(message["content"])) return message;
  return { ...message, content: message["content"].map(withPlainId) };
}

function withPlainId(block: unknown): unknown {
  if (!isObject(block)) return block;
  const name =
    block["type"] === "tool_use" ? "id" : block["type"] === "tool_result" ? "tool_use_id" : null;
  const id = name === null ? null : block[name];
  if (name === null || typeof id !== "string") return block;
  const plain = plainCallId(id);
  return plain === id ? block : { ...block, [name]: plain };
}

/** The same id for a call and its result. */
export function plainCallId(id: string): string {
  return id.replace(/[^\w-]/g, "_");
}
