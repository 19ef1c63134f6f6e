/** When a question about one counter is due, and when the share may be dropped. */
import { forgottenMs, freshMs, keptMs, retryMs } from "../bounds.js";

/** The state of a share that determines when its next question is due. */
export interface Standing {
  /** Whether it has counts that differ from the last report. */
  readonly isUnsent: boolean;
  /**
   * The time without use after which held units are given back, in ms; infinite if none are held.
   */
  readonly idleMs: number;
  /** The time between two reports while something is held or unreported, in ms; else infinite. */
  readonly renewMs: number;
  /** Whether the engine has counts of this share. */
  readonly isSent: boolean;
}

export class ShareSchedule {
  #usedAtMonoMs: number;
  #forgottenAtMonoMs: number;
  #sentMonoMs = Number.NEGATIVE_INFINITY;
  /** When to ask again a server of the engine that doesn't answer; null if it answers. */
  #retryMonoMs: number | null = null;

  constructor(monoMs: number) {
    this.#usedAtMonoMs = monoMs;
    this.#forgottenAtMonoMs = monoMs + forgottenMs;
  }

  /** Notes a counted request. */
  used(monoMs: number): void {
    this.#usedAtMonoMs = monoMs;
    this.#forgottenAtMonoMs = monoMs + forgottenMs;
  }

  sent(monoMs: number): void {
    this.#sentMonoMs = monoMs;
  }

  /**
   * Notes the answer to a question. `isLost`: the share's server of the engine didn't answer, and
   * is asked again after `retryMs`.
   */
  answered(monoMs: number, isLost: boolean): void {
    this.#retryMonoMs = isLost ? monoMs + retryMs : null;
  }

  get isLost(): boolean {
    return this.#retryMonoMs !== null;
  }

  mayAsk(monoMs: number): boolean {
    return this.#retryMonoMs === null || this.#retryMonoMs <= monoMs;
  }

  /** Keeps the share while requests of this host run: they are charged when they end. */
  keep(monoMs: number): void {
    this.#forgottenAtMonoMs = monoMs + keptMs;
  }

  /** Makes a complete report due now. */
  restate(): void {
    this.#sentMonoMs = Number.NEGATIVE_INFINITY;
  }

  isIdle(monoMs: number, idleMs: number): boolean {
    return monoMs - this.#usedAtMonoMs >= idleMs;
  }

  isForgotten(monoMs: number): boolean {
    return monoMs >= this.#forgottenAtMonoMs;
  }

  /** Infinite if there is nothing to report. */
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
