/**
 * The units of one counter on this host: a unit is a request that the engine has granted. Here are
 * how many units are held and used, in the engine's windows, and how long they are valid. A unit is
 * valid until the end of the window in which it was granted. That end is computed on the monotonic
 * clock from the time at which the question was sent, because the engine's clock can't be further
 * ahead.
 */
import { addCount, type Halves, rollHalves } from "../cluster/halves.js";
import type { CounterTotals, SyncQuestion, SyncReply } from "../cluster/shared-limits.js";
import type { Window } from "../counters/window.js";
import { EngineClock, type Exchange } from "./engine-clock.js";

type UnitsStated = SyncQuestion["units"];

interface UnitsExchange extends Exchange {
  /** The lsn of the open batch of the journal. */
  readonly lsn: number;
  /**
   * Whether the engine has lost the reports of other hosts and may not have received them again.
   */
  readonly isSettling: boolean;
}

export class ShareUnits {
  readonly #periodMs: number;
  readonly #clock = new EngineClock();
  #syncedMs = 0;
  /** All counts below are of this window of the engine, and of the one before it. */
  #window: number;
  #spent = 0;
  #spentBefore = 0;
  #held = 0;
  /**
   * The part of the engine's totals that is from earlier runs of the daemon or earlier shares of
   * this counter.
   */
  #frozen: number;
  #frozenBefore: number;
  /** The part of the engine's totals that is not of this share, frozen counts included. */
  #others = 0;
  #othersBefore = 0;
  /** The last report to the engine, and the grants since. */
  #reported: Halves;
  /** How many units were held in advance after the last grant; see `aim`. */
  #aim = 0;
  #isFew = false;
  /**
   * The lsns of the journal's batches that were open when this window and the one before it began
   * on this host.
   */
  #windowLsn: number;
  #windowBeforeLsn: number;

  /** `own`: the window of this host so far, including stored counts. */
  constructor(periodMs: number, own: Window, lsn: number) {
    this.#periodMs = periodMs;
    this.#window = periodMs === 0 ? 0 : Math.floor(own.startMs / periodMs);
    this.#frozen = periodMs === 0 ? 0 : own.currentRequests;
    this.#frozenBefore = periodMs === 0 ? 0 : own.previousRequests;
    this.#reported = { window: this.#window, current: 0, previous: 0 };
    this.#windowLsn = lsn - 1;
    this.#windowBeforeLsn = lsn - 1;
  }

  get window(): number {
    return this.#window;
  }

  get held(): number {
    return this.#held;
  }

  /** The engine's time at its last answer; 0 before that. */
  get syncedMs(): number {
    return this.#syncedMs;
  }

  /** How old the last answer may be; infinite before the first. */
  ageMs(monoMs: number): number {
    return this.#clock.ageMs(monoMs);
  }

  /** The engine's time, in whole milliseconds; null before its first answer. */
  engineMs(monoMs: number): number | null {
    return this.#clock.isKnown ? Math.floor(this.#clock.latestMs(monoMs)) : null;
  }

  /**
   * The requests of all hosts in a window of the engine, without this host's held units. The tokens
   * are 0: `ShareTokens` adds them.
   */
  view(window: number): Window {
    const current = addCount(this.#others, this.#spent);
    const previous = addCount(this.#othersBefore, this.#spentBefore);
    const view = {
      startMs: window * this.#periodMs,
      previousRequests: previous,
      currentRequests: current,
      previousTokens: 0,
      currentTokens: 0,
    };
    if (window === this.#window) return view;
    const rolled = rollHalves({ window: this.#window, current, previous }, window);
    return { ...view, previousRequests: rolled.previous, currentRequests: rolled.current };
  }

  /** Whether a unit may be used now. */
  has(monoMs: number): boolean {
    if (this.#held === 0) return false;
    // The engine's time is in whole milliseconds, so its clock may be up to one millisecond ahead.
    return this.#clock.latestMs(monoMs) + 1 <= (this.#window + 1) * this.#periodMs;
  }

  /** Whether a round of questions should include this counter, to ask for more units. */
  get isUsed(): boolean {
    return this.#aim > 1 && this.#held * 4 <= this.#aim * (this.#isFew ? 1 : 3);
  }

  /** As `isUsed`, if questions about other counters are sent in any case. */
  get isHalfUsed(): boolean {
    return this.#aim > 1 && this.#held * 2 <= this.#aim;
  }

  /** Whether to ask for more units now, before the last one is used. */
  get isLow(): boolean {
    return this.#aim > 1 && this.#held * 8 < this.#aim * (this.#isFew ? 1 : 2);
  }

  /**
   * Notes how many units were asked for in advance; `isFew`: for several seconds (`ShareDemand`).
   */
  aim(ahead: number, isFew: boolean): void {
    this.#aim = Math.min(this.#held, ahead);
    this.#isFew = isFew;
  }

  /** Stops using granted units: the next question gives them back. */
  giveBack(): void {
    this.#held = 0;
  }

  /** Counts a request: uses a unit if one is valid. */
  use(own: Window, monoMs: number, lsn: number): void {
    if (this.has(monoMs)) this.#held--;
    else if (this.#clock.isKnown) this.pass(monoMs, lsn);
    else this.#rollTo(Math.floor(own.startMs / this.#periodMs), lsn);
    this.#spent = addCount(this.#spent, 1);
  }

  /**
   * Takes back a request that was counted in this batch of the journal, if its window is still
   * known.
   */
  takeBack(lsn: number): void {
    if (lsn > this.#windowLsn) this.#spent = Math.max(0, this.#spent - 1);
    else if (lsn < this.#windowLsn && lsn > this.#windowBeforeLsn)
      this.#spentBefore = Math.max(0, this.#spentBefore - 1);
  }

  /** Rolls to the latest of the engine's windows that has certainly begun. */
  pass(monoMs: number, lsn: number): void {
    if (!this.#clock.isKnown || this.#periodMs === 0) return;
    const window = Math.floor(this.#clock.earliestMs(monoMs) / this.#periodMs);
    if (window > this.#window) this.#rollTo(window, lsn);
  }

  /** Whether the engine has a report of used units, which no later report may lower. */
  get isSent(): boolean {
    return this.#reported.current > 0 || this.#reported.previous > 0;
  }

  /** Whether the engine's counts differ from this host's. */
  get isUnsent(): boolean {
    const { current, previous } = rollHalves(this.#reported, this.#window);
    return current !== this.#spent + this.#held || previous !== this.#spentBefore;
  }

  /** Moves all used units to the frozen counts, and gives up held units. */
  fold(): void {
    this.#frozen = addCount(this.#frozen, this.#spent);
    this.#frozenBefore = addCount(this.#frozenBefore, this.#spentBefore);
    this.#others = addCount(this.#others, this.#spent);
    this.#othersBefore = addCount(this.#othersBefore, this.#spentBefore);
    this.#spent = 0;
    this.#spentBefore = 0;
    this.#held = 0;
  }

  /**
   * The units to report in a question. Of the held units, it keeps up to `desired`, and gives back
   * the rest; if fewer are held, it asks for more.
   */
  state(desired: number, monoMs: number): UnitsStated {
    // Drop units whose window has ended or may have ended: reported as used, they would block the
    // requests that need this question.
    this.#held = this.has(monoMs) ? Math.min(this.#held, desired) : 0;
    const used = addCount(this.#spent, this.#held);
    this.#reported = { window: this.#window, current: used, previous: this.#spentBefore };
    // Held units may be used before the next report, so they are reported as used.
    return {
      window: this.#window,
      spent: used,
      spentBefore: this.#spentBefore,
      held: 0,
      frozen: this.#frozen,
      frozenBefore: this.#frozenBefore,
      wanted: desired - this.#held,
    };
  }

  /** Applies the engine's answer to a question. */
  synced(
    { units }: SyncQuestion,
    { nowMs, window, granted, frozen, frozenBefore, totals }: SyncReply,
    exchange: UnitsExchange,
  ): void {
    const stated = { window: units.window, current: units.spent, previous: units.spentBefore };
    const reported = rollHalves(stated, window);
    this.#reported = {
      window,
      current: addCount(reported.current, granted),
      previous: reported.previous,
    };
    this.seen({ nowMs, window, totals }, exchange);
    this.#syncedMs = nowMs;
    this.#held += granted;
    this.#frozen = frozen;
    this.#frozenBefore = frozenBefore;
  }

  /**
   * Notes the counts of all hosts from an answer. While the engine settles after a loss of data,
   * the counts of other hosts don't fall below those known before.
   */
  seen(
    { nowMs, window, totals }: CounterTotals,
    { lsn, isSettling, ...exchange }: UnitsExchange,
  ): void {
    this.#clock.answered(nowMs, exchange);
    this.#rollTo(window, lsn);
    const reported = rollHalves(this.#reported, window);
    this.#others = Math.max(isSettling ? this.#others : 0, totals.requests - reported.current);
    this.#othersBefore = Math.max(
      isSettling ? this.#othersBefore : 0,
      totals.requestsBefore - reported.previous,
    );
  }

  clear(): void {
    this.#clock.clear();
    this.#syncedMs = 0;
    this.#spent = 0;
    this.#spentBefore = 0;
    this.#held = 0;
    this.#frozen = 0;
    this.#frozenBefore = 0;
    this.#others = 0;
    this.#othersBefore = 0;
    this.#aim = 0;
    this.#reported = { window: this.#window, current: 0, previous: 0 };
  }

  #rollTo(window: number, lsn: number): void {
    if (window === this.#window) return;
    const from = this.#window;
    const roll = (current: number, previous: number): Halves =>
      rollHalves({ window: from, current, previous }, window);
    const spent = roll(this.#spent, this.#spentBefore);
    const frozen = roll(this.#frozen, this.#frozenBefore);
    const others = roll(this.#others, this.#othersBefore);
    this.#spent = spent.current;
    this.#spentBefore = spent.previous;
    this.#frozen = frozen.current;
    this.#frozenBefore = frozen.previous;
    this.#others = others.current;
    this.#othersBefore = others.previous;
    this.#held = 0;
    this.#windowBeforeLsn = window === from + 1 ? this.#windowLsn : lsn;
    this.#windowLsn = lsn;
    this.#window = window;
  }
}
