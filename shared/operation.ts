/**
 * The operations of providers, by their names in the configuration. The paths of the API are in
 * `proxy/http/match-route.ts`.
 */

export const operations = [
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
  "speech",
  "transcriptions",
  "translations",
  "images",
  "image_edits",
  "image_variations",
  "files",
  "batches",
  "uploads",
  "containers",
  "conversations",
  "message_files",
  "message_batches",
  "generate_content",
  "stream_generate_content",
  "embed_content",
  "batch_embed_contents",
  "count_content_tokens",
  "interactions",
  "realtime",
] as const;

/** The operations of Gemini's own API, with its names for them. */
export const googleMethods = {
  generate_content: "generateContent",
  stream_generate_content: "streamGenerateContent",
  embed_content: "embedContent",
  batch_embed_contents: "batchEmbedContents",
  count_content_tokens: "countTokens",
} as const;

export function isGoogleOperation(operation: string): operation is keyof typeof googleMethods {
  return Object.hasOwn(googleMethods, operation);
}

/** Whether Google has the operation at its own API's address, not at the OpenAI-compatible one. */
export function isNativeToGoogle(operation: string): boolean {
  return operation === "interactions" || isGoogleOperation(operation);
}

export type Operation = (typeof operations)[number];

/** Whether an answer may be unfinished, because the provider works on it in the background. */
export function mayRunInBackground(operation: Operation | null): boolean {
  return operation === "responses" || operation === "interactions";
}
