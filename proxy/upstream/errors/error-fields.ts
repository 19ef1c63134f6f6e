/**
 * Reads the body of a provider's error response: message, code, parameter and status, in the forms
 * of providers and their frameworks. Every text is bounded and on one line.
 */
import { isCount, isObject, parseJson } from "../../../shared/checked.js";
import { errorBody } from "../../body/error-body.js";

/** The most bytes of a message, code or parameter: enough for every genuine one. */
const textBytesMax = 4096;

type Fields = Readonly<Record<string, unknown>>;

interface ErrorFields {
  readonly message: string | null;
  readonly code: string | null;
  readonly param: string | null;
  /** The HTTP status that the error names. */
  readonly status: number | null;
  /** Anthropic's details. */
  readonly details: Fields | null;
}

const none: ErrorFields = { message: null, code: null, param: null, status: null, details: null };

/** The fields of the error; each is null if it can't be read. */
export function readErrorFields(text: string): ErrorFields {
  let value = parseJson(text);
  // A line of plain text is a message; a page of HTML isn't.
  if (value === undefined)
    return { ...none, message: text.trimStart().startsWith("<") ? null : messageText(text) };
  if (Array.isArray(value) && value.length === 1) value = value[0];
  if (!isObject(value)) return { ...none, message: messageText(value) };
  return fromObject(errorBody(value) ?? filteredAnswer(value) ?? value);
}

/** Azure's refusal for an answer that its filter stopped: a completion inside an error. */
function filteredAnswer({ choices }: Fields): Fields | null {
  const choice: unknown = Array.isArray(choices) ? choices[0] : null;
  if (!isObject(choice) || choice["finish_reason"] !== "content_filter") return null;
  const { content_filter_results: results } = choice;
  const error = isObject(results) && isObject(results["error"]) ? results["error"] : {};
  return {
    message: "the provider's content filter stopped the answer",
    ...error,
    code: "content_filter",
  };
}

function fromObject(fields: Fields): ErrorFields {
  const { message, code, param, status, details } = fields;
  const detail =
    readDetail(fields["detail"]) ?? readDetail(isObject(message) ? message["detail"] : null);
  return {
    message: messageText(message) ?? messageText(detail?.message),
    code: typeof code === "number" ? String(code) : messageText(code),
    param: messageText(param) ?? messageText(detail?.path),
    status: isErrorStatus(code) ? code : isErrorStatus(status) ? status : null,
    details: isObject(details) && JSON.stringify(details).length <= textBytesMax ? details : null,
  };
}

interface Detail {
  readonly message: string;
  /** The field of the request that is wrong; empty if the error doesn't name it. */
  readonly path: string;
}

/** How many problems of a list are shown. */
const problemsMax = 5;
/** How many levels are searched for a message. */
const detailLevelsMax = 8;

/**
 * Reads the `detail` of FastAPI and of the servers built on it, such as Mistral's and vLLM: a text,
 * an object with a message, or a list of problems, each with its place in the request (`loc`) and a
 * message (`msg`).
 */
function readDetail(detail: unknown, levels = detailLevelsMax): Detail | null {
  if (typeof detail === "string") return { message: detail, path: "" };
  if (levels === 0) return null;
  if (isObject(detail))
    return readDetail(detail["message"] ?? detail["msg"] ?? detail["error"], levels - 1);
  if (!Array.isArray(detail)) return null;
  const problems = detail.slice(0, problemsMax).flatMap((problem: unknown) => {
    const inner = readDetail(problem, levels - 1);
    return inner === null ? [] : [{ path: pathOf(problem), message: inner.message }];
  });
  const [first] = problems;
  if (first === undefined) return null;
  const message = problems
    .map((problem) =>
      problem.path === "" ? problem.message : `${problem.path}: ${problem.message}`,
    )
    .join("; ");
  const more = detail.length - problemsMax;
  return { message: more > 0 ? `${message}; and ${more} more` : message, path: first.path };
}

/** `["body", "messages", 0, "role"]` is `messages[0].role`. */
function pathOf(problem: unknown): string {
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

export function isErrorStatus(value: unknown): value is number {
  return isCount(value, 400) && value <= 599;
}

/**
 * A text from outside in a form that may be shown: bounded, on one line, not empty. Null for any
 * other value.
 */
function messageText(value: unknown): string | null {
  if (typeof value !== "string") return null;
  // Cut first: rewriting many megabytes to keep 4 KiB of them would waste time. White space may
  // shrink, so twice as much is read.
  const cut = value.slice(0, textBytesMax * 2);
  const clean = cut
    .replace(/[\t\n\v\f\r\u0085\u2028\u2029]+/g, " ")
    .replace(/[\u0000-\u001f\u007f-\u009f]/g, "")
    .trim();
  return clean === "" ? null : cutToBytes(clean);
}

/**
 * Cuts at the end of a character: Node's decoder would make a replacement character of half a
 * character.
 */
function cutToBytes(text: string): string {
  if (Buffer.byteLength(text) <= textBytesMax) return text;
  const bytes = Buffer.from(text);
  let end = textBytesMax;
  while ((bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end);
}
