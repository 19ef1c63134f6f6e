/**
 * The token counts and the cost that an upstream reports. They come from outside and are charged to
 * limits and budgets, so each is checked: nonsense is named, logged by the caller, and not charged.
 *
 * Providers split their tokens differently. `docs/usage.md` has the table of their fields; the
 * result here has one meaning for all of them.
 *
 * Not here: guessing when there is no usage, and prices.
 */
import { isAbsent, isCount, isObject } from "../../shared/assert.js";
import { tokensPerResponseMax } from "../../shared/bounds.js";
import { show } from "../../shared/checked.js";
import { isPicoUsd, type PicoUsd, picoFromUsd } from "../../shared/domain/money.js";

/**
 * What one response used. `inputTokens + outputTokens` is always `totalTokens`, which token limits
 * charge.
 */
export interface Usage {
  /** All input, with what was read from a cache and written to one. */
  readonly inputTokens: number;
  /** All output, reasoning included. */
  readonly outputTokens: number;
  readonly totalTokens: number;
  /** Of the input: read from a cache. */
  readonly cachedInputTokens: number;
  /** Of the input: written to a cache. */
  readonly cacheWriteInputTokens: number;
  /** What the provider says that the response cost, or null. */
  readonly reportedCost: PicoUsd | null;
}

export type UsageReading =
  | ({
      readonly kind: "usage" /** What was put right or left out, for the log. */;
      readonly note: string | null;
    } & Usage)
  | { readonly kind: "absent" }
  | { readonly kind: "invalid"; readonly reason: string };

type Fields = Readonly<Record<string, unknown>>;

/** The one reading of "there is none", so that streams don't make a new one for each chunk. */
export const absentUsage: UsageReading = { kind: "absent" };

/**
 * Reads a usage object. Counts that are sane stand; a missing or nonsensical one is what the total
 * leaves for it. A total above the parts means output that isn't in them (reasoning, at xAI and
 * Gemini); one below them isn't believed. A detail that is nonsense counts as 0, one that is larger
 * than the input is cut to it; the note says so.
 */
export function readUsage(usage: unknown): UsageReading {
  if (usage === undefined || usage === null) return absentUsage;
  if (!isObject(usage)) return invalid("usage", usage);
  const fromTop = isAbsent(usage["prompt_tokens"]) && !isAbsent(usage["input_tokens"]);
  const rawInput = fromTop
    ? usage["input_tokens"]
    : (usage["prompt_tokens"] ?? usage["promptTokenCount"]);
  const rawOutput =
    usage["completion_tokens"] ?? usage["output_tokens"] ?? usage["candidatesTokenCount"];
  const rawTotal = usage["total_tokens"] ?? usage["totalTokenCount"];
  if (isAbsent(rawInput) && isAbsent(rawOutput) && isAbsent(rawTotal)) return absentUsage;
  const notes: string[] = [];
  const details = readDetails(usage, notes);
  // Anthropic counts what its cache read and wrote beside the input, everybody else within it.
  const onTop = fromTop && details.besideInput ? details.cached + details.written : 0;
  const counts = readCounts(rawInput, rawOutput, rawTotal, onTop);
  if (typeof counts === "string") return { kind: "invalid", reason: counts };
  const { inputTokens, outputTokens } = counts;
  const cachedInputTokens = Math.min(details.cached, inputTokens);
  const cacheWriteInputTokens = Math.min(details.written, inputTokens - cachedInputTokens);
  if (cachedInputTokens < details.cached || cacheWriteInputTokens < details.written) {
    notes.push(
      `cached tokens cut to the ${inputTokens} of the input: ${details.cached} read, ${details.written} written`,
    );
  }
  return {
    kind: "usage",
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    cachedInputTokens,
    cacheWriteInputTokens,
    reportedCost: readCost(usage, notes),
    note: notes.length === 0 ? null : notes.join("; "),
  };
}

/** Input and output, or what is wrong with them. */
function readCounts(
  rawInput: unknown,
  rawOutput: unknown,
  rawTotal: unknown,
  onTop: number,
): { readonly inputTokens: number; readonly outputTokens: number } | string {
  const input = isSane(rawInput) ? rawInput + onTop : null;
  const output = isSane(rawOutput) ? rawOutput : null;
  const total = isSane(rawTotal) && rawTotal > 0 ? rawTotal : null;
  if (total === null) {
    if (input === null && output === null && isSane(rawTotal))
      return { inputTokens: 0, outputTokens: 0 };
    if (input === null && !isAbsent(rawInput)) return sentence("prompt_tokens", rawInput);
    if (output === null && !isAbsent(rawOutput)) return sentence("completion_tokens", rawOutput);
    if (input === null && output === null) return sentence("total_tokens", rawTotal);
  }
  // What only the total knows is input where nothing else is said, as in embeddings.
  const inputTokens = input ?? Math.max((total ?? 0) - (output ?? 0), 0);
  const outputTokens = Math.max(output ?? 0, (total ?? 0) - inputTokens);
  const sum = inputTokens + outputTokens;
  return isSane(sum)
    ? { inputTokens, outputTokens }
    : sentence("the sum of prompt_tokens and completion_tokens", sum);
}

interface Details {
  readonly cached: number;
  readonly written: number;
  /** Told in Anthropic's fields. */
  readonly besideInput: boolean;
}

function readDetails(usage: Fields, notes: string[]): Details {
  const inner = usage["prompt_tokens_details"] ?? usage["input_tokens_details"];
  const details: Fields = isObject(inner) ? inner : {};
  const read = usage["cache_read_input_tokens"];
  const wrote = usage["cache_creation_input_tokens"];
  return {
    cached: detail(
      "cached tokens",
      details["cached_tokens"] ??
        read ??
        usage["prompt_cache_hit_tokens"] ??
        usage["cached_tokens"] ??
        usage["cachedContentTokenCount"],
      notes,
    ),
    written: detail(
      "cache-write tokens",
      details["cache_write_tokens"] ?? details["cache_creation_tokens"] ?? wrote,
      notes,
    ),
    besideInput: !isObject(inner) && (!isAbsent(read) || !isAbsent(wrote)),
  };
}

function detail(name: string, value: unknown, notes: string[]): number {
  if (isAbsent(value)) return 0;
  if (isSane(value)) return value;
  notes.push(`${sentence(name, value)}: taken as 0`);
  return 0;
}

/** xAI's ticks are 10^-10 USD. */
const picoPerTick = 100;

/**
 * `cost` in US dollars (OpenRouter), `cost.total_cost` (Perplexity) or `cost_in_usd_ticks` (xAI).
 */
function readCost(usage: Fields, notes: string[]): PicoUsd | null {
  const ticks = usage["cost_in_usd_ticks"];
  const raw = usage["cost"];
  const told = isObject(raw) ? raw["total_cost"] : raw;
  if (isAbsent(ticks) && isAbsent(told)) return null;
  const cost = isAbsent(ticks)
    ? dollars(told, usage)
    : isCount(ticks) && isPicoUsd(ticks * picoPerTick)
      ? ticks * picoPerTick
      : null;
  if (cost === null) notes.push(`the reported cost is ignored: ${show(ticks ?? told)}`);
  return cost;
}

/**
 * With a key of the caller's own, OpenRouter's `cost` is its fee alone, and what the upstream took
 * is told beside it.
 */
function dollars(told: unknown, usage: Fields): PicoUsd | null {
  const inner = usage["cost_details"];
  const upstream =
    usage["is_byok"] === true && isObject(inner) ? inner["upstream_inference_cost"] : null;
  const fee = picoFromUsd(told);
  const beside = isAbsent(upstream) ? 0 : picoFromUsd(upstream);
  return fee !== null && beside !== null && isPicoUsd(fee + beside) ? fee + beside : null;
}

function isSane(value: unknown): value is number {
  return isCount(value) && value <= tokensPerResponseMax;
}

function sentence(name: string, value: unknown): string {
  return `${name} must be an integer from 0 to ${tokensPerResponseMax}, not ${show(value)}`;
}

function invalid(name: string, value: unknown): UsageReading {
  return { kind: "invalid", reason: sentence(name, value) };
}
