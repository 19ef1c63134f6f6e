/**
 * What a response is charged with: the usage that it told, or a guess where it told none, or
 * nonsense.
 */
import type { Operation } from "../../shared/operation.js";
import { charsOf, estimateTokens, withMoreOutput } from "./estimate-tokens.js";
import type { Usage, UsageReading } from "./read-usage.js";

export interface MeteredUsage {
  /** Null: no model worked at it, or nobody knows what it did. */
  readonly usage: Usage | null;
  readonly estimated: boolean;
  /** For the log: what was put right, left out or refused. */
  readonly note: string | null;
}

/** What was asked, and how much text came of it. */
interface Seen {
  /** Null: nobody knows, so nothing is guessed. */
  readonly operation: Operation | null;
  /** Asked only for an estimate. */
  readonly promptBytes: () => number;
  readonly contentChars: number;
}

const withoutModel: ReadonlySet<Operation> = new Set<Operation>(["files", "batches"]);
/**
 * Their answers are vectors, pictures and sound: what is written of them is no output that a model
 * is paid for by its length.
 */
const wordless: ReadonlySet<Operation> = new Set<Operation>(["embeddings", "images", "speech"]);
/** What nothing is charged for. */
export const unmetered: MeteredUsage = { usage: null, estimated: false, note: null };

/** What a provider keeps for its callers; it may hold anything, and passes as it is. */
export function isWithoutModel(operation: Operation): boolean {
  return withoutModel.has(operation);
}

/**
 * Usage as told; a guess when none was, and instead of nonsense: a provider's mistake must not lift
 * the caller's limits.
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
        contentChars: wordless.has(operation) ? 0 : contentChars,
      });
}

/**
 * What a stream that was cut has told, which may be no more than how it began: Anthropic counts the
 * input at the start and the output at the end. What came after it is guessed.
 */
export function whenCut(reading: UsageReading, contentCharsSince: number): UsageReading {
  if (reading.kind !== "usage" || contentCharsSince === 0) return reading;
  return Object.assign(
    { kind: reading.kind, note: reading.note },
    withMoreOutput(reading, contentCharsSince),
  );
}

/**
 * The same of a stream that was translated: how much of its text came after the usage isn't known,
 * so the output is the larger of what was told and what was seen.
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
