/**
 * The usage that a response is charged: the reported usage, or an estimate if the provider reported
 * none or an invalid one, as after a cut stream (docs/reference/usage-record.md). Estimates count
 * characters, because Sluice has no tokenizer.
 *
 * Not here: reported counts (`read-usage.ts`).
 */
import { tokensPerResponseMax } from "../../shared/bounds.js";
import { isCount, isObject, parseJson } from "../../shared/checked.js";
import type { Operation } from "../../shared/operation.js";
import {
  callsPerResponseMax,
  countsIn,
  detailsOf,
  measurePerResponseMax,
  type UsageDetails,
} from "../../shared/usage/usage-details.js";
import { SentBody } from "../upstream/sent-body.js";
import type { RequestBody } from "../upstream/upstream.js";
import type { UsageReading } from "./read-usage.js";
import type { Usage } from "./usage.js";

export interface MeteredUsage {
  /** Null if no model ran, or if the operation is unknown. */
  readonly usage: Usage | null;
  readonly estimated: boolean;
  /** The upper bound; null or absent if `usage` is exact. */
  readonly atMost?: Usage | null;
  /** For the log: what was corrected, ignored or refused. */
  readonly note: string | null;
}

/** The input of an estimate. */
interface EstimateInput {
  /** Null if it is unknown; then nothing is estimated. */
  readonly operation: Operation | null;
  /** Called only for an estimate. */
  readonly promptBytes: () => number;
  readonly contentChars: number;
  /** The request as it was sent, if it is known. */
  readonly request?: { readonly body: RequestBody };
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
/** Their answers are vectors or scores. */
export const withoutOutput: ReadonlySet<Operation> = new Set<Operation>([
  "embeddings",
  "embed_content",
  "batch_embed_contents",
  "moderations",
  "rerank",
]);
export const pictures: ReadonlySet<Operation> = new Set<Operation>([
  "images",
  "image_edits",
  "image_variations",
]);
/** The length of their answers doesn't reveal the tokens. */
const withoutText: ReadonlySet<Operation> = new Set<Operation>([
  ...withoutOutput,
  ...pictures,
  "speech",
]);
const withText: ReadonlySet<Operation> = new Set<Operation>([
  "chat_completions",
  "responses",
  "compact",
  "messages",
  "completions",
  "generate_content",
  "stream_generate_content",
  "interactions",
]);
/** For a response that isn't charged. */
export const unmetered: MeteredUsage = { usage: null, estimated: false, note: null };

/** Whether an operation is about stored objects: no model runs, and bodies may contain anything. */
export function isWithoutModel(operation: Operation): boolean {
  return withoutModel.has(operation);
}

/**
 * The reported usage, or an estimate if it is missing or invalid: a mistake of the provider must
 * not lift the caller's limits.
 */
export function countUsage(reading: UsageReading, input: EstimateInput): MeteredUsage {
  const { operation } = input;
  if (operation !== null && isWithoutModel(operation)) return unmetered;
  const body = input.request?.body;
  if (reading.kind === "usage")
    return {
      usage: withRequestedUnits(reading, operation, body),
      estimated: false,
      note: reading.note,
    };
  const usage = estimate(input);
  return {
    usage: usage === null ? null : withRequestedUnits(usage, operation, body),
    estimated: usage !== null,
    note: reading.kind === "absent" ? null : `usage not charged: ${reading.reason}`,
  };
}

/**
 * The usage with units that only the request states: the characters to speak, and the pictures with
 * their quality and size. Tokens of a picture without details all count as tokens of the picture.
 */
function withRequestedUnits(
  usage: Usage,
  operation: Operation | null,
  body: RequestBody | undefined,
): Usage {
  if (operation === "speech") {
    const characters = Array.from(textOrEmpty(requestFields(body)["input"])).length;
    return withCounts(usage, {
      characters: Math.min(characters, measurePerResponseMax),
      // The answer contains nothing but sound.
      audioOutputTokens: usage.outputTokens,
    });
  }
  if (operation === null || !pictures.has(operation)) return usage;
  const { n, quality, size } = requestFields(body);
  const images = isCount(n, 1) && n <= callsPerResponseMax ? n : 1;
  const kind = [quality, size].map(textOrEmpty).filter((text) => text !== "" && text !== "auto");
  const isDetailed = (usage.details?.counts.imageOutputTokens ?? 0) > 0;
  const imageOutputTokens = isDetailed ? {} : { imageOutputTokens: usage.outputTokens };
  return {
    ...withCounts(usage, { images, ...imageOutputTokens }),
    imageKind: kind.join("/").slice(0, 64),
  };
}

function withCounts(usage: Usage, more: Partial<UsageDetails["counts"]>): Usage {
  const { details } = usage;
  const { serviceTier = null, region = null, counts = {} } = details ?? {};
  return { ...usage, details: detailsOf(serviceTier, { ...counts, ...more }, region) };
}

function textOrEmpty(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function requestFields(body: RequestBody | undefined): Readonly<Record<string, unknown>> {
  const json = body instanceof SentBody ? body.fields : body;
  const fields = Buffer.isBuffer(json) ? parseJson(json.toString("utf8")) : null;
  return isObject(fields) ? fields : {};
}

/**
 * Whether a usage reports nothing for an answer of a model that writes text. The model has read and
 * written some tokens, so the usage is charged as reported, with an upper bound.
 */
export function countsNothing(usage: Usage | null, operation: Operation | null): boolean {
  if (usage === null || usage.totalTokens > 0 || usage.reportedCost !== null) return false;
  return operation !== null && withText.has(operation) && countsIn(usage.details) === null;
}

/** Whether a usage reports no output although text of the answer was seen. */
export function leavesOutText(
  reading: UsageReading,
  contentChars: number,
  operation: Operation | null,
): reading is UsageReading & { readonly kind: "usage" } {
  if (reading.kind !== "usage" || reading.outputTokens > 0 || contentChars === 0) return false;
  return operation !== null && withText.has(operation);
}

/** Whether a usage reports an answer but no input, although a model reads at least one token. */
export function leavesOutInput(usage: Usage, operation: Operation | null): boolean {
  const { inputTokens, outputTokens, reportedCost, parts } = usage;
  const isOnlyOutput = inputTokens === 0 && outputTokens > 0;
  if (!isOnlyOutput || reportedCost !== null || parts !== undefined) return false;
  return operation !== null && withText.has(operation);
}

function estimate({ operation, promptBytes, contentChars }: EstimateInput): Usage | null {
  return operation === null
    ? null
    : estimateTokens({
        promptBytes: promptBytes(),
        contentChars: withoutText.has(operation) ? 0 : contentChars,
      });
}

/**
 * The usage of a cut stream. The provider may have reported only the first part of it: Anthropic
 * counts the input at the start and the output at the end. The text after the last report is
 * estimated.
 */
export function usageOfCutStream(reading: UsageReading, contentCharsSince: number): UsageReading {
  if (reading.kind !== "usage" || contentCharsSince === 0) return reading;
  return Object.assign(
    { kind: reading.kind, note: reading.note },
    withMoreOutput(reading, contentCharsSince),
  );
}

/**
 * As `usageOfCutStream`, for a translated stream. How much of the text came after the report is
 * unknown, so the output is the larger of the reported and the seen output.
 */
export function usageOfCutTranslation(reading: UsageReading, contentChars: number): UsageReading {
  return reading.kind === "usage"
    ? usageOfCutStream(reading, Math.max(0, contentChars - charsOf(reading.outputTokens)))
    : reading;
}

/** A total for input and output of an answer with text, split by an estimate of the text. */
export function splitTotal(usage: Usage, contentChars: number): Usage {
  const { totalTokens } = usage;
  // A model reads at least one token.
  const outputTokens = Math.min(Math.ceil(contentChars / charsPerToken), totalTokens - 1);
  return { ...usage, inputTokens: totalTokens - outputTokens, outputTokens };
}

/** Two notes for the log as one. */
export function joinedNotes(first: string | null, second: string | null): string | null {
  return first === null || second === null ? (first ?? second) : `${first}; ${second}`;
}

/**
 * The rule of thumb for English. Other languages and code use more tokens per character, and JSON's
 * punctuation uses fewer.
 */
export const charsPerToken = 4;

/**
 * Estimates the input from the bytes of the request's body, including its JSON syntax, and the
 * output from the characters of the answer that were seen, at four to a token. Their sum is rounded
 * up. The result is at most what one response may report.
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

/** The usage plus an estimate of the text that came after the report. */
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

/** How many characters correspond to this many tokens. */
export function charsOf(tokens: number): number {
  return tokens * charsPerToken;
}

/**
 * The tokens that rewriters removed from a prompt, rounded down so that the saving isn't
 * overstated.
 */
export function estimateSavedTokens(bytes: number): number {
  return Math.min(Math.floor(bytes / charsPerToken), tokensPerResponseMax);
}
