/**
 * Errors inside a stream, in the format of the client's dialect: once the status has been sent,
 * only an event can report an error.
 */
import { isObject } from "../../../shared/checked.js";
import type { ErrorType } from "../../../shared/error-code.js";
import { errorBody } from "../../body/error-body.js";
import { messageForGoogle, messageForMessages } from "../../upstream/errors/context-full.js";
import { mapUpstreamError } from "../../upstream/errors/upstream-error.js";
import type { ClientEvent } from "./translation.js";

export interface StreamError {
  readonly type: ErrorType;
  readonly message: string;
  readonly code: string | null;
}

/**
 * Maps the error types and codes in the streams of Anthropic and OpenAI, which contain no status.
 * Any other error is a `provider_error`.
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

/** Reads the provider's error event. Never throws. */
export function readStreamError(data: string, value: unknown): StreamError {
  const { type, message, code } = mapUpstreamError("the provider", 200, Buffer.from(data));
  const error = (isObject(value) ? errorBody(value) : null) ?? {};
  const mapped = typesOfUpstream.get(error["type"]) ?? typesOfUpstream.get(error["code"]);
  return { type: mapped ?? type, message, code };
}

/** A chunk with an error object as OpenAI's SDKs expect it. */
export function chatErrorEvent({ type, message, code }: StreamError): ClientEvent {
  return { event: null, data: JSON.stringify({ error: { type, message, code, param: null } }) };
}

/** The form of Gemini's own API: a status code and its name. */
export function googleErrorEvent(error: StreamError): ClientEvent {
  const [code, status] = googleErrors[error.type];
  const message = messageForGoogle(error);
  return { event: null, data: JSON.stringify({ error: { code, message, status } }) };
}

const googleErrors: Readonly<Record<ErrorType, readonly [code: number, status: string]>> = {
  invalid_request_error: [400, "INVALID_ARGUMENT"],
  authentication_error: [401, "UNAUTHENTICATED"],
  permission_error: [403, "PERMISSION_DENIED"],
  not_found_error: [404, "NOT_FOUND"],
  rate_limit_error: [429, "RESOURCE_EXHAUSTED"],
  provider_error: [500, "INTERNAL"],
  internal_error: [500, "INTERNAL"],
};

/** Anthropic has the same types, except `api_error` for all server errors. */
export function messagesErrorEvent(error: StreamError): ClientEvent {
  const { type } = error;
  const errorType = type === "provider_error" || type === "internal_error" ? "api_error" : type;
  return {
    event: "error",
    data: JSON.stringify({
      type: "error",
      error: { type: errorType, message: messageForMessages(error) },
    }),
  };
}
