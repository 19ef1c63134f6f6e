/**
 * Errors within a stream, in the shape of the client's dialect: after the status has gone out, an
 * event is all there is.
 */
import { isObject } from "../../../shared/assert.js";
import type { ErrorType } from "../../../shared/error-code.js";
import { errorBody } from "../../body/error-body.js";
import { mapUpstreamError } from "../../upstream/errors/upstream-error.js";
import type { ClientEvent } from "./translation.js";

export interface StreamError {
  readonly type: ErrorType;
  readonly message: string;
  readonly code: string | null;
}

/**
 * The words for errors that stand in Anthropic's and OpenAI's streams, where no status says more.
 * What isn't here is `provider_error`.
 */
const typesOfUpstream: ReadonlyMap<unknown, ErrorType> = new Map([
  ["invalid_request_error", "invalid_request_error"],
  ["request_too_large", "invalid_request_error"],
  ["billing_error", "invalid_request_error"],
  ["authentication_error", "authentication_error"],
  ["permission_error", "authentication_error"],
  ["not_found_error", "not_found_error"],
  ["rate_limit_error", "rate_limit_error"],
  ["rate_limit_exceeded", "rate_limit_error"],
  ["insufficient_quota", "rate_limit_error"],
]);

/** What an upstream's error event says; never fails. */
export function readStreamError(data: string, value: unknown): StreamError {
  const { type, message, code } = mapUpstreamError("the provider", 200, Buffer.from(data));
  const said = (isObject(value) ? errorBody(value) : null) ?? {};
  const word = typesOfUpstream.get(said["type"]) ?? typesOfUpstream.get(said["code"]);
  return { type: word ?? type, message, code };
}

/** The shape that OpenAI's SDKs look for in a chunk. */
export function chatErrorEvent({ type, message, code }: StreamError): ClientEvent {
  return { event: null, data: JSON.stringify({ error: { type, message, code, param: null } }) };
}

/** Anthropic has our names, and one for what is the server's fault. */
export function messagesErrorEvent({ type, message }: StreamError): ClientEvent {
  const named = type === "provider_error" || type === "internal_error" ? "api_error" : type;
  return {
    event: "error",
    data: JSON.stringify({ type: "error", error: { type: named, message } }),
  };
}
