/**
 * What of the providers' APIs has no endpoint here on purpose, and why: so that whoever looks for
 * it learns where it is instead of that it is unknown.
 */

/**
 * What runs at the provider for long, or is a store of its own: its tokens can't be seen here. Of
 * the resources of OpenAI's and Anthropic's SDKs those that a caller's key is for.
 */
const unseen = new Set([
  "vector_stores",
  "fine_tuning",
  "evals",
  "videos",
  "assistants",
  "threads",
  "skills",
  "agents",
  "sessions",
  "environments",
  "memory_stores",
  "vaults",
  "deployments",
  "chatkit",
  "live",
  "complete",
]);
/** Chat completions that the provider has stored. */
const storedChat = /^\/v1\/chat\/completions\/./;
/** Of Gemini's own API: whatever isn't a method of a model that Sluice has. */
const ofGoogle = /^\/(?:upload\/)?v1beta\//;

/** Media would go between client and provider directly. */
const besideUs =
  /^\/v1\/realtime\/(?:client_secrets|sessions|transcription_sessions|calls)(?:\/|$)/;

/** The message for a path that is left out; null: the path isn't known at all. */
export function leftOut(path: string): string | null {
  if (besideUs.test(path))
    return `${path} is not offered: the session would not pass through Sluice, so nothing could be counted: open a WebSocket at /v1/realtime instead`;
  if (ofGoogle.test(path))
    return `${path} is not offered: of Gemini's own API Sluice has the methods of models. Where passthrough is open it is at /p/{provider}${path}, with the name of a provider`;
  const resource = path.startsWith("/v1/") ? path.split("/", 3)[2]! : "";
  if (!unseen.has(resource) && !storedChat.test(path)) return null;
  return `${path} is not offered: what a provider does there can't be counted. Where passthrough is open it is at /p/{provider}${path}, with the name of a provider`;
}
