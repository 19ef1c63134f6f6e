/**
 * How many tokens a prompt probably has, for the admission of a request that is alone on a hard
 * cap: the proxy knows only how many it has at most. Learned for each target and size of prompt,
 * from requests under hard caps whose usage the provider has reported. Pure.
 */
import { learnedRatiosMax } from "../../shared/bounds.js";
import { type Target, targetName } from "../../shared/domain/target-name.js";

/** The part of the bound that a prompt counts as before anything is learned: two bytes a token. */
const usualPart = 1 / 2;
/** A smaller part than the last prompts had moves what is learned by one part in 8. */
const forgetDivisor = 8;
/** A prompt counts as this much more than the densest of the last ones. */
const margin = 9 / 8;

/** In prompts of about one size, JSON is about the same part. */
const alike = (target: Target, promptTokensMax: number): string =>
  `${targetName(target)} ${Math.clz32(promptTokensMax)}`;

export class LearnedPrompts {
  /** The tokens of the last prompts, as a part of the most that they could have. */
  readonly #parts = new Map<string, number>();

  /** `promptTokensMax`: the most that the prompt may have. */
  likely(target: Target, promptTokensMax: number): number {
    const learned = this.#parts.get(alike(target, promptTokensMax));
    const part = learned === undefined ? usualPart : Math.min(1, margin * learned);
    return Math.ceil(part * promptTokensMax);
  }

  /** `tokens`: those that the provider has counted. */
  learn(target: Target, promptTokensMax: number, tokens: number): void {
    if (tokens === 0 || promptTokensMax === 0) return;
    const key = alike(target, promptTokensMax);
    const before = this.#parts.get(key);
    if (before === undefined && this.#parts.size >= learnedRatiosMax) return;
    const part = Math.min(1, tokens / promptTokensMax);
    const learned = before ?? usualPart / margin;
    this.#parts.set(key, Math.max(part, learned - (learned - part) / forgetDivisor));
  }
}
