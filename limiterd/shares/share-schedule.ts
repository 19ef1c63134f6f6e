/** When the engine is to be told or asked about one counter, and when the share is forgotten. */
import { forgottenMs, freshMs, keptMs, retryMs } from "../bounds.js";

/** What is on this host and the engine should know of. */
export interface Standing {
  /** It counts something else than the engine was told. */
  readonly isUnsent: boolean;
  /** Something is held that no request uses: it is given back after so long; infinite: nothing. */
  readonly idleMs: number;
  /** Something is held, or isn't told: it is told after so long; infinite: nothing. */
  readonly renewMs: number;
  /** The engine counts something of it. */
  readonly isSent: boolean;
}

export class ShareSchedule {
  #usedAtMonoMs: number;
  #forgottenAtMonoMs: number;
  #sentMonoMs = Number.NEGATIVE_INFINITY;
  /** Its part of the engine doesn't answer: it is asked again then; null: it does. */
  #retryMonoMs: number | null = null;

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

  /** As with an engine that is away as a whole, it is asked again only after a while. */
  answered(monoMs: number, isLost: boolean): void {
    this.#retryMonoMs = isLost ? monoMs + retryMs : null;
  }

  get isLost(): boolean {
    return this.#retryMonoMs !== null;
  }

  mayAsk(monoMs: number): boolean {
    return this.#retryMonoMs === null || this.#retryMonoMs <= monoMs;
  }

  /** Requests of this host run, which are charged when they end. */
  keep(monoMs: number): void {
    this.#forgottenAtMonoMs = monoMs + keptMs;
  }

  /** Everything is to be told again, at once. */
  restate(): void {
    this.#sentMonoMs = Number.NEGATIVE_INFINITY;
  }

  isIdle(monoMs: number, idleMs: number): boolean {
    return monoMs - this.#usedAtMonoMs >= idleMs;
  }

  isForgotten(monoMs: number): boolean {
    return monoMs >= this.#forgottenAtMonoMs;
  }

  /** Infinite when there is nothing to say. */
  dueMonoMs({ isUnsent, idleMs, renewMs, isSent }: Standing): number {
    const soon = this.#sentMonoMs + freshMs;
    return Math.min(
      isUnsent ? soon : Number.POSITIVE_INFINITY,
      Math.max(soon, this.#usedAtMonoMs + idleMs),
      this.#sentMonoMs + renewMs,
      isSent ? Math.max(soon, this.#forgottenAtMonoMs) : Number.POSITIVE_INFINITY,
    );
  }
}
