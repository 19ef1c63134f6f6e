/**
 * How many bytes of text a token of each target has, learned from streams whose usage was reported:
 * a count of tokens while they flow, which must not be too low. What a model reasons without
 * showing it makes its text count more.
 */
import { learnedRatiosMax } from "../../shared/bounds.js";

/** Of English prose; code, and most other languages, have fewer. */
const usualRatio = 4;
const ratioMax = 5;
/** A token is at least one byte. */
const ratioMin = 1;
/** A token counts as shorter than it is, since answers differ; more so if nothing is known. */
const margin = 0.9;
const usualMargin = 0.8;
/** The weight of the newest stream: soon down, slowly up. */
const weightDown = 0.5;
const weightUp = 0.1;
/** A shorter text says little. */
const tokensMin = 32;

export class OutputRatios {
  readonly #learned = new Map<string, number>();

  /** Bytes per token, rather too few than too many. */
  of(target: string): number {
    const learned = this.#learned.get(target);
    const ratio = learned === undefined ? usualRatio * usualMargin : learned * margin;
    return Math.max(ratioMin, ratio);
  }

  learn(target: string, textBytes: number, outputTokens: number): void {
    if (outputTokens < tokensMin) return;
    const seen = Math.min(ratioMax, Math.max(ratioMin, textBytes / outputTokens));
    const known = this.#learned.get(target) ?? usualRatio;
    if (!this.#learned.has(target) && this.#learned.size >= learnedRatiosMax) return;
    const weight = seen < known ? weightDown : weightUp;
    this.#learned.set(target, known + weight * (seen - known));
  }
}
