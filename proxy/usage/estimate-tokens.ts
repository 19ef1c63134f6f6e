/**
 * A guess at the tokens of a response whose usage was never reported: the client or the upstream
 * cut the stream (CONTRACT section 4). The record says that it is an estimate. And one at the
 * tokens that a prompt was spared, which nobody ever counts.
 *
 * Not here: real counts (`read-usage.ts`); there is no tokenizer in Sluice.
 */
import { tokensPerResponseMax } from "../../shared/bounds.js";
import type { Usage } from "./read-usage.js";

/**
 * The rule of thumb for English; other languages and code use more tokens per character, JSON's
 * punctuation less.
 */
const charsPerToken = 4;

/**
 * An estimate, not a count: the bytes of the request's body as input and the characters of the
 * answer that were seen as output, at four to a token, their sum rounded up. A body's JSON syntax
 * counts along. The result stops at what one response may claim.
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
  };
}

/** A usage with an estimate of the text that came after it was told. */
export function withMoreOutput(
  { inputTokens, outputTokens, cachedInputTokens, cacheWriteInputTokens, reportedCost }: Usage,
  contentChars: number,
): Usage {
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
    reportedCost,
  };
}

/** How much text so many tokens would be. */
export function charsOf(tokens: number): number {
  return tokens * charsPerToken;
}

/**
 * The tokens of what rewriters took out of a prompt, rounded down: a saving is not to be made
 * larger than it was.
 */
export function estimateSavedTokens(bytes: number): number {
  return Math.min(Math.floor(bytes / charsPerToken), tokensPerResponseMax);
}
