/** When the engine is to be told or asked about one counter, and when the share is forgotten. */
import { forgottenMs, freshMs, idleMs, keptMs, renewMs } from "./share-bounds.js";

/** What is on this host and the engine should know of. */
interface Standing {
  /** It counts something else than the engine was told. */
  readonly isUntold: boolean;
  /** Something is held that no request uses. */
  readonly keeps: boolean;
  /** Something is held. */
  readonly holds: boolean;
  /** The engine counts something of it. */
  readonly isTold: boolean;
}

export class ShareSchedule {
  #usedAtMonoMs: number;
  #forgottenAtMonoMs: number;
  #sentMonoMs = Number.NEGATIVE_INFINITY;

  constructor(monoMs: number) {
    this.#usedAtMonoMs = monoMs;
    this.#forgottenAtMonoMs = monoMs + forgottenMs;
  }

  /** A request was counted. */
  used(monoMs: number): void {
    this.#usedAtMonoMs = monoMs;
    this.#forgottenAtMonoMs = monoMs + forgottenMs;
  }

  sent(monoMs: number): void {
    this.#sentMonoMs = monoMs;
  }

  /** Requests of this host run, which are charged when they end. */
  keep(monoMs: number): void {
    this.#forgottenAtMonoMs = monoMs + keptMs;
  }

  /** Everything is to be told again, at once. */
  restate(): void {
    this.#sentMonoMs = Number.NEGATIVE_INFINITY;
  }

  isIdle(monoMs: number): boolean {
    return monoMs - this.#usedAtMonoMs >= idleMs;
  }

  isForgotten(monoMs: number): boolean {
    return monoMs >= this.#forgottenAtMonoMs;
  }

  /** Infinite when there is nothing to say. */
  dueMonoMs({ isUntold, keeps, holds, isTold }: Standing): number {
    const soon = this.#sentMonoMs + freshMs;
    return Math.min(
      isUntold ? soon : Number.POSITIVE_INFINITY,
      keeps ? Math.max(soon, this.#usedAtMonoMs + idleMs) : Number.POSITIVE_INFINITY,
      holds ? this.#sentMonoMs + renewMs : Number.POSITIVE_INFINITY,
      isTold ? Math.max(soon, this.#forgottenAtMonoMs) : Number.POSITIVE_INFINITY,
    );
  }
}
