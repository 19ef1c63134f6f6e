/** The resources of the APIs of OpenAI, Anthropic and those who speak like them. */

/** The first segments that SDKs append to their base URL, which mostly ends in `/v1`. */
export const apiResources: ReadonlySet<string> = new Set([
  "assistants",
  "audio",
  "batches",
  "chat",
  "complete",
  "completions",
  "containers",
  "conversations",
  "embeddings",
  "evals",
  "files",
  "fine_tuning",
  "images",
  "messages",
  "models",
  "moderations",
  "realtime",
  "rerank",
  "responses",
  "skills",
  "threads",
  "uploads",
  "vector_stores",
  "videos",
]);
