/**
 * Gemini's models sign the calls of tools that they have thought about, and refuse a conversation
 * in which the signature is missing. A chat completion carries it in the call's `extra_content`;
 * the other dialects have no place for it, so it goes to their clients within the call's id, which
 * each sends back with the call and with its result.
 */
import { isObject } from "../../../shared/assert.js";
import type { JsonObject } from "./translation.js";

/** Between an id and a signature. Anthropic's ids hold nothing but letters, digits, `_` and `-`. */
const mark = "__signed__";

/**
 * The id of a chat completion's call, for clients of other dialects; empty when there is neither an
 * id nor a signature.
 */
export function signedId(id: string, call: JsonObject): string {
  const extra = call["extra_content"];
  const google = isObject(extra) ? extra["google"] : null;
  const signature = isObject(google) ? google["thought_signature"] : null;
  if (typeof signature !== "string" || signature === "") return id;
  return `${id || nameOf(signature)}${mark}${Buffer.from(signature).toString("base64url")}`;
}

/**
 * For a call without an id: one of its own, so that the results of two such calls aren't taken for
 * each other's. A signature ends as no other does.
 */
function nameOf(signature: string): string {
  return `call_${signature.replace(/[^A-Za-z0-9]/g, "").slice(-12)}`;
}

export interface CallIdentity {
  readonly id: string;
  /** For the call, beside its id. */
  readonly extra: { readonly extra_content?: JsonObject };
}

const nothing = {};

/** What an id of `signedId` was made of. */
export function readSignedId(id: string): CallIdentity {
  const at = id.indexOf(mark);
  if (at === -1) return { id, extra: nothing };
  const signature = Buffer.from(id.slice(at + mark.length), "base64url").toString("utf8");
  return {
    id: id.slice(0, at),
    extra: { extra_content: { google: { thought_signature: signature } } },
  };
}

/**
 * The messages of a translated chat completion for who isn't Gemini: others refuse a field that
 * they don't know.
 */
export function withoutSignatures(messages: readonly JsonObject[]): readonly JsonObject[] {
  return messages.map((message) => {
    const calls = message["tool_calls"] as readonly JsonObject[] | undefined;
    if (calls === undefined || !calls.some((call) => call["extra_content"] !== undefined))
      return message;
    return { ...message, tool_calls: calls.map(({ extra_content: _, ...call }) => call) };
  });
}
