/**
 * Estimates the tokens of a response whose usage was never reported, because the client or the
 * upstream cut the stream (docs/reference/usage-record.md); the record is marked as an estimate.
 * And the tokens that rewriters took out of a prompt, which no provider counts.
 *
 * Not here: reported counts (`read-usage.ts`); there is no tokenizer in Sluice.
 */
import { tokensPerResponseMax } from "../../shared/bounds.js";
import type { Usage } from "./read-usage.js";

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
export function withMoreOutput(usage: Usage, contentChars: number): Usage {
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
