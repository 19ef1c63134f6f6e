/**
 * Gemini's thinking models sign tool calls, and refuse a conversation in which a signature is
 * missing. A chat completion carries the signature in the call's `extra_content`. The other
 * dialects have no field for it, so it is appended to the call's id, which clients send back with
 * the call and with its result.
 */
import { isObject } from "../../../shared/checked.js";
import type { JsonObject } from "./translation.js";

/** Separates the id and the signature. Anthropic's ids consist of letters, digits, `_` and `-`. */
export const signedMark = "__signed__";

/** A chat call's id with its signature, if it has one; empty if it has neither. */
export function signedId(id: string, call: JsonObject): string {
  const extra = call["extra_content"];
  const google = isObject(extra) ? extra["google"] : null;
  const signature = isObject(google) ? google["thought_signature"] : null;
  if (typeof signature !== "string" || signature === "") return id;
  return `${id || idFrom(signature)}${signedMark}${Buffer.from(signature).toString("base64url")}`;
}

/**
 * An id for a call without one, so that the results of two such calls can be distinguished. The end
 * of a signature is unique.
 */
function idFrom(signature: string): string {
  return `call_${signature.replace(/[^A-Za-z0-9]/g, "").slice(-12)}`;
}

export interface CallIdentity {
  readonly id: string;
  /** Further fields of the call. */
  readonly extra: { readonly extra_content?: JsonObject };
}

const noFields = {};

/** Splits an id made by `signedId`: the plain id, and the mark with the signature, or nothing. */
export function splitSignedId(id: string): readonly [plain: string, signature: string] {
  const position = id.indexOf(signedMark);
  return position === -1 ? [id, ""] : [id.slice(0, position), id.slice(position)];
}

/** Reads an id made by `signedId`. */
export function readSignedId(id: string): CallIdentity {
  const [plain, signed] = splitSignedId(id);
  if (signed === "") return { id, extra: noFields };
  const signature = Buffer.from(signed.slice(signedMark.length), "base64url").toString("utf8");
  return {
    id: plain,
    extra: { extra_content: { google: { thought_signature: signature } } },
  };
}

/** Google's value for calls of other models, and for calls whose signature a client has lost. */
export const signatureOfOthers = "skip_thought_signature_validator";

/**
 * Adds a signature to the first call of each message that lacks one, because Gemini's models from 3
 * on require it. Source: ai.google.dev, "Thought signatures".
 */
export function withSignatures(
  messages: readonly JsonObject[],
  model: string,
): readonly JsonObject[] {
  if (!wantsSignatures(model)) return messages;
  return messages.map((message) => {
    const [first, ...others] = callsOf(message);
    if (first === undefined || first["extra_content"] !== undefined) return message;
    const extra_content = { google: { thought_signature: signatureOfOthers } };
    return { ...message, tool_calls: [{ ...first, extra_content }, ...others] };
  });
}

function wantsSignatures(model: string): boolean {
  return /gemini/i.test(model) && !/gemini-[12]\b/i.test(model);
}

function callsOf({ tool_calls: calls }: JsonObject): readonly JsonObject[] {
  return (calls as readonly JsonObject[] | undefined) ?? [];
}

/**
 * As `withSignatures`, for OpenRouter, which has the signatures in a message's `reasoning_details`
 * and refuses a call without one. Source: RooCodeInc/Roo-Code#10640.
 */
export function withSignedDetails(
  messages: readonly JsonObject[],
  model: string,
): readonly JsonObject[] {
  if (!wantsSignatures(model)) return messages;
  return messages.map((message) => {
    const [first] = callsOf(message);
    const original: unknown = message["reasoning_details"];
    const details: readonly unknown[] = Array.isArray(original) ? original : [];
    if (first === undefined || details.some(isSignedByGoogle)) return message;
    const detail = { type: "reasoning.encrypted", data: signatureOfOthers, format: formatOfGoogle };
    return { ...message, reasoning_details: [{ ...detail, id: first["id"], index: 0 }] };
  });
}

/** OpenRouter's name for the reasoning of Gemini. */
const formatOfGoogle = "google-gemini-v1";

/** Whether a detail of OpenRouter's holds a signature of Gemini's. */
export function isSignedByGoogle(detail: unknown): detail is JsonObject {
  return (
    isObject(detail) &&
    detail["type"] === "reasoning.encrypted" &&
    detail["format"] === formatOfGoogle
  );
}

/** Removes the signatures for providers other than Gemini, which refuse unknown fields. */
export function withoutSignatures(messages: readonly JsonObject[]): readonly JsonObject[] {
  return messages.map((message) => {
    const calls = message["tool_calls"] as readonly JsonObject[] | undefined;
    if (calls === undefined || !calls.some((call) => call["extra_content"] !== undefined))
      return message;
    return { ...message, tool_calls: calls.map(({ extra_content: _, ...call }) => call) };
  });
}
