/**
 * How errors are told in JSON, in the place of an answer or as an event of a stream, in every
 * dialect.
 *
 * Not here: what an error says (`upstream-error.ts`).
 */
import { isObject } from "../../shared/assert.js";

type Fields = Readonly<Record<string, unknown>>;

/**
 * The fields of the error that an object tells, or null: of an `error` that is an object or a text,
 * or of the whole when it calls itself an error, as older vLLMs do. Null and an empty text tell
 * none: answers carry them.
 */
export function errorBody(value: Fields): Fields | null {
  const { error, object } = value;
  if (isObject(error)) return error;
  if (typeof error === "string" && error.trim() !== "") return { ...value, message: error };
  return object === "error" ? value : null;
}

/**
 * Whether an event of a stream is an error: on its own, by its type, or in the response that has
 * failed.
 */
export function isErrorEvent(value: Fields): boolean {
  const { type, response } = value;
  return (
    type === "error" ||
    errorBody(value) !== null ||
    (isObject(response) && errorBody(response) !== null)
  );
}
