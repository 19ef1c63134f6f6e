/**
 * The bytes per token of each target, learned from answers with reported usage: an average over the
 * last few thousand tokens. The ratio of outputs counts tokens of a running stream, and of a stream
 * that is cut; the ratio of prompts counts the prompt of a cut stream. If a model reasons without
 * showing it, each byte of its text counts as more tokens.
 */
import { learnedRatiosMax } from "../../shared/bounds.js";
import { charsPerToken } from "../usage/count-usage.js";

const outputRatioMax = 5;
/** A short prompt is mostly JSON. */
const promptRatioMax = 16;
/** A token is at least one byte. */
const ratioMin = 1;
/** The weight of the default ratio in a target's average: that of an answer of 64 tokens. */
const usualTokens = 64;
/** The most tokens in a target's average. One answer adds at most a quarter of them. */
const tokensMax = 4096;
const answerTokensMax = tokensMax / 4;

/** Bytes of text, and their tokens. */
interface Observed {
  readonly bytes: number;
  readonly tokens: number;
}

const usual: Observed = { bytes: charsPerToken * usualTokens, tokens: usualTokens };

export class TokenRatios {
  readonly #learned = new Map<string, Observed>();
  readonly #ratioMax: number;

  constructor(of: "outputs" | "prompts") {
    this.#ratioMax = of === "outputs" ? outputRatioMax : promptRatioMax;
  }

  /** Bytes per token. */
  of(target: string): number {
    const { bytes, tokens } = this.#learned.get(target) ?? usual;
    return bytes / tokens;
  }

  learn(target: string, textBytes: number, tokens: number): void {
    if (tokens === 0) return;
    if (!this.#learned.has(target) && this.#learned.size >= learnedRatiosMax) return;
    const learned = this.#learned.get(target) ?? usual;
    const ratio = Math.min(this.#ratioMax, Math.max(ratioMin, textBytes / tokens));
    const added = Math.min(tokens, answerTokensMax);
    const keptPart = Math.min(1, (tokensMax - added) / learned.tokens);
    this.#learned.set(target, {
      bytes: keptPart * learned.bytes + ratio * added,
      tokens: keptPart * learned.tokens + added,
    });
  }
}
