/**
 * How many bytes of text a token of each target has, learned from the answers whose usage was
 * reported: the mean of the last few thousand tokens. That of outputs counts tokens while they
 * flow, and those of a stream that is cut; that of prompts counts the prompt of such a stream. What
 * a model reasons without showing it makes its text count more.
 */
import { learnedRatiosMax } from "../../shared/bounds.js";
import { charsPerToken } from "../usage/count-usage.js";

const outputRatioMax = 5;
/** A short prompt is mostly JSON. */
const promptRatioMax = 16;
/** A token is at least one byte. */
const ratioMin = 1;
/** The weight of the usual ratio in a target's mean: that of an answer of 64 tokens. */
const usualTokens = 64;
/** The tokens in a target's mean at most; one answer adds at most a quarter of them. */
const tokensMax = 4096;
const answerTokensMax = tokensMax / 4;

/** The text that was seen, and its tokens. */
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
