/**
 * Whether the body of a successful response is an answer, or an error in the place of one. Parsed
 * JSON comes in; nothing here knows the provider or the client.
 */
import { isObject, parseJson } from "../../../shared/checked.js";
import { errorBody } from "../../body/error-body.js";

/** Whether the parsed body of a 2xx is an error: it has an error where an answer should be. */
export function errorInsideSuccess(value: unknown): boolean {
  // A response object of the Responses API says in its `error` how it has failed; it is an answer
  // all the same.
  if (!isObject(value) || value["object"] === "response" || errorBody(value) === null) return false;
  return !answerFields.some((field) => isFilled(value[field]));
}

/**
 * Where chat completions, messages, embeddings and pictures, responses, and transcriptions have
 * what was asked for.
 */
const answerFields = ["choices", "content", "data", "output", "text"];

function isFilled(value: unknown): boolean {
  return (Array.isArray(value) || typeof value === "string") && value.length > 0;
}

/**
 * Whether a 2xx to an operation that is answered in JSON is an answer, as far as all dialects
 * agree: some JSON that isn't empty. `value` is the parsed text, undefined when it isn't JSON.
 * Python writes NaN, and its clients read it; .NET may write a byte order mark: so braces around
 * the text are enough.
 */
export function isSomeAnswer(value: unknown, text: string): boolean {
  if (value === undefined)
    return /^(?:\ufeff|\u00ef\u00bb\u00bf)?\s*\{/.test(text) && text.trimEnd().endsWith("}");
  if (isObject(value)) return !isEmptyCompletion(text);
  return Array.isArray(value) && value.length > 0;
}

/** An empty completion isn't longer. */
const emptyCharsMax = 4096;
const noChoice = /"choices"\s*:\s*\[\s*\]/;
/** As Gemini's endpoint for chat completions has it: `function_call_filter: …`. */
const malformedCall = "MALFORMED_FUNCTION_CALL";

/** A chat completion without a choice, or whose only choice is a failed call of a tool. */
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

/** Names a body that isn't an answer, for the error message. */
export function describeNoAnswer(text: string): string {
  if (text.trim() === "") return "an empty body";
  if (isEmptyCompletion(text)) return "a completion without an answer";
  return text.trimStart().startsWith("<")
    ? "a page of HTML or XML"
    : "a body that is no JSON object";
}

/**
 * The data of the event that carries the error, in the first bytes of a stream in which one was
 * seen; all of the text when no line of it looks like that event.
 */
export function errorInEvents(text: string): string {
  for (const line of text.split("\n")) {
    if (line.startsWith("data:") && line.includes('"error"')) return line.slice(5).trim();
  }
  return text;
}
