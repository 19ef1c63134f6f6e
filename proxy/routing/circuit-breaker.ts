/**
 * Remembers that a target keeps failing: a circuit breaker (docs/reference/http-api.md, "A target
 * that keeps failing"). Closed, it lets everything pass and counts failures in a row. Open, it
 * says for how long to leave the target alone; after that one request may try it, the probe, which
 * closes the breaker or opens it for twice as long.
 *
 * A probe needs no end: the request that may try it opens the breaker for everybody else for
 * another period. If it never gets there, the next one comes after that.
 */
import { breakerOpenMsMax } from "../bounds.js";

interface BreakerSettings {
  /** Failures in a row that open it; 0: it never opens. */
  readonly failuresMax: number;
  /** For how long it opens at first. */
  readonly openMs: number;
}

/** An attempt at the target that has failed. */
interface FailedAttempt {
  readonly startedMs: number;
  readonly nowMs: number;
  /** For how long the target wants no request; 0: it doesn't say. */
  readonly waitMs: number;
}

export class CircuitBreaker {
  #failures = 0;
  /** For how long it has opened; 0: it is closed. */
  #openMs = 0;
  #openedMs = 0;
  #untilMs = 0;
  /** When the last probe was let through; Infinity: none has been since it opened. */
  #probeMs = Infinity;

  /** In a row. */
  get failures(): number {
    return this.#failures;
  }

  /** When the next request may try the target; 0: it is closed. */
  get untilMs(): number {
    return this.#untilMs;
  }

  get isClosed(): boolean {
    return this.#openMs === 0;
  }

  /** Whether a request may try the target. `take`: it will, as the probe if the breaker is open. */
  admits(nowMs: number, take: boolean): boolean {
    if (this.isClosed) return true;
    if (nowMs < this.#untilMs) return false;
    if (take) {
      this.#probeMs = nowMs;
      this.#untilMs = nowMs + this.#openMs;
    }
    return true;
  }

  /**
   * True: this has opened it. While it is open, only the probe's failure counts: others began
   * before it, or had no other target.
   */
  fail(attempt: FailedAttempt, { failuresMax, openMs }: BreakerSettings): boolean {
    this.#failures++;
    if (!this.isClosed) {
      if (attempt.startedMs >= this.#probeMs) this.#open(this.#openMs * 2, attempt);
      return false;
    }
    if (failuresMax === 0 || this.#failures < failuresMax) return false;
    this.#open(openMs, attempt);
    return true;
  }

  #open(openMs: number, { nowMs, waitMs }: FailedAttempt): void {
    this.#openMs = Math.min(openMs, breakerOpenMsMax);
    this.#openedMs = nowMs;
    this.#untilMs = nowMs + Math.min(Math.max(this.#openMs, waitMs), breakerOpenMsMax);
    this.#probeMs = Infinity;
  }

  /** Whether an answer shows that the target is well: one that began before it opened doesn't. */
  provesWell(startedMs: number): boolean {
    return this.isClosed || startedMs >= this.#openedMs;
  }
}
