/**
 * Whether the body of a successful response is an answer, or an error in its place. The input is
 * parsed JSON; nothing here depends on the provider or the client.
 */
import { isObject, parseJson } from "../../../shared/checked.js";
import { errorBody } from "../../body/error-body.js";

/**
 * Whether the parsed body of a 2xx is an error: it has an error, and nothing where an answer should
 * be.
 */
export function errorInsideSuccess(value: unknown): boolean {
  // A response object of the Responses API is an answer even if its `error` says how it has failed.
  if (!isObject(value) || value["object"] === "response" || errorBody(value) === null) return false;
  return !answerFields.some((field) => isFilled(value[field]));
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
 * Whether a 2xx to an operation that is answered in JSON is an answer, as far as all dialects
 * agree: any JSON that isn't empty. `value` is the parsed text, or undefined if the text isn't
 * JSON. In that case braces around the text are enough: Python writes NaN, which its clients read,
 * and .NET may write a byte order mark.
 */
export function isSomeAnswer(value: unknown, text: string): boolean {
  if (value === undefined)
    return /^(?:\ufeff|\u00ef\u00bb\u00bf)?\s*\{/.test(text) && text.trimEnd().endsWith("}");
  if (isObject(value)) return !isEmptyCompletion(text);
  return Array.isArray(value) && value.length > 0;
}

/** An empty completion is no longer than this. */
const emptyCharsMax = 4096;
const noChoice = /"choices"\s*:\s*\[\s*\]/;
/** The reason that Gemini's endpoint for chat completions gives: `function_call_filter: …`. */
const malformedCall = "MALFORMED_FUNCTION_CALL";

/** A chat completion without a choice, or whose only choice is a failed tool call. */
function isEmptyCompletion(text: string): boolean {
  if (text.length > emptyCharsMax) return false;
  if (!text.includes(malformedCall) && !noChoice.test(text)) return false;
  const value = parseJson(text);
  const { object, choices } = isObject(value) ? value : {};
  if (object !== "chat.completion" || !Array.isArray(choices)) return false;
  const [choice, ...others] = choices as readonly unknown[];
  if (choice === undefined) return true;
  if (!isObject(choice) || others.length > 0) return false;
  const { message, finish_reason: reason } = choice;
  const { content, tool_calls: calls } = isObject(message) ? message : {};
  return String(reason).includes(malformedCall) && !isFilled(content) && !isFilled(calls);
}

/** Describes a body that isn't an answer, for the error message. */
export function describeNoAnswer(text: string): string {
  if (text.trim() === "") return "an empty body";
  if (isEmptyCompletion(text)) return "a completion without an answer";
  return text.trimStart().startsWith("<")
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
