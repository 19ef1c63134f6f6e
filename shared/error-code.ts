/**
 * The closed list of error types and codes (`docs/reference/http-api.md`, "Errors"), and the one
 * shape that a failure has within Sluice, until it becomes an HTTP response or a line on the
 * terminal.
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
  | "model_unpriced"
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
}

const byCode: Record<ErrorCode, { readonly status: number; readonly type: ErrorType }> = {
  rate_limit_exceeded: { status: 429, type: "rate_limit_error" },
  rate_limit_not_found: { status: 404, type: "not_found_error" },
  budget_exceeded: { status: 429, type: "rate_limit_error" },
  budget_not_found: { status: 404, type: "not_found_error" },
  quota_templates_not_entitled: { status: 403, type: "permission_error" },
  feature_unavailable: { status: 503, type: "internal_error" },
  limiter_unavailable: { status: 503, type: "internal_error" },
  operation_unknown: { status: 501, type: "internal_error" },
  cluster_unavailable: { status: 503, type: "internal_error" },
  overloaded: { status: 503, type: "internal_error" },
  usage_status_failed: { status: 503, type: "internal_error" },
  model_not_found: { status: 404, type: "not_found_error" },
  model_not_allowed: { status: 403, type: "permission_error" },
  model_unpriced: { status: 403, type: "permission_error" },
  provider_unavailable: { status: 502, type: "provider_error" },
  provider_credentials: { status: 502, type: "provider_error" },
  answer_untranslatable: { status: 502, type: "provider_error" },
  request_too_large: { status: 413, type: "invalid_request_error" },
};

/** A failure with one of our codes. */
export function failure(code: ErrorCode, message: string, param: string | null = null): Failure {
  return { ...byCode[code], message, code, param, provider: null };
}

/** An invalid value in a request: 400, without a code. `param` names the field. */
export function invalid(message: string, param: string | null = null): Failure {
  return { status: 400, type: "invalid_request_error", message, code: null, param, provider: null };
}

/** A failure with a status and type of its own and no code. */
export function plainFailure(status: number, type: ErrorType, message: string): Failure {
  return { status, type, message, code: null, param: null, provider: null };
}

/** The error type for a status that the provider answered with, but for 401, 402 and 403. */
export function errorTypeForUpstreamStatus(status: number): ErrorType {
  if (status === 404) return "not_found_error";
  if (status === 429) return "rate_limit_error";
  if (status >= 500) return "provider_error";
  return "invalid_request_error";
}
