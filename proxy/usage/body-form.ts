/** How a response is metered, by its operation and its content type. */
import type { Operation } from "../../shared/operation.js";
import { isWithoutModel } from "./count-usage.js";
import type { BodyForm } from "./response-meter.js";

/** The operations that are answered in JSON alone, whatever content type the response has. */
const inJson: ReadonlySet<Operation> = new Set<Operation>([
  "chat_completions",
  "responses",
  "messages",
  "count_tokens",
  "completions",
  "compact",
  "input_tokens",
  "embeddings",
  "moderations",
  "rerank",
  "images",
  "image_edits",
  "image_variations",
  "generate_content",
  "stream_generate_content",
  "embed_content",
  "batch_embed_contents",
  "count_content_tokens",
]);
const pictures: ReadonlySet<Operation> = new Set<Operation>([
  "images",
  "image_edits",
  "image_variations",
]);
const binary = /^(?:audio|image|video)\/|^application\/octet-stream/;

/**
 * Whether a response must be JSON to be an answer: a picture may come as an image, and a deletion
 * may be answered with nothing.
 */
export function mustBeJson(method: string, operation: Operation, contentType: string): boolean {
  return (
    inJson.has(operation) &&
    method !== "DELETE" &&
    (!pictures.has(operation) || !binary.test(contentType))
  );
}

/**
 * The form of a successful response that isn't a stream of events. What providers keep for callers
 * isn't read: a file may hold anything.
 */
export function bodyForm(contentType: string, operation: Operation): BodyForm {
  if (contentType === "" || contentType.includes("json"))
    return isWithoutModel(operation) ? "text" : "json";
  return binary.test(contentType) ? "bytes" : "text";
}
