/**
 * A provider's error as ours (CONTRACT section 1): its status, message, code and param, under our types
 * and with the provider's name. How it reaches the client is in `respond.ts`.
 */
import { isCount } from "../shared/assert.js";
import { errorTypeForUpstreamStatus, type Failure } from "../shared/error-code.js";

const messageCharsMax = 4096;

/** The failure for an error response of a provider, whatever shape its body has. */
export function mapUpstreamError(provider: string, status: number, body: Buffer): Failure {
  const error = findError(parse(body));
  const told = status >= 400 ? status : statusInside(error);
  return {
    status: told,
    type: errorTypeForUpstreamStatus(told),
    message: text(field(error, "message")) ?? (typeof error === "string" ? clean(error) : null) ?? `provider ${provider} answered with status ${told}`,
    code: text(field(error, "code")),
    param: text(field(error, "param")),
    provider,
  };
}

/** Whether a body that came with a 2xx status is an error after all. */
export function errorInsideSuccess(body: unknown): boolean {
  const error = field(body, "error");
  return (typeof error === "object" && error !== null) || (typeof error === "string" && error !== "");
}

/** An error inside a 2xx may carry its own status; it is a bad gateway otherwise. */
function statusInside(error: unknown): number {
  for (const name of ["status", "code"]) {
    const value = field(error, name);
    if (isCount(value, 400) && value < 600) return value;
  }
  return 502;
}

/** `{error: {…}}`, `{error: "…"}`, `{message: "…"}`, or a list of one of them. */
function findError(body: unknown): unknown {
  const first: unknown = Array.isArray(body) ? body[0] : body;
  return field(first, "error") ?? first;
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    // HTML, plain text or nothing: the status says it better.
    return undefined;
  }
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>)[name] : undefined;
}

function text(value: unknown): string | null {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? clean(value) : null;
}

function clean(message: string): string {
  // eslint-disable-next-line no-control-regex
  return message.slice(0, messageCharsMax).replace(/[\u0000-\u001f\u007f]+/g, " ");
}
