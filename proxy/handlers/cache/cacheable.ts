/**
 * Which requests the response cache looks for, what they are told apart by, and which answers are
 * whole enough to be given again.
 */
import { isObject } from "../../../shared/assert.js";
import { cacheableBodyBytesMax } from "../../../shared/bounds.js";
import type { Operation } from "../../../shared/operation.js";
import type { Target } from "../../../shared/wire/message.js";
import { passedQuery } from "../../upstream/passthrough-path.js";

/** The end of a stream that wasn't cut. */
const lastEvents: Readonly<Partial<Record<Operation, RegExp>>> = {
  chat_completions: /^data: ?\[DONE\]\s*$/m,
  messages: /"type"\s*:\s*"message_stop"/,
  responses: /"type"\s*:\s*"response\.completed"/,
  // It has no streams.
  embeddings: /(?!)/,
};

/**
 * Chat completions, messages and embeddings, and responses that the provider doesn't keep: an
 * answer that it keeps has an id to come back to, and makes a conversation longer. Not pictures,
 * whose addresses expire, nor sound.
 */
export function isCacheableRequest(operation: Operation, body: Buffer): boolean {
  if (lastEvents[operation] === undefined || body.length > cacheableBodyBytesMax) return false;
  if (operation !== "responses") return true;
  // Latin-1, as the body was read before: see `model-body.ts`.
  const fields = JSON.parse(body.toString("latin1")) as Readonly<Record<string, unknown>>;
  return fields["store"] === false && (fields["conversation"] ?? null) === null;
}

export interface Asked {
  readonly operation: Operation;
  /** The caller's, or null where it doesn't tell requests apart. */
  readonly userPath: string | null;
  /** What the model resolves to, in the order of the configuration. */
  readonly targets: readonly Target[];
  readonly rawHeaders: readonly string[];
  /** The client's. */
  readonly query: string;
}

/**
 * What tells a request apart, besides its body: one line of text. Of the headers those that
 * providers take for a part of the request, such as `anthropic-version` and `openai-beta`. Of the
 * query, what would go to a provider.
 */
export function cacheHead({ operation, userPath, targets, rawHeaders, query }: Asked): string {
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

/**
 * Whether a successful answer is all there: one whose connection simply closed may look as if it
 * were.
 */
export function isWholeAnswer(operation: Operation, contentType: string, body: Buffer): boolean {
  const text = body.toString("latin1");
  if (contentType.toLowerCase().startsWith("text/event-stream"))
    return lastEvents[operation]?.test(text) ?? false;
  try {
    const answer: unknown = JSON.parse(text);
    return isObject(answer) && (operation !== "responses" || answer["status"] === "completed");
  } catch {
    // Cut, or something else than the operation answers.
    return false;
  }
}
