/**
 * Which requests are cacheable, which parts form their cache keys, which answers are complete, and
 * what a request's `Cache-Control` asks for (RFC 9111 section 5.2.1).
 */
import { cacheableBodyBytesMax } from "../../../shared/bounds.js";
import { isObject } from "../../../shared/checked.js";
import type { Target } from "../../../shared/domain/target-name.js";
import type { Operation } from "../../../shared/operation.js";
import { passedQuery } from "../../upstream/passthrough-path.js";

/** The end of a complete stream. */
const lastEvents: Readonly<Partial<Record<Operation, RegExp>>> = {
  chat_completions: /^data: ?\[DONE\]\s*$/m,
  messages: /"type"\s*:\s*"message_stop"/,
  responses: /"type"\s*:\s*"response\.completed"/,
  // Embeddings aren't streamed.
  embeddings: /(?!)/,
};

/**
 * Chat completions, messages and embeddings, and responses that the provider doesn't store: a
 * stored one has an id that later requests refer to, and extends a conversation. Not images, whose
 * URLs expire, nor audio.
 */
export function isCacheableRequest(call: CacheableCall): boolean {
  const { operation, body } = call;
  if (lastEvents[operation] === undefined) return false;
  if (body === null || body.length > cacheableBodyBytesMax) return false;
  const last = (name: string): string | undefined => call.valuesOf(name).at(-1);
  return (
    operation !== "responses" ||
    (last("store") === "false" && (last("conversation") ?? "null") === "null")
  );
}

/** As in `ModelCall`. */
interface CacheableCall {
  readonly operation: Operation;
  readonly body: Buffer | null;
  valuesOf(name: string): readonly string[];
}

interface CacheableRequest {
  readonly operation: Operation;
  /** The caller's; null: user paths share the cache. */
  readonly userPath: string | null;
  /** The targets of the model, in the order of the configuration. */
  readonly targets: readonly Target[];
  readonly rawHeaders: readonly string[];
  /** The client's. */
  readonly query: string;
}

/**
 * The cache key besides the body, as one line of text: the headers that providers treat as part of
 * the request, such as `anthropic-version` and `openai-beta`, and the query as a provider would get
 * it.
 */
export function cacheHead({
  operation,
  userPath,
  targets,
  rawHeaders,
  query,
}: CacheableRequest): string {
  const headers: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    if (name.startsWith("anthropic-") || name.startsWith("openai-"))
      headers.push(name, rawHeaders[i + 1]!);
  }
  return JSON.stringify([
    operation,
    userPath,
    targets.map(({ provider, model }) => [provider, model]),
    headers,
    passedQuery(query, null),
  ]);
}

/** Whether a successful answer is complete: a connection may have closed in the middle of it. */
export function isCompleteAnswer(operation: Operation, contentType: string, body: Buffer): boolean {
  const text = body.toString("latin1");
  if (contentType.toLowerCase().startsWith("text/event-stream"))
    return lastEvents[operation]?.test(text) ?? false;
  try {
    const answer: unknown = JSON.parse(text);
    return isObject(answer) && (operation !== "responses" || answer["status"] === "completed");
  } catch {
    // Truncated, or not an answer of this operation.
    return false;
  }
}

/** The directives of a request's `Cache-Control`. */
interface CacheControl {
  /** The largest acceptable age; 0 for a fresh answer. */
  readonly ageMsMax: number;
  /** Whether the answer may be stored. */
  readonly store: boolean;
}

const unrestricted: CacheControl = { ageMsMax: Infinity, store: true };

/**
 * Reads `no-store`, `no-cache` and `max-age`, and ignores other directives. An invalid or repeated
 * `max-age` requests a fresh answer.
 */
export function readCacheControl(header: string | undefined): CacheControl {
  if (header === undefined) return unrestricted;
  let ageMsMax = Infinity;
  let store = true;
  for (const piece of header.split(",")) {
    const [name = "", value = ""] = piece.toLowerCase().split("=", 2).map(trimmed);
    if (name === "no-store") {
      store = false;
      ageMsMax = 0;
    } else if (name === "no-cache") ageMsMax = 0;
    else if (name === "max-age")
      ageMsMax =
        ageMsMax === Infinity && /^"?\d{1,15}"?$/.test(value)
          ? Number(value.replaceAll('"', "")) * 1000
          : 0;
  }
  return { ageMsMax, store };
}

function trimmed(text: string): string {
  return text.trim();
}
