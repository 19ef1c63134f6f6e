/** In which form an answer is looked at, by what was asked and what its head says. */
import type { Operation } from "../../shared/operation.js";
import { isWithoutModel } from "./count-usage.js";
import type { WholeForm } from "./response-meter.js";

/** What is answered in JSON and nothing else, whatever the head calls it. */
const inJson: ReadonlySet<Operation> = new Set<Operation>([
  "chat_completions",
  "responses",
  "messages",
  "count_tokens",
  "embeddings",
  "images",
]);
const binary = /^(?:audio|image|video)\/|^application\/octet-stream/;

/**
 * Whether what has come must be JSON, or it is no answer: a picture may come as one, and a deletion
 * may have nothing to say.
 */
export function mustBeJson(method: string, operation: Operation, contentType: string): boolean {
  return (
    inJson.has(operation) &&
    method !== "DELETE" &&
    (operation !== "images" || !binary.test(contentType))
  );
}

/**
 * Of a successful answer that is no stream of events. What providers keep for callers isn't read: a
 * file may hold anything.
 */
export function wholeForm(contentType: string, operation: Operation): WholeForm {
  if (contentType === "" || contentType.includes("json"))
    return isWithoutModel(operation) ? "text" : "json";
  return binary.test(contentType) ? "bytes" : "text";
}
