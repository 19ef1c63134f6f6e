/**
 * The engine's clock, estimated from its last answer: between the question and the answer, it
 * showed the time that the answer has.
 */

/** When the question was sent and the answer received, on the monotonic clock. */
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

  /**
   * The latest time that the engine's clock can show now, within a millisecond; infinite before an
   * answer.
   */
  latestMs(monoMs: number): number {
    return this.#engineMs + (monoMs - this.#sentMonoMs);
  }

  /** The earliest time that the engine's clock can show now. Call only after an answer. */
  earliestMs(monoMs: number): number {
    return this.#engineMs + (monoMs - this.#receivedMonoMs);
  }
}
