/** A request of Gemini's own API, translated to a chat request. */
import assert from "node:assert/strict";
import { googleStreamToChat } from "../../../../proxy/dialects/choose-dialect.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { options } from "../request-options.js";

export const asked = [{ role: "user", parts: [{ text: "hi" }] }];

/** The request, without what every one has, and what was dropped. */
export function translated(body: JsonObject): {
  readonly chat: JsonObject;
  readonly dropped: readonly string[];
} {
  const result = googleStreamToChat.request({ contents: asked, ...body }, options);
  assert(result.ok, JSON.stringify(result));
  const { stream, stream_options, model: _, ...chat } = result.body;
  assert.deepEqual([stream, stream_options], [true, { include_usage: true }]);
  return { chat, dropped: result.dropped };
}

/** Why a request is refused. */
export function refusal(body: JsonObject, isStrict = false): string {
  const result = googleStreamToChat.request({ contents: asked, ...body }, { ...options, isStrict });
  assert(!result.ok, JSON.stringify(result));
  assert(result.failure.param !== null);
  return result.failure.message;
}
