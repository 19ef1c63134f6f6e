/**
 * How fast this host uses a counter, and so how many units it asks for in advance. If these units
 * are few compared with what is left, other hosts lose nothing: the host asks for more units and
 * keeps them longer. Otherwise it holds nothing that other hosts may need.
 */
import { aheadMs, farAheadMs, farPeriodMs, forgottenMs, idleMs, lookMs } from "../bounds.js";

/** What is left of a counter, by the last answer. */
interface Left {
  /** Infinite without a cap. */
  readonly left: number;
  readonly hosts: number;
  /** 0 for a gauge. */
  readonly periodMs: number;
}

/** Units are few while all hosts together hold at most one part in 16 of what is left. */
const fewDivisor = 16;
/** A host is idle after a pause of this many mean times between two requests. */
const idleGaps = 8;

export class ShareDemand {
  #perMs = 0;
  #used = 0;
  #sinceMonoMs: number;
  /**
   * For how long ahead the host asks while units are few, in ms: four times as long with each
   * question.
   */
  #horizonMs = aheadMs;
  /** More use than this since the last question is surprising. */
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

  /** Whether this host's units were few at the last question (`fewDivisor`). */
  get isFew(): boolean {
    return this.#isFew;
  }

  /** Whether far more was used than expected: the use by other hosts may have changed too. */
  get isSurprising(): boolean {
    return this.#used > this.#surprising;
  }

  /** Units that are unused for this long are given back, in ms. */
  get idleMs(): number {
    if (!this.#isFew) return idleMs;
    return Math.min(Math.max(idleGaps / this.#perMs, idleMs), forgottenMs);
  }

  /**
   * How many units to hold after a question that is sent now: the expected use of the next second,
   * or of the next few seconds if the units are few. The expectation is measured over at least the
   * last tenth of a second, and is lower for a counter that has just come into use.
   */
  ahead(monoMs: number, { left, hosts, periodMs }: Left): number {
    this.#measure(monoMs);
    const soon = Math.ceil(this.#perMs * aheadMs);
    const few =
      0 < periodMs && periodMs < farPeriodMs ? 0 : Math.floor(left / (fewDivisor * hosts));
    // Slots are returned, so far fewer are needed than are taken.
    const needed = periodMs === 0 ? Math.ceil(this.#perMs * idleMs) : soon;
    this.#isFew = few > 0 && needed <= few;
    if (!this.#isFew) {
      this.#horizonMs = aheadMs;
      this.#surprising = Number.POSITIVE_INFINITY;
      return Math.min(soon, Math.floor(left / (2 * hosts)));
    }
    const expected = Math.ceil(this.#perMs * this.#horizonMs);
    this.#horizonMs = Math.min(4 * this.#horizonMs, farAheadMs);
    this.#surprising = this.#used + 2 * expected + fewDivisor;
    return Math.min(expected, few);
  }

  /** Whether the held units, which were few, aren't few by the last answer. */
  areNoLongerFew(held: number, left: number, hosts: number): boolean {
    if (!this.#isFew || held * fewDivisor * hosts <= left + held) return false;
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
