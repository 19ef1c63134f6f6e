/**
 * How many bytes of text a token of each target has, learned from the answers whose usage was
 * reported: the mean of the last few thousand tokens. It counts tokens while they flow, and those
 * of a stream that is cut. What a model reasons without showing it makes its text count more.
 */
import { learnedRatiosMax } from "../../shared/bounds.js";
import { charsPerToken } from "../usage/count-usage.js";

const ratioMax = 5;
/** A token is at least one byte. */
const ratioMin = 1;
/** The weight of the usual ratio in a target's mean: that of an answer of 64 tokens. */
const usualTokens = 64;
/** The tokens in a target's mean at most; one answer adds at most a quarter of them. */
const tokensMax = 4096;
const answerTokensMax = tokensMax / 4;

/** The text that was seen, and its tokens. */
interface ObservedOutput {
  readonly bytes: number;
  readonly tokens: number;
}

const usual: ObservedOutput = { bytes: charsPerToken * usualTokens, tokens: usualTokens };

export class OutputRatios {
  readonly #learned = new Map<string, ObservedOutput>();

  /** Bytes per token. */
  of(target: string): number {
    const { bytes, tokens } = this.#learned.get(target) ?? usual;
    return bytes / tokens;
  }

  learn(target: string, textBytes: number, outputTokens: number): void {
    if (outputTokens === 0) return;
    if (!this.#learned.has(target) && this.#learned.size >= learnedRatiosMax) return;
    const learned = this.#learned.get(target) ?? usual;
    const ratio = Math.min(ratioMax, Math.max(ratioMin, textBytes / outputTokens));
    const added = Math.min(outputTokens, answerTokensMax);
    const keptPart = Math.min(1, (tokensMax - added) / learned.tokens);
    this.#learned.set(target, {
      bytes: keptPart * learned.bytes + ratio * added,
      tokens: keptPart * learned.tokens + added,
    });
  }
}
