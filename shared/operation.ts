/**
 * What can be asked of a provider, by the words that the configuration uses;
 * `proxy/http/match-route.ts` has the paths that clients ask at.
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
