/**
 * The engine's clock, as far as its last answer tells: it showed that time at some moment between
 * the question and the answer.
 */

/** When the engine was asked, and when its answer was here, on the monotonic clock. */
export interface Exchange {
  readonly sentMonoMs: number;
  readonly receivedMonoMs: number;
}

export class EngineClock {
  #engineMs = 0;
  #sentMonoMs = Number.NEGATIVE_INFINITY;
  #receivedMonoMs = 0;

  answered(engineMs: number, { sentMonoMs, receivedMonoMs }: Exchange): void {
    this.#engineMs = engineMs;
    this.#sentMonoMs = sentMonoMs;
    this.#receivedMonoMs = receivedMonoMs;
  }

  clear(): void {
    this.#sentMonoMs = Number.NEGATIVE_INFINITY;
  }

  /** Whether there was an answer. */
  get isKnown(): boolean {
    return this.#sentMonoMs !== Number.NEGATIVE_INFINITY;
  }

  /** How old the last answer may be; infinite before the first. */
  ageMs(monoMs: number): number {
    return monoMs - this.#sentMonoMs;
  }

  /** It can't be later than this, but for the part of a millisecond; infinite before an answer. */
  latestMs(monoMs: number): number {
    return this.#engineMs + (monoMs - this.#sentMonoMs);
  }

  /** It can't be earlier, once there was an answer. */
  earliestMs(monoMs: number): number {
    return this.#engineMs + (monoMs - this.#receivedMonoMs);
  }
}
