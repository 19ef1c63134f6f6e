/**
 * The usage that a response is charged: the reported one, or an estimate where none was reported or
 * it was invalid, as after a cut stream (docs/reference/usage-record.md). Estimates go by
 * characters: Sluice has no tokenizer.
 *
 * Not here: reported counts (`read-usage.ts`).
 */

import { tokensPerResponseMax } from "../../shared/bounds.js";
import type { Operation } from "../../shared/operation.js";
import type { Usage, UsageReading } from "./read-usage.js";

export interface MeteredUsage {
  /** Null if no model worked at it, or what it did isn't known. */
  readonly usage: Usage | null;
  readonly estimated: boolean;
  /** The upper bound; null or absent if `usage` is exact. */
  readonly atMost?: Usage | null;
  /** For the log: what was corrected, ignored or refused. */
  readonly note: string | null;
}

/** The input of an estimate. */
interface Seen {
  /** Null if it isn't known, so nothing is estimated. */
  readonly operation: Operation | null;
  /** Called only for an estimate. */
  readonly promptBytes: () => number;
  readonly contentChars: number;
}

const withoutModel: ReadonlySet<Operation> = new Set<Operation>([
  "files",
  "batches",
  "uploads",
  "containers",
  "conversations",
  "message_files",
  "message_batches",
]);
/** Their answers are vectors, scores, pictures or sound, whose length doesn't tell the tokens. */
const withoutText: ReadonlySet<Operation> = new Set<Operation>([
  "embeddings",
  "embed_content",
  "batch_embed_contents",
  "moderations",
  "rerank",
  "images",
  "image_edits",
  "image_variations",
  "speech",
]);
/** For a response without a charge. */
export const unmetered: MeteredUsage = { usage: null, estimated: false, note: null };

/** Whether an operation is about stored objects: no model runs, and bodies may contain anything. */
export function isWithoutModel(operation: Operation): boolean {
  return withoutModel.has(operation);
}

/**
 * The reported usage; an estimate when there is none, and instead of an invalid one: a provider's
 * mistake must not lift the caller's limits.
 */
export function countUsage(reading: UsageReading, seen: Seen): MeteredUsage {
  if (seen.operation !== null && isWithoutModel(seen.operation)) return unmetered;
  if (reading.kind === "usage") return { usage: reading, estimated: false, note: reading.note };
  const usage = estimate(seen);
  return {
    usage,
    estimated: usage !== null,
    note: reading.kind === "absent" ? null : `usage not charged: ${reading.reason}`,
  };
}

function estimate({ operation, promptBytes, contentChars }: Seen): Usage | null {
  return operation === null
    ? null
    : estimateTokens({
        promptBytes: promptBytes(),
        contentChars: withoutText.has(operation) ? 0 : contentChars,
      });
}

/**
 * The usage of a stream that was cut. It may have reported no more than its beginning: Anthropic
 * counts the input at the start and the output at the end. What came after that is estimated.
 */
export function whenCut(reading: UsageReading, contentCharsSince: number): UsageReading {
  if (reading.kind !== "usage" || contentCharsSince === 0) return reading;
  return Object.assign(
    { kind: reading.kind, note: reading.note },
    withMoreOutput(reading, contentCharsSince),
  );
}

/**
 * The same for a translated stream: how much of its text came after the usage isn't known, so the
 * output is the larger of what was reported and what was seen.
 */
export function whenTranslationCut(reading: UsageReading, contentChars: number): UsageReading {
  return reading.kind === "usage"
    ? whenCut(reading, Math.max(0, contentChars - charsOf(reading.outputTokens)))
    : reading;
}

/** Two notes for the log as one. */
export function joinedNotes(first: string | null, second: string | null): string | null {
  return first === null || second === null ? (first ?? second) : `${first}; ${second}`;
}

/**
 * The rule of thumb for English; other languages and code use more tokens per character, JSON's
 * punctuation less.
 */
const charsPerToken = 4;

/**
 * The bytes of the request's body as input and the characters of the answer that were seen as
 * output, at four to a token, their sum rounded up. JSON syntax in the body is included. The result
 * is at most what one response may report.
 */
export function estimateTokens({
  promptBytes,
  contentChars,
}: {
  readonly promptBytes: number;
  readonly contentChars: number;
}): Usage {
  const totalTokens = Math.min(
    Math.ceil((promptBytes + contentChars) / charsPerToken),
    tokensPerResponseMax,
  );
  const inputTokens = Math.min(Math.ceil(promptBytes / charsPerToken), totalTokens);
  return {
    inputTokens,
    outputTokens: totalTokens - inputTokens,
    totalTokens,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    reportedCost: null,
    details: null,
  };
}

/** A usage, with an estimate of the text that came after it was reported. */
function withMoreOutput(usage: Usage, contentChars: number): Usage {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteInputTokens } = usage;
  const totalTokens = Math.min(
    inputTokens + outputTokens + Math.ceil(contentChars / charsPerToken),
    tokensPerResponseMax,
  );
  return {
    inputTokens,
    outputTokens: totalTokens - inputTokens,
    totalTokens,
    cachedInputTokens,
    cacheWriteInputTokens,
    reportedCost: usage.reportedCost,
    details: usage.details,
  };
}

/** How much text so many tokens would be. */
export function charsOf(tokens: number): number {
  return tokens * charsPerToken;
}

/** The tokens of what rewriters took out of a prompt, rounded down, so as not to exaggerate. */
export function estimateSavedTokens(bytes: number): number {
  return Math.min(Math.floor(bytes / charsPerToken), tokensPerResponseMax);
}
