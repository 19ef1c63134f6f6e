/**
 * Whether the body of a successful response is an answer, or an error instead. The input is parsed
 * JSON; the provider and the client don't matter here.
 */
import { heldResponseBytesMax } from "../../../shared/bounds.js";
import { isObject, parseJson } from "../../../shared/checked.js";
import { errorBody, isFailedReason } from "../../body/error-body.js";

/**
 * Whether the parsed body of a 2xx is an error: it contains an error, and no field of an answer.
 */
export function errorInsideSuccess(value: unknown): boolean {
  // A response object of the Responses API is an answer even if its `error` says how it has failed.
  if (!isObject(value) || value["object"] === "response") return false;
  if (errorBody(value) === null && !saysFailure(value)) return false;
  return !answerFields.some((field) => isFilled(value[field]));
}

/**
 * Whether an object is an error without a field `error`, as proxies and frameworks in front of
 * models write it: `detail` (FastAPI), `message`, `errors`, `success: false`. An answer of a model
 * that has one of these also has an id or a type.
 */
function saysFailure(value: Readonly<Record<string, unknown>>): boolean {
  if (["id", "object", "type", "usage"].some((field) => value[field] !== undefined)) return false;
  const { detail, message, errors, success } = value;
  return success === false || [detail, message, errors].some(isFilled);
}

/**
 * Whether a chat completion failed after its beginning, as some of OpenRouter's do. `text`: the
 * body; a quote within a text of JSON has a backslash before it.
 */
export function isBrokenChat(text: string): boolean {
  const position = text.lastIndexOf('"finish_reason"');
  return position !== -1 && /^"finish_reason":\s*"error"/.test(text.slice(position, position + 40));
}

/**
 * The fields that hold the result in chat completions, messages, embeddings and pictures,
 * responses, and transcriptions.
 */
const answerFields = ["choices", "content", "data", "output", "text"];

function isFilled(value: unknown): boolean {
  return (Array.isArray(value) || typeof value === "string") && value.length > 0;
}

/**
 * Whether a 2xx to an operation that is answered in JSON is an answer, by the rules that all
 * dialects share: any JSON that isn't empty. `value`: the parsed text; undefined if it isn't JSON.
 * Text that clients read although it isn't strict JSON is an answer, too: Python writes NaN, and
 * .NET may write a byte order mark. `mayHoldNothing`: the request is the GET of a stored answer.
 */
export function isSomeAnswer(value: unknown, text: string, mayHoldNothing = false): boolean {
  if (value === undefined) return isLooseJson(text);
  if (isObject(value)) return mayHoldNothing || !isEmptyAnswer(text);
  return Array.isArray(value) && value.length > 0;
}

/** A longer text isn't parsed again, only checked for enclosing braces. */
const looseCharsMax = heldResponseBytesMax;

function isLooseJson(text: string): boolean {
  const json = withoutMark(text);
  if (!json.startsWith("{") || !json.endsWith("}")) return false;
  return (
    json.length > looseCharsMax ||
    isObject(parseJson(json.replace(/(?<=[:[,]\s{0,8})-?(?:NaN|Infinity)\b/g, "null")))
  );
}

/**
 * The text without surrounding spaces and without a byte order mark, which may have been read as
 * Latin-1.
 */
function withoutMark(text: string): string {
  return text.replace(/^(?:\ufeff|\u00ef\u00bb\u00bf)/, "").trim();
}

/** An empty answer is no longer than this. */
const emptyCharsMax = 4096;
const emptyList = /\[\s*\]/y;

function hasEmptyList(text: string): boolean {
  for (
    let position = text.indexOf("[");
    position !== -1;
    position = text.indexOf("[", position + 1)
  ) {
    emptyList.lastIndex = position;
    if (emptyList.test(text)) return true;
  }
  return false;
}

/**
 * Matches the choices of a chat completion up to the beginning of the text, or `null`, which
 * OpenRouter has sent with the answer in a field that no client reads.
 */
const choicesBegin = /"choices":\s*(?:(null)|\[[^]*?"content":\s*"[^"])/;

const givenError = /"error":\s{0,8}[{"]/;

/** A cheap test of each answer, which shows for most without parsing that they aren't empty. */
function maybeEmpty(text: string): boolean {
  const choices = choicesBegin.exec(text);
  if (choices !== null) return choices[1] !== undefined;
  return (
    hasEmptyList(text) ||
    text.includes("finishReason") ||
    text.includes("function_call_filter") ||
    text.includes("MALFORMED_FUNCTION_CALL") ||
    givenError.test(text) ||
    (text.includes('"message"') && !text.includes('"content"')) ||
    (text.includes('"usageMetadata"') && !text.includes('"candidates"'))
  );
}

/**
 * Whether an answer of a known form contains nothing from a model: no result, or only a choice that
 * failed. A message of Anthropic's may have an empty list as its content.
 */
export function isEmptyAnswer(text: string): boolean {
  if (text.length > emptyCharsMax || !maybeEmpty(text)) return false;
  const value = parseJson(text);
  if (!isObject(value)) return false;
  if (errorInsideSuccess(value)) return true;
  const { object, type, status, choices, output, content } = value;
  if (type === "message") return content === undefined;
  if (object === "response")
    return status === "completed" && Array.isArray(output) && output.length === 0;
  if (choices === null) return true;
  if (object === "chat.completion") return Array.isArray(choices) && isNoChoice(choices);
  return isEmptyOfGoogle(value);
}

/** Members of Gemini's answers other than the result. A blocked prompt is a result. */
const googleFacts: ReadonlySet<string> = new Set([
  "candidates",
  "modelVersion",
  "responseId",
  "usageMetadata",
]);

function isEmptyOfGoogle(value: Readonly<Record<string, unknown>>): boolean {
  const { candidates = [] } = value;
  const isGoogle = Object.keys(value).every((key) => googleFacts.has(key));
  return isGoogle && Array.isArray(candidates) && isNoChoice(candidates);
}

/** Whether there is no choice or candidate, or only one that failed. */
function isNoChoice([choice, ...furtherChoices]: readonly unknown[]): boolean {
  if (choice === undefined) return true;
  if (!isObject(choice) || furtherChoices.length > 0) return false;
  // OpenAI's names, then Google's.
  if (!isFailedReason(choice["finishReason"] ?? choice["finish_reason"])) return false;
  const result = [choice["message"], choice["content"]].find(isObject);
  return !["content", "tool_calls", "parts"].some((name) => isFilled(result?.[name]));
}

/** Describes a body that isn't an answer, for the error message. */
export function describeNoAnswer(text: string): string {
  if (text.trim() === "") return "an empty body";
  if (isEmptyAnswer(text))
    return givenError.test(text) ? "an error" : "an answer that holds nothing";
  return withoutMark(text).startsWith("<")
    ? "a page of HTML or XML"
    : "a body that is no JSON object";
}

/**
 * The data of the event that carries the error, from the first bytes of a stream in which an error
 * was found. The whole text if no line looks like that event.
 */
export function errorInEvents(text: string): string {
  for (const line of text.split("\n")) {
    if (line.startsWith("data:") && line.includes('"error"')) return line.slice(5).trim();
  }
  return text;
}
