/**
 * The closed list of error types and codes (`docs/reference/http-api.md`, "Errors"), and the form
 * of every failure within Sluice until it becomes an HTTP response or a line on the terminal.
 */

export const errorTypes = [
  "provider_error",
  "rate_limit_error",
  "invalid_request_error",
  "authentication_error",
  "not_found_error",
  "permission_error",
  "internal_error",
] as const;
export type ErrorType = (typeof errorTypes)[number];

/** The codes of Sluice's own errors. A provider's code is passed on unchanged. */
export type ErrorCode =
  | "rate_limit_exceeded"
  | "rate_limit_not_found"
  | "budget_exceeded"
  | "budget_not_found"
  | "quota_templates_not_entitled"
  | "feature_unavailable"
  | "limiter_unavailable"
  | "operation_unknown"
  | "cluster_unavailable"
  | "overloaded"
  | "usage_status_failed"
  | "model_not_found"
  | "model_not_allowed"
  | "tool_not_allowed"
  | "model_unpriced"
  | "loop_detected"
  | "provider_unavailable"
  | "provider_credentials"
  | "answer_untranslatable"
  | "request_too_large";

/**
 * A failure as a value. `status` is the HTTP status; `code`, `param` and `provider` are null when
 * unset.
 */
export interface Failure {
  readonly status: number;
  readonly type: ErrorType;
  readonly message: string;
  readonly code: string | null;
  readonly param: string | null;
  readonly provider: string | null;
  /** The details of Anthropic's error, which its SDKs act upon. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** The status, type and meaning of each code, as `docs/reference/http-api.md` lists them. */
export const errorCodes: Readonly<
  Record<ErrorCode, { readonly status: number; readonly type: ErrorType; readonly meaning: string }>
> = {
  rate_limit_exceeded: {
    status: 429,
    type: "rate_limit_error",
    meaning: "A rate limit is reached.",
  },
  rate_limit_not_found: {
    status: 404,
    type: "not_found_error",
    meaning: "There is no such rule.",
  },
  budget_exceeded: {
    status: 429,
    type: "rate_limit_error",
    meaning: "A budget is spent.",
  },
  budget_not_found: {
    status: 404,
    type: "not_found_error",
    meaning: "There is no such budget.",
  },
  quota_templates_not_entitled: {
    status: 403,
    type: "permission_error",
    meaning: "`per_child` needs the entitlement `quota_templates`.",
  },
  feature_unavailable: {
    status: 503,
    type: "internal_error",
    meaning: "Rate limits, budgets or usage are switched off.",
  },
  limiter_unavailable: {
    status: 503,
    type: "internal_error",
    meaning: "The limiter daemon doesn't answer.",
  },
  operation_unknown: {
    status: 501,
    type: "internal_error",
    meaning: "The limiter daemon is of an older release than the proxy: upgrade it.",
  },
  cluster_unavailable: {
    status: 503,
    type: "internal_error",
    meaning: "The engine that several hosts share can't be reached.",
  },
  overloaded: {
    status: 503,
    type: "internal_error",
    meaning: "The proxy or the daemon has reached a bound, which the message names.",
  },
  usage_status_failed: {
    status: 503,
    type: "internal_error",
    meaning:
      "What the gateway has recorded can't be read: usage, the audit log or comparisons with bills.",
  },
  model_not_found: {
    status: 404,
    type: "not_found_error",
    meaning: "There is no such model.",
  },
  model_not_allowed: {
    status: 403,
    type: "permission_error",
    meaning: "The key or token may not use this model, or a rule bans it.",
  },
  tool_not_allowed: {
    status: 403,
    type: "permission_error",
    meaning: "A rule bans a tool that the request carries.",
  },
  model_unpriced: {
    status: 403,
    type: "permission_error",
    meaning: "The model has no price, and a budget of the caller refuses such models.",
  },
  loop_detected: {
    status: 400,
    type: "invalid_request_error",
    meaning: "The agent repeats itself, or has worked for too many turns.",
  },
  provider_unavailable: {
    status: 502,
    type: "provider_error",
    meaning:
      "The provider can't be reached, or its response has no answer. As a 503: a provider that may have the model hasn't listed its models yet.",
  },
  provider_credentials: {
    status: 502,
    type: "provider_error",
    meaning:
      "The provider refuses Sluice's key or account (401, 402, 403): the operator has to act.",
  },
  answer_untranslatable: {
    status: 502,
    type: "provider_error",
    meaning: "The provider's answer can't be translated into the client's dialect.",
  },
  request_too_large: {
    status: 413,
    type: "invalid_request_error",
    meaning: "The body is too large, as sent or decoded.",
  },
};

/** A failure with one of our codes. */
export function failure(code: ErrorCode, message: string, param: string | null = null): Failure {
  const { status, type } = errorCodes[code];
  return { status, type, message, code, param, provider: null };
}

/** An invalid value in a request: 400, without a code. `param` names the field. */
export function invalid(message: string, param: string | null = null): Failure {
  return { status: 400, type: "invalid_request_error", message, code: null, param, provider: null };
}

/** A failure with the given status and type and no code. */
export function plainFailure(status: number, type: ErrorType, message: string): Failure {
  return { status, type, message, code: null, param: null, provider: null };
}

/** The error type for a provider's status. Not for 401, 402 and 403. */
export function errorTypeForUpstreamStatus(status: number): ErrorType {
  if (status === 404) return "not_found_error";
  if (status === 429) return "rate_limit_error";
  if (status >= 500) return "provider_error";
  return "invalid_request_error";
}
