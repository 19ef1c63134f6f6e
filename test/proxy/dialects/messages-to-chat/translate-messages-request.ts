/**
 * What the tests of requests for Anthropic messages share: a request, its translation, its error.
 */
import assert from "node:assert/strict";
import { messagesToChat } from "../../../../proxy/dialects/choose-dialect.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { options } from "../request-options.js";

export const hello = { role: "user", content: "Hello" };
export const base: JsonObject = { model: "m", max_tokens: 100, messages: [hello] };
export function translated(body: JsonObject): JsonObject {
  const result = messagesToChat.request(body, options);
  assert(result.ok, JSON.stringify(result));
  return result.body;
}

/** The error of `base` with more fields. */
export function refusal(more: object): readonly [param: string | null, message: string] {
  const result = messagesToChat.request({ ...base, ...more }, { ...options, isStrict: true });
  assert(!result.ok, JSON.stringify(result));
  assert.equal(result.failure.status, 400);
  return [result.failure.param, result.failure.message];
}
