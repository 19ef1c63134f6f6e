/**
 * Finds the error in a JSON body or an event of a stream, in every dialect.
 *
 * Not here: reading the error's fields (`upstream/errors/error-fields.ts`).
 */
import { isObject } from "../../shared/checked.js";

type Fields = Readonly<Record<string, unknown>>;

/**
 * The fields of an object's error, or null. The error is its `error`, an object or a text, or the
 * object itself when its `object` is `error`, as in older vLLMs. A null or an empty text is no
 * error: answers have them.
 */
export function errorBody(value: Fields): Fields | null {
  const { error, object } = value;
  if (isObject(error)) return error;
  if (typeof error === "string" && error.trim() !== "") return { ...value, message: error };
  return object === "error" ? value : null;
}

/**
 * Gemini's finish reasons of an answer that failed, if it holds nothing else
 * (ai.google.dev, "FinishReason"). Its endpoint for chat completions gives `function_call_filter:
 * …`.
 */
const failedReason =
  /^(?:function_call_filter: ?)?(?:MALFORMED_(?:FUNCTION_CALL|RESPONSE)|UNEXPECTED_TOOL_CALL|TOO_MANY_TOOL_CALLS|MISSING_THOUGHT_SIGNATURE|NO_IMAGE|IMAGE_OTHER|OTHER)$/i;

export function isFailedReason(finish: unknown): finish is string {
  return typeof finish === "string" && failedReason.test(finish);
}

/** Whether an event of a stream is an error, judged by its type, its fields, or its `response`. */
export function isErrorEvent(value: Fields): boolean {
  const { type, response } = value;
  return (
    type === "error" ||
    errorBody(value) !== null ||
    (isObject(response) && errorBody(response) !== null)
  );
}
