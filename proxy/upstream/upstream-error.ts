/**
 * What an upstream said went wrong, as a failure of ours (CONTRACT section 1): its status, message,
 * code and param, in our envelope.
 *
 * Not here: trying another target, and writing the answer.
 */
import { isObject } from "../../shared/assert.js";
import {
  errorTypeForUpstreamStatus,
  type Failure,
  failure,
  invalid,
  plainFailure,
} from "../../shared/error-code.js";
import type { Operation } from "../../shared/operation.js";
import { errorBody } from "../body/error-body.js";
import type { UpstreamFailure } from "./upstream.js";

/** An upstream's message, code or param, in bytes: enough for every honest one. */
const textBytesMax = 4096;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Never fails: a body that says nothing readable gives a sentence with the status. A status that
 * isn't an error's (an error inside a 2xx, a redirect) becomes the one that the error itself names,
 * else 502.
 */
export function mapUpstreamError(provider: string, status: number, body: Buffer): Failure {
  const text = body.toString("utf8");
  const said = whatWasSaid(text);
  const answered = isErrorStatus(status) ? status : (said.status ?? 502);
  return {
    status: answered,
    type: errorTypeForUpstreamStatus(answered),
    message: said.message ?? plainSentence(provider, status, answered),
    code: said.code,
    param: said.param,
    provider,
  };
}

/**
 * Whether the parsed body of a 2xx is an error in truth: it tells one in the place of an answer.
 */
export function errorInsideSuccess(value: unknown): boolean {
  // A response of the Responses API tells with its error how it has failed; it is an answer all the
  // same.
  if (!isObject(value) || value["object"] === "response" || errorBody(value) === null) return false;
  return !answerFields.some((field) => holdsSomething(value[field]));
}

/**
 * Where chat completions, messages, embeddings and pictures, responses, and transcriptions have
 * what was asked for.
 */
const answerFields = ["choices", "content", "data", "output", "text"];

function holdsSomething(value: unknown): boolean {
  return (Array.isArray(value) || typeof value === "string") && value.length > 0;
}

/**
 * Whether a 2xx to an operation that is answered in JSON is an answer, as far as all dialects
 * agree: some JSON that isn't empty. `value`: what was read of the text; undefined when that is no
 * JSON. Python's has NaN, and its clients read it; .NET's may have a byte order mark: braces around
 * all of it are enough.
 */
export function isSomeAnswer(value: unknown, text: string): boolean {
  if (value === undefined)
    return /^(?:\ufeff|\u00ef\u00bb\u00bf)?\s*\{/.test(text) && text.trimEnd().endsWith("}");
  return isObject(value) || (Array.isArray(value) && value.length > 0);
}

/** What isn't one. */
export function describeNoAnswer(text: string): string {
  if (text.trim() === "") return "an empty body";
  return text.trimStart().startsWith("<")
    ? "a page of HTML or XML"
    : "a body that is no JSON object";
}

/** `given`: its status, and what came with it. */
export function noAnswer(provider: string, given: string): Failure {
  return { ...failure("provider_unavailable", `provider ${provider} answered ${given}`), provider };
}

/**
 * The data of the event that says so, in the first bytes of a stream whose reader has seen an
 * error; the whole text when it can't be told.
 */
export function errorInEvents(text: string): string {
  for (const line of text.split("\n")) {
    if (line.startsWith("data:") && line.includes('"error"')) return line.slice(5).trim();
  }
  return text;
}

/**
 * A provider that gave no answer, or no end of it: 502 when it can't be reached or broke off, 504
 * when it was silent past its deadline.
 */
export function unansweredFailure(
  provider: string,
  begun: boolean,
  reason: UpstreamFailure,
): Failure {
  if (reason.kind === "too_large") return failure("request_too_large", reason.reason);
  if (reason.kind === "refused") return invalid(reason.reason, "body");
  if (reason.kind === "silent")
    return {
      ...plainFailure(504, "provider_error", `provider ${provider} was silent past its deadline`),
      provider,
    };
  const what = begun || reason.kind === "broken" ? "broke off its answer" : "can't be reached";
  return {
    ...failure("provider_unavailable", `provider ${provider} ${what} (${reason.reason})`),
    provider,
  };
}

/**
 * An answer that the client's dialect can't say, or that can't be read at all. `operation`: what
 * the client asked for.
 */
export function untranslatable(provider: string, operation: Operation, reason: string): Failure {
  const dialect = dialects[operation];
  return {
    ...failure(
      "answer_untranslatable",
      `the answer of provider ${provider} can't be ${dialect === undefined ? "passed on" : `translated into ${dialect}`}: ${reason}`,
    ),
    provider,
  };
}

const dialects: Readonly<Partial<Record<Operation, string>>> = {
  chat_completions: "chat completions",
  messages: "Anthropic messages",
  responses: "the Responses API",
};

interface Said {
  readonly message: string | null;
  readonly code: string | null;
  readonly param: string | null;
  /** The HTTP status that the error names. */
  readonly status: number | null;
}

const nothing: Said = { message: null, code: null, param: null, status: null };

function whatWasSaid(text: string): Said {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // A plain line of text is a message; a page of HTML isn't.
    return { ...nothing, message: text.trimStart().startsWith("<") ? null : asMessage(text) };
  }
  if (Array.isArray(value) && value.length === 1) value = value[0];
  if (!isObject(value)) return { ...nothing, message: asMessage(value) };
  return fromFields(errorBody(value) ?? value);
}

function fromFields(fields: Fields): Said {
  const { message, code, param, status } = fields;
  const detail =
    detailOf(fields["detail"]) ?? detailOf(isObject(message) ? message["detail"] : null);
  return {
    message: asMessage(message) ?? asMessage(detail?.words),
    code: typeof code === "number" ? String(code) : asMessage(code),
    param: asMessage(param) ?? asMessage(detail?.place),
    status: isErrorStatus(code) ? code : isErrorStatus(status) ? status : null,
  };
}

/** Of the problems that a list of them tells, no more are shown. */
const problemsMax = 5;

/**
 * What FastAPI says, and who is built on it, Mistral and vLLM among them: a text, an object with a
 * message, or a list of problems, each with its place in the request (`loc`) and its words (`msg`).
 */
function detailOf(
  detail: unknown,
): { readonly words: string; readonly place: string | null } | null {
  if (typeof detail === "string") return { words: detail, place: null };
  if (isObject(detail)) return detailOf(detail["message"] ?? detail["msg"] ?? detail["error"]);
  if (!Array.isArray(detail)) return null;
  const problems = detail
    .slice(0, problemsMax)
    .map((problem: unknown) => ({ place: placeOf(problem), said: detailOf(problem) }));
  const told = problems.filter(({ said }) => said !== null);
  if (told.length === 0) return null;
  const words = told
    .map(({ place, said }) => (place === "" ? said!.words : `${place}: ${said!.words}`))
    .join("; ");
  return {
    words:
      detail.length > problemsMax ? `${words}; and ${detail.length - problemsMax} more` : words,
    place: told[0]!.place,
  };
}

/** `["body", "messages", 0, "role"]` is `messages[0].role`. */
function placeOf(problem: unknown): string {
  const loc = isObject(problem) ? problem["loc"] : null;
  if (!Array.isArray(loc)) return "";
  const steps = loc[0] === "body" ? loc.slice(1) : loc;
  return steps.reduce(
    (path: string, step: unknown) =>
      typeof step === "number"
        ? `${path}[${step}]`
        : `${path}${path === "" ? "" : "."}${String(step)}`,
    "",
  );
}

function isErrorStatus(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 400 && (value as number) <= 599;
}

/**
 * A text from outside that may be shown: bounded, on one line, not empty; null for anything else.
 */
function asMessage(value: unknown): string | null {
  if (typeof value !== "string") return null;
  // Cut first: a text of many megabytes must not be rewritten to keep 4 KiB of it. White space may
  // shrink, so some more is looked at.
  const cut = value.slice(0, textBytesMax * 2);
  // eslint-disable-next-line no-control-regex
  const clean = cut
    .replace(/[\t\n\v\f\r\u0085\u2028\u2029]+/g, " ")
    .replace(/[\u0000-\u001f\u007f-\u009f]/g, "")
    .trim();
  return clean === "" ? null : cutToBytes(clean);
}

/**
 * Cuts at the end of a character: Node's decoder would make a replacement character of a half one.
 */
function cutToBytes(text: string): string {
  if (Buffer.byteLength(text) <= textBytesMax) return text;
  const bytes = Buffer.from(text);
  let end = textBytesMax;
  while ((bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end);
}

function plainSentence(provider: string, status: number, answered: number): string {
  if (status >= 200 && status < 300) return `${provider} answered ${status} with an error inside`;
  const meaning = statusTexts.get(status);
  const named = meaning === undefined ? `${status}` : `${status} ${meaning}`;
  return answered === status
    ? `${provider} answered ${named}`
    : `${provider} answered ${named}, which is no answer to a model request`;
}

/**
 * The ones that providers and the load balancers before them give; node:http's table isn't for pure
 * files.
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
