/**
 * What a provider can do, under the names that the configuration uses. The paths of the API are in
 * `proxy/http/match-route.ts`.
 */

export const operations = [
  "chat_completions",
  "responses",
  "messages",
  "count_tokens",
  "embeddings",
  "speech",
  "transcriptions",
  "translations",
  "images",
  "files",
  "batches",
  "realtime",
] as const;

export type Operation = (typeof operations)[number];
