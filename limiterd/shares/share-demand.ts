/**
 * How fast this host uses a counter, and so how many units to ask for in advance. If these are a
 * small part of what is left, so that other hosts lose nothing, the host asks for more and keeps it
 * longer. Otherwise it holds nothing that other hosts may need.
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

/** The hosts together hold units longer only while they hold at most a 16th of what is left. */
const fewOf = 16;
/** A pause this many times as long as usual counts as idle. */
const gapsOfIdle = 8;

export class ShareDemand {
  #perMs = 0;
  #used = 0;
  #sinceMonoMs: number;
  /**
   * How far ahead use is expected, in ms: at first little beyond what was observed, then four times
   * as far each time.
   */
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

  /**
   * Whether the cap was far at the last question, so that this host's units are a small part of
   * what is left.
   */
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
    return Math.min(Math.max(gapsOfIdle / this.#perMs, idleMs), forgottenMs);
  }

  /**
   * How many units to hold after a question that is sent now: the expected use of the next second,
   * or of the next few seconds, measured over the last tenth of a second or more. Fewer for a
   * counter that has just come into use.
   */
  ahead(monoMs: number, { left, hosts, periodMs }: Left): number {
    this.#measure(monoMs);
    const soon = Math.ceil(this.#perMs * aheadMs);
    const few = 0 < periodMs && periodMs < farPeriodMs ? 0 : Math.floor(left / (fewOf * hosts));
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
    this.#surprising = this.#used + 2 * expected + fewOf;
    return Math.min(expected, few);
  }

  /** Whether the held units are no longer a small part of what the last answer says is left. */
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
