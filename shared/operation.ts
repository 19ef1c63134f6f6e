/**
 * What a provider can do, under the names that the configuration uses. The paths of the API are in
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
  "realtime",
] as const;

export type Operation = (typeof operations)[number];
