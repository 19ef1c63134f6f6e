/** What the tests of requests of the Responses API share: their translation, and their error. */
import assert from "node:assert/strict";
import { responsesToChat } from "../../../../proxy/dialects/choose-dialect.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { options } from "../request-options.js";

export function translated(body: object): JsonObject {
  const result = responsesToChat.request(body as JsonObject, options);
  if (!result.ok) throw new Error(`${result.failure.param}: ${result.failure.message}`);
  return JSON.parse(JSON.stringify(result.body)) as JsonObject;
}

/** `param: message` of a 400. */
export function refusal(body: object): string {
  const result = responsesToChat.request(body as JsonObject, { ...options, isStrict: true });
  if (result.ok) return "accepted";
  const { status, type, code, provider, param, message } = result.failure;
  assert.deepEqual([status, type, code, provider], [400, "invalid_request_error", null, null]);
  assert.ok(message.startsWith(param!), "the message begins with the field");
  return message;
}

/** The error of the smallest request with more fields, `__proto__` among them. */
export function refusalWith(fields: object): string {
  const body: Record<string, unknown> = { model: "m", input: "hi" };
  for (const key of Object.keys(fields))
    Object.defineProperty(body, key, { value: (fields as JsonObject)[key], enumerable: true });
  return refusal(body);
}
