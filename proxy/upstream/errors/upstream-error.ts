/**
 * Maps a provider's error response to Sluice's failure: its status, message, code and param in
 * Sluice's envelope, unless the provider refuses Sluice's own credentials
 * (docs/reference/http-api.md). `error-fields.ts` reads the body.
 *
 * Not here: trying another target, and writing the answer.
 */
import { errorTypeForUpstreamStatus, type Failure, failure } from "../../../shared/error-code.js";
import { contextFullCode, isContextFull } from "./context-full.js";
import { isErrorStatus, readErrorFields } from "./error-fields.js";

/**
 * The provider refuses Sluice's key or the operator's account. The caller can't change that, and
 * must not read it as a refusal of its own credentials.
 */
function isOurCredentials(status: number): boolean {
  return status === 401 || status === 402 || status === 403;
}

/**
 * Never fails: a body without a readable message gets a sentence with the status. A status that
 * isn't an error's (an error inside a 2xx, a redirect) becomes the status that the error itself
 * names, or 502 if it names none.
 */
export function mapUpstreamError(provider: string, status: number, body: Buffer): Failure {
  const fields = readErrorFields(body.toString("utf8"));
  const errorStatus = isErrorStatus(status) ? status : fields.status;
  const isFull = isContextFull({
    status: errorStatus ?? 400,
    code: fields.code,
    message: fields.message ?? "",
  });
  const mapped = errorStatus ?? (isFull ? 400 : 502);
  const message = fields.message ?? plainMessage(provider, status, mapped);
  if (isOurCredentials(mapped))
    return { ...failure("provider_credentials", message, fields.param), provider };
  return {
    status: mapped,
    type: errorTypeForUpstreamStatus(mapped),
    message,
    code: isFull ? contextFullCode : fields.code,
    param: fields.param,
    provider,
    ...(fields.details === null ? {} : { details: fields.details }),
  };
}

function plainMessage(provider: string, status: number, mapped: number): string {
  if (status >= 200 && status < 300) return `${provider} answered ${status} with an error inside`;
  const meaning = statusTexts.get(status);
  const statusText = meaning === undefined ? `${status}` : `${status} ${meaning}`;
  return mapped === status
    ? `${provider} answered ${statusText}`
    : `${provider} answered ${statusText}, which is no answer to a model request`;
}

/**
 * The statuses that providers and their load balancers answer with. A table of our own, since pure
 * files don't import node:http.
 */
const statusTexts: ReadonlyMap<number, string> = new Map([
  [301, "Moved Permanently"],
  [302, "Found"],
  [303, "See Other"],
  [307, "Temporary Redirect"],
  [308, "Permanent Redirect"],
  [400, "Bad Request"],
  [401, "Unauthorized"],
  [402, "Payment Required"],
  [403, "Forbidden"],
  [404, "Not Found"],
  [405, "Method Not Allowed"],
  [406, "Not Acceptable"],
  [408, "Request Timeout"],
  [409, "Conflict"],
  [410, "Gone"],
  [413, "Payload Too Large"],
  [414, "URI Too Long"],
  [415, "Unsupported Media Type"],
  [418, "I'm a Teapot"],
  [421, "Misdirected Request"],
  [422, "Unprocessable Entity"],
  [424, "Failed Dependency"],
  [425, "Too Early"],
  [429, "Too Many Requests"],
  [431, "Request Header Fields Too Large"],
  [451, "Unavailable For Legal Reasons"],
  [500, "Internal Server Error"],
  [501, "Not Implemented"],
  [502, "Bad Gateway"],
  [503, "Service Unavailable"],
  [504, "Gateway Timeout"],
  [520, "Unknown Error"],
  [521, "Web Server Is Down"],
  [522, "Connection Timed Out"],
  [524, "A Timeout Occurred"],
  [529, "Site Is Overloaded"],
]);
