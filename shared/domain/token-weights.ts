/**
 * How many tokens a token counts as, by its kind (docs/limit-people.md, "Which tokens count"). The
 * kinds are disjoint: `input` is neither read from a cache nor written to one, and `output` isn't
 * reasoning. Not here: which caps they apply to (`rule.ts`).
 */
import { bad, type Checked, good, isAbsent, isObject, show } from "../checked.js";

export const tokenKinds = ["input", "cached", "cache_write", "output", "reasoning"] as const;
type TokenKind = (typeof tokenKinds)[number];

/** Absent kinds: a kind of input counts as `input`, reasoning as `output`, all others as 1. */
export type TokenWeights = Readonly<Partial<Record<TokenKind, number>>>;

export const tokenWeightMax = 100;
/** Weights are rounded to thousandths, so that sums are exact. */
const parts = 1000;

/** The tokens of one response. */
export interface TokensByKind {
  readonly inputTokens: number;
  /** Part of the input. */
  readonly cachedInputTokens: number;
  /** Part of the input. */
  readonly cacheWriteInputTokens: number;
  readonly outputTokens: number;
  /** Part of the output. */
  readonly reasoningTokens: number;
}

/** Checks weights; undefined if they are absent. */
export function parseTokenWeights(raw: unknown, param: string): Checked<TokenWeights | undefined> {
  if (isAbsent(raw)) return good(undefined);
  if (!isObject(raw) || Object.keys(raw).length === 0)
    return bad(
      `${param} must be a mapping of ${tokenKinds.join(", ")} to weights, such as {cached: 0.1}, not ${show(raw)}`,
      param,
    );
  const weights: Partial<Record<TokenKind, number>> = {};
  for (const [name, value] of Object.entries(raw)) {
    const kind = tokenKinds.find((candidate) => candidate === name);
    if (kind === undefined)
      return bad(
        `unknown field ${param}.${name}: expected ${tokenKinds.join(", ")}`,
        `${param}.${name}`,
      );
    if (!isWeight(value))
      return bad(
        `${param}.${name} must be a number from 0 to ${tokenWeightMax}, not ${show(value)}`,
        `${param}.${name}`,
      );
    weights[kind] = partsOf(value) / parts;
  }
  return good(canonicalWeights(weights));
}

/** The same text for the same weights. */
function canonicalWeights(weights: TokenWeights): TokenWeights {
  return Object.fromEntries(
    tokenKinds.flatMap((kind) => (weights[kind] === undefined ? [] : [[kind, weights[kind]]])),
  );
}

function isWeight(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= tokenWeightMax;
}

/**
 * Parses weights from a text: `cached=0.1, cache_write=1.25`. Returns any other value unchanged,
 * for `parseTokenWeights`.
 */
export function weightsOfText(raw: unknown): unknown {
  if (typeof raw !== "string") return raw;
  const pairs: [string, number][] = [];
  for (const piece of raw.split(",")) {
    const [, name, value] = /^\s*([a-z_]+)\s*[=:]\s*(\d{1,9}(?:\.\d{1,9})?)\s*$/.exec(piece) ?? [];
    if (name === undefined || value === undefined) return raw;
    pairs.push([name, Number(value)]);
  }
  return Object.fromEntries(pairs);
}

/** `cached=0.1, cache_write=1.25`. */
export function textOfWeights(weights: TokenWeights): string {
  return Object.entries(weights)
    .map(([kind, weight]) => `${kind}=${weight}`)
    .join(", ");
}

/** The weighted tokens of a response, or of its input or output; rounded up to a whole token. */
export function weighTokens(
  weights: TokenWeights,
  part: "all" | "input" | "output",
  tokens: TokensByKind,
): number {
  const { input = 1, cached = input, cache_write: cacheWrite = input } = weights;
  const { output = 1, reasoning = output } = weights;
  const { cachedInputTokens, cacheWriteInputTokens, inputTokens, outputTokens } = tokens;
  const uncached = Math.max(0, inputTokens - cachedInputTokens - cacheWriteInputTokens);
  const reasoned = Math.min(tokens.reasoningTokens, outputTokens);
  let sum = 0;
  if (part !== "output")
    sum +=
      uncached * partsOf(input) +
      cachedInputTokens * partsOf(cached) +
      cacheWriteInputTokens * partsOf(cacheWrite);
  if (part !== "input")
    sum += (outputTokens - reasoned) * partsOf(output) + reasoned * partsOf(reasoning);
  return Math.ceil(sum / parts);
}

function partsOf(weight: number): number {
  return Math.round(weight * parts);
}
