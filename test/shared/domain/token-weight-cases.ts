/**
 * Worked cases of weights, some of them on the page "Cap each tenant, user or key". The first ones
 * are how providers count themselves: Anthropic's limit of input tokens leaves out what is read
 * from a cache (docs.anthropic.com, "Rate limits", "Cache-aware ITPM"); Amazon Bedrock takes five
 * tokens of the quota for each output token of newer Claude models, and none for what is read from
 * a cache (docs.aws.amazon.com, "Understanding token burndown rates").
 */
import type { TokensByKind, TokenWeights } from "../../../shared/domain/token-weights.js";

interface WeightCase {
  readonly name: string;
  readonly weights: TokenWeights;
  readonly tokens: TokensByKind;
  /** All tokens, those of the input, those of the output. */
  readonly counts: readonly [number, number, number];
}

const turn: TokensByKind = {
  inputTokens: 12_000,
  cachedInputTokens: 10_000,
  cacheWriteInputTokens: 1_500,
  outputTokens: 800,
  reasoningTokens: 300,
};

export const weightCases: readonly WeightCase[] = [
  { name: "without weights", weights: {}, tokens: turn, counts: [12_800, 12_000, 800] },
  {
    name: "as Anthropic counts",
    weights: { cached: 0 },
    tokens: turn,
    counts: [2_800, 2_000, 800],
  },
  {
    name: "as Bedrock counts",
    weights: { cached: 0, output: 5 },
    tokens: turn,
    counts: [6_000, 2_000, 4_000],
  },
  {
    name: "by price of input",
    weights: { cached: 0.1, cache_write: 1.25 },
    tokens: turn,
    counts: [4_175, 3_375, 800],
  },
  {
    name: "reasoning free",
    weights: { reasoning: 0 },
    tokens: turn,
    counts: [12_500, 12_000, 500],
  },
  {
    name: "input weighs on its kinds",
    weights: { input: 0.5, cached: 0.1 },
    tokens: turn,
    counts: [2_800, 2_000, 800],
  },
  {
    name: "rounded up once",
    weights: { cached: 0.1 },
    tokens: {
      inputTokens: 1,
      cachedInputTokens: 1,
      cacheWriteInputTokens: 0,
      outputTokens: 0,
      reasoningTokens: 0,
    },
    counts: [1, 1, 0],
  },
];
