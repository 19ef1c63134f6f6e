/**
 * How many bytes of text a token of each target has, learned from streams whose usage was reported:
 * a count of tokens while they flow, which must not be too low. What a model reasons without
 * showing it makes its text count more.
 */
import { learnedRatiosMax } from "../../shared/bounds.js";

/** Of English; code and other languages have fewer. */
const ratioMax = 4;
/** A token is at least one byte. */
const ratioMin = 1;
/** By which a ratio counts for more tokens than were seen. */
const safety = 0.8;
/** The weight of the newest stream. */
const weight = 0.25;
/** A shorter text says little. */
const tokensMin = 32;

export class OutputRatios {
  readonly #learned = new Map<string, number>();

  /** Bytes per token, rather too few than too many. */
  of(target: string): number {
    return Math.max(ratioMin, (this.#learned.get(target) ?? ratioMax) * safety);
  }

  learn(target: string, textBytes: number, outputTokens: number): void {
    if (outputTokens < tokensMin) return;
    const seen = Math.min(ratioMax, Math.max(ratioMin, textBytes / outputTokens));
    const known = this.#learned.get(target);
    if (known === undefined && this.#learned.size >= learnedRatiosMax) return;
    this.#learned.set(target, known === undefined ? seen : known + weight * (seen - known));
  }
}
