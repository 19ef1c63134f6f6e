/**
 * The path of the endpoint that a client means: people write the base URL of an SDK with `/v1` or
 * without it, and with a slash at its end or without. The paths of administration, health and
 * passthrough are taken as they are written, since what stands in front of Sluice may guard them.
 */

/** What stands behind `/v1` in the APIs of OpenAI, Anthropic and others. */
const resources: ReadonlySet<string> = new Set([
  "assistants",
  "audio",
  "batches",
  "chat",
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
  "threads",
  "uploads",
  "vector_stores",
  "videos",
]);

/** As it is written, if it is no model endpoint's path. */
export function endpointPath(written: string): string {
  if (isUsual(written)) return written;
  let path = written.replace(/\/{2,}/g, "/");
  if (path.endsWith("/")) path = path.slice(0, -1);
  path = path.replace(/^(?:\/v1)+(?=\/v1\/)/, "");
  if (path.startsWith("/v1/")) return path;
  return resources.has(path.split("/", 2)[1] ?? "") ? `/v1${path}` : written;
}

/** Nearly all are: nothing is made anew. */
function isUsual(path: string): boolean {
  return (
    path.startsWith("/v1/") &&
    !path.startsWith("v1/", 4) &&
    !path.endsWith("/") &&
    !path.includes("//")
  );
}
