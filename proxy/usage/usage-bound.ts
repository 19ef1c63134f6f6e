/**
 * The most that a request can use at its provider, for a response whose usage never came: a token
 * of input for each byte of its body, and the most output that it requests or that its model gives.
 * The bound excludes what a provider adds to a prompt, such as a stored conversation or the results
 * of a search.
 */
import { outputTokensAssumed, tokensPerResponseMax } from "../../shared/bounds.js";
import { isCount, isObject, parseJson } from "../../shared/checked.js";
import { greatest } from "../../shared/long-lists.js";
import type { Operation } from "../../shared/operation.js";
import type { RequestBody } from "../upstream/upstream.js";
import type { Usage } from "./usage.js";

/** These operations generate no text. */
const withoutOutput: ReadonlySet<Operation> = new Set<Operation>([
  "embeddings",
  "embed_content",
  "batch_embed_contents",
  "moderations",
  "rerank",
]);

const caps = ["max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"];
const choices = ["n", "best_of", "candidateCount"];

/** A request as it was sent. */
export interface SentRequest {
  /** Null if it is unknown. */
  readonly operation: Operation | null;
  readonly body: RequestBody;
  /** For a body that wasn't held. */
  readonly promptBytes: number;
  /** The most output that the model gives in one response; null if it is unknown. */
  readonly modelOutputMax: number | null;
  /** Whether the model is known to reason if the request doesn't ask for it. */
  readonly reasonsUnasked: boolean;
}

interface Sending {
  readonly operation: Operation | null;
  readonly request: { readonly body: RequestBody };
  readonly promptBytes: () => number;
  readonly modelOutputMax?: () => number | null;
  readonly reasonsUnasked?: () => boolean;
}

export function sentRequestOf({
  operation,
  request,
  promptBytes,
  modelOutputMax,
  reasonsUnasked,
}: Sending): SentRequest {
  return {
    operation,
    body: request.body,
    promptBytes: promptBytes(),
    modelOutputMax: modelOutputMax?.() ?? null,
    reasonsUnasked: reasonsUnasked?.() ?? false,
  };
}

/** `charged`: the part of the usage that is known or estimated already. */
export function usageBound(charged: Usage, sent: SentRequest): Usage {
  const inputTokens = Math.max(charged.inputTokens, bytesOf(sent));
  const outputTokens = Math.max(charged.outputTokens, outputMax(sent));
  const input = Math.min(inputTokens, tokensPerResponseMax);
  const output = Math.min(outputTokens, tokensPerResponseMax);
  return {
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    reportedCost: null,
    details: charged.details,
  };
}

/** A token is at least one byte. */
function bytesOf({ body, promptBytes }: SentRequest): number {
  if (body === null) return promptBytes;
  return Math.max(promptBytes, Buffer.isBuffer(body) ? body.length : (body.bytes ?? 0));
}

/** The most output of one response. */
export function outputMax({ operation, body, modelOutputMax }: SentRequest): number {
  if (operation !== null && withoutOutput.has(operation)) return 0;
  const fields = Buffer.isBuffer(body) ? parseJson(body.toString("utf8")) : null;
  const perChoice = largestOf(fields, caps) ?? modelOutputMax ?? outputTokensAssumed;
  return perChoice * Math.max(1, largestOf(fields, choices) ?? 1);
}

/** The largest count among these names, at the top level or in Google's `generationConfig`. */
function largestOf(fields: unknown, names: readonly string[]): number | null {
  if (!isObject(fields)) return null;
  const config = fields["generationConfig"] ?? fields["generation_config"];
  const places = isObject(config) ? [fields, config] : [fields];
  const counts = places.flatMap((place) => names.map((name) => place[name])).filter(isCounted);
  return counts.length === 0 ? null : greatest(counts);
}

function isCounted(value: unknown): value is number {
  return isCount(value, 1);
}
