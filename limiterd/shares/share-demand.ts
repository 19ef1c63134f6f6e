/**
 * How fast a counter is used on this host, and so how much of it is asked for ahead. Where that is
 * so little of what is left that nobody misses it, more is asked for at once and kept for longer;
 * elsewhere what others may need isn't held.
 */
import { aheadMs, farAheadMs, farPeriodMs, forgottenMs, idleMs, lookMs } from "../bounds.js";

/** What is left of a counter, by the last answer. */
interface Left {
  /** Infinite without a cap. */
  readonly left: number;
  readonly hosts: number;
  /** 0 of a gauge. */
  readonly periodMs: number;
}

/** Of what is left all hosts together hold a sixteenth at most, where they hold it for longer. */
const fewOf = 16;
/** A pause so many times as long as usual isn't chance any more. */
const gapsOfIdle = 8;

export class ShareDemand {
  #perMs = 0;
  #used = 0;
  #sinceMonoMs: number;
  /** Beyond what was seen of it little is expected: four times as far each time. */
  #horizonMs = aheadMs;
  #surprising = Number.POSITIVE_INFINITY;
  #isFew = false;

  constructor(monoMs: number) {
    this.#sinceMonoMs = monoMs;
  }

  used(): void {
    this.#used++;
  }

  clear(monoMs: number): void {
    this.#perMs = 0;
    this.#used = 0;
    this.#sinceMonoMs = monoMs;
    this.#horizonMs = aheadMs;
    this.#surprising = Number.POSITIVE_INFINITY;
    this.#isFew = false;
  }

  /** Whether the cap was far when it was last asked about: what this host holds is few of it. */
  get isFew(): boolean {
    return this.#isFew;
  }

  /** Whether far more was used than expected: what others do may have changed too. */
  get isSurprising(): boolean {
    return this.#used > this.#surprising;
  }

  /** What nothing has used for so long is given back. */
  get idleMs(): number {
    if (!this.#isFew) return idleMs;
    return Math.min(Math.max(gapsOfIdle / this.#perMs, idleMs), forgottenMs);
  }

  /**
   * So many are to be held after a question that is asked now: what the next second is expected to
   * use by the last tenth of one or more, or the next few seconds. Of a counter that has just come
   * into use, less.
   */
  ahead(monoMs: number, { left, hosts, periodMs }: Left): number {
    this.#measure(monoMs);
    const soon = Math.ceil(this.#perMs * aheadMs);
    const few = 0 < periodMs && periodMs < farPeriodMs ? 0 : Math.floor(left / (fewOf * hosts));
    // Slots come back: far fewer are needed than are taken.
    const needed = periodMs === 0 ? Math.ceil(this.#perMs * idleMs) : soon;
    this.#isFew = few > 0 && needed <= few;
    if (!this.#isFew) {
      this.#horizonMs = aheadMs;
      this.#surprising = Number.POSITIVE_INFINITY;
      return Math.min(soon, Math.floor(left / (2 * hosts)));
    }
    const expected = Math.ceil(this.#perMs * this.#horizonMs);
    this.#horizonMs = Math.min(4 * this.#horizonMs, farAheadMs);
    this.#surprising = this.#used + 2 * expected + fewOf;
    return Math.min(expected, few);
  }

  /** True: what is held since the last answer isn't few of what it says is left. */
  isMuch(held: number, left: number, hosts: number): boolean {
    if (!this.#isFew || held * fewOf * hosts <= left + held) return false;
    this.#isFew = false;
    this.#horizonMs = aheadMs;
    return true;
  }

  #measure(monoMs: number): void {
    const elapsedMs = monoMs - this.#sinceMonoMs;
    if (elapsedMs < lookMs) {
      this.#perMs = Math.max(this.#perMs, this.#used / lookMs);
      return;
    }
    this.#perMs = this.#used / elapsedMs;
    this.#used = 0;
    this.#sinceMonoMs = monoMs;
  }
}
