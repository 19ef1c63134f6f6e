/** When a question about one counter is due, and when the share may be dropped. */
import { forgottenMs, freshMs, keptMs, retryMs } from "../bounds.js";

/** What this host has that the engine should know. */
export interface Standing {
  /** It has counts that differ from the last report. */
  readonly isUnsent: boolean;
  /**
   * Units are held that no request uses: they are given back after this time; infinite: none are.
   */
  readonly idleMs: number;
  /** Something is held or unreported: it is reported after this time; infinite: nothing is. */
  readonly renewMs: number;
  /** The engine has counts of this share. */
  readonly isSent: boolean;
}

export class ShareSchedule {
  #usedAtMonoMs: number;
  #forgottenAtMonoMs: number;
  #sentMonoMs = Number.NEGATIVE_INFINITY;
  /** When to ask again a part of the engine that doesn't answer; null: it answers. */
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

  /** A part that doesn't answer is asked again only after a while, like an engine that is away. */
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

  /** Makes a report of everything due now. */
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
