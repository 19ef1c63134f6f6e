/**
 * The tokens of one counter: those of this host, which are in its own window, and those of the
 * other hosts. For a hard cap, a host reports what its running requests hold, and an advance, as if
 * they were used: this is its claim. A host uses at most the last claim that the engine has
 * confirmed, and at most what the claims of the other hosts leave. From the moment when it sends a
 * lower claim, it uses no more than the lower one. So all hosts together stay within the cap: if
 * two hosts claim at the same time, at least one of them sees the other's claim.
 */
import { addCount, type Halves, noHalves, rollHalves } from "../cluster/halves.js";
import type { CounterTotals } from "../cluster/shared-limits.js";
import type { Rule } from "../counters/counter.js";
import { slidingTokens, type Window } from "../counters/window.js";
import { isHardCap } from "../rules/hard-limits.js";
import { Advance } from "./advance.js";
import { CapDistance } from "./cap-distance.js";

/** The moment of a report, and what bounds the advance. */
interface ClaimTime {
  readonly monoMs: number;
  /** The engine's time; null if it isn't known. */
  readonly engineMs: number | null;
  readonly hosts: number;
  /** The daemon stops: nothing is claimed in advance. */
  readonly isLast: boolean;
}

type TokenRule = Pick<Rule, "periodMs" | "definition" | "measure" | "wouldRefuse" | "held">;

export class ShareTokens {
  readonly #rule: TokenRule;
  readonly #child: string;
  /** What other hosts have charged. */
  #others: Halves = noHalves;
  /** Tokens charged since the last report to the engine, and the most that may stay unreported. */
  #unsent = 0;
  #unsentMax = 0;
  /**
   * The cap at the last answer. After it was lowered, `#unsentMax` and the distance are invalid.
   */
  #cap = Number.POSITIVE_INFINITY;
  readonly #distance: CapDistance;
  /** This host's claim to a hard cap, as confirmed by the engine. */
  #claimed: Halves = noHalves;
  readonly #advance = new Advance();
  /** What was held at the last report. */
  #reportedHeld = 0;
  /** What other hosts leave of the cap by the last answer; null before the first. */
  #available: number | null = null;

  constructor(rule: TokenRule, child: string) {
    this.#rule = rule;
    this.#child = child;
    this.#distance = new CapDistance(rule.periodMs);
  }

  /** Whether the cap won't be reached within seconds. */
  get isFar(): boolean {
    return this.#distance.isFar && !this.#isLowered;
  }

  /** Whether the cap was lowered since the engine's last answer. */
  get #isLowered(): boolean {
    return this.#capNow < this.#cap;
  }

  get #capNow(): number {
    return this.#rule.definition.maxTokens ?? Number.POSITIVE_INFINITY;
  }

  /** Notes charged tokens. Returns false if they must be reported to the engine soon. */
  charged(tokens: number): boolean {
    this.#unsent += tokens;
    return this.#unsent <= this.#unsentMax && !this.#isLowered;
  }

  get isUnsent(): boolean {
    return this.#unsent > 0 || this.#advance.amount > 0 || this.#held !== this.#reportedHeld;
  }

  /** What running requests of this host hold. */
  get #held(): number {
    return isHardCap(this.#rule) ? (this.#rule.held?.of(this.#child) ?? 0) : 0;
  }

  /** Begins a report and returns its tokens; none for a gauge. */
  report(own: Window, time: ClaimTime): Halves {
    this.#unsent = 0;
    const used = this.#halvesOf(own);
    if (!isHardCap(this.#rule)) {
      this.#claimed = noHalves;
      this.#advance.clear();
      this.#reportedHeld = 0;
      return used;
    }
    const held = this.#held;
    const ahead = this.#nextAdvance(own, held, time);
    this.#reportedHeld = held;
    const { periodMs } = this.#rule;
    const window = Math.max(used.window, Math.floor((time.engineMs ?? 0) / periodMs));
    const { current, previous } = rollHalves(used, window);
    const claim = { window, current: addCount(current, held + ahead), previous };
    const claimed = rollHalves(this.#claimed, window);
    this.#claimed = {
      window,
      current: Math.min(claimed.current, claim.current),
      previous: Math.min(claimed.previous, claim.previous),
    };
    return claim;
  }

  #nextAdvance(own: Window, held: number, { monoMs, engineMs, hosts, isLast }: ClaimTime): number {
    if (isLast) {
      this.#advance.clear();
      return 0;
    }
    const spare = engineMs === null ? 0 : this.leftOfClaim(own, engineMs) - held;
    const left =
      this.#available === null || engineMs === null
        ? null
        : this.#available - this.#estimate(this.#halvesOf(own), engineMs) - held;
    return this.#advance.next({ monoMs, hosts, spare, left });
  }

  /** What this host may still use of its claim, including what is held. */
  leftOfClaim(own: Window, engineMs: number): number {
    const claimed = this.#estimate(this.#claimed, engineMs);
    return claimed - this.#estimate(this.#halvesOf(own), engineMs);
  }

  /** Whether more should be claimed before it is needed. */
  isClaimLow(own: Window, engineMs: number): boolean {
    return this.#advance.isLow(this.leftOfClaim(own, engineMs) - this.#held);
  }

  /** Makes the next report claim this much beyond what is held. */
  want(amount: number): void {
    this.#advance.want(amount);
  }

  /** Notes an answer, which confirms the reported claim. Call after `seen`. */
  confirmed(
    reported: Halves,
    { nowMs, cap, isSettling }: { nowMs: number; cap: number; isSettling: boolean },
  ): void {
    if (!isHardCap(this.#rule)) return;
    this.#available = cap - this.#estimate(this.#others, nowMs);
    if (!isSettling) this.#claimed = reported;
  }

  #estimate(halves: Halves, nowMs: number): number {
    const { periodMs } = this.#rule;
    const { window, current, previous } = rollHalves(halves, Math.floor(nowMs / periodMs));
    const counts = {
      startMs: window * periodMs,
      previousRequests: 0,
      currentRequests: 0,
      previousTokens: previous,
      currentTokens: current,
    };
    return slidingTokens(counts, periodMs, nowMs);
  }

  /**
   * Sets how many tokens may stay unreported: on all hosts together at most a quarter of what is
   * left. While the engine settles after a loss of data, the distance to the cap is unknown.
   */
  setUnsentMax(answer: CounterTotals, hosts: number, isSettling: boolean): void {
    const { periodMs } = this.#rule;
    const { nowMs, window, totals } = answer;
    const charged = {
      startMs: window * periodMs,
      previousRequests: 0,
      currentRequests: 0,
      previousTokens: totals.tokensBefore,
      currentTokens: totals.tokens,
    };
    const cap = this.#capNow;
    this.#cap = cap;
    const left = cap - slidingTokens(charged, periodMs, nowMs);
    this.#unsentMax = left / (4 * hosts);
    if (isSettling) this.#distance.clear();
    else this.#distance.noteAnswer(answer, left, cap);
  }

  /**
   * Notes the tokens of all hosts, of which `own` are this host's. While the engine settles after a
   * loss of data, the counts of other hosts don't fall below those known before.
   */
  seen({ window, totals }: CounterTotals, own: Halves, isSettling: boolean): void {
    const reported = rollHalves(own, window);
    const counted = isSettling ? rollHalves(this.#others, window) : noHalves;
    this.#others = {
      window,
      current: Math.max(counted.current, totals.tokens - reported.current),
      previous: Math.max(counted.previous, totals.tokensBefore - reported.previous),
    };
  }

  /**
   * Adds the tokens of all hosts in a window of the engine, and in the one before it, to `view`.
   * Runs with each admission, so it allocates nothing while all counts are of one window.
   */
  addTo(view: Window, own: Window): void {
    const { startMs } = view;
    const window = startMs / this.#rule.periodMs;
    const others = this.#others.window === window ? this.#others : rollHalves(this.#others, window);
    view.currentTokens = others.current;
    view.previousTokens = others.previous;
    if (own.startMs === startMs) {
      view.currentTokens = addCount(view.currentTokens, own.currentTokens);
      view.previousTokens = addCount(view.previousTokens, own.previousTokens);
    } else {
      const tokens = rollHalves(this.#halvesOf(own), window);
      view.currentTokens = addCount(view.currentTokens, tokens.current);
      view.previousTokens = addCount(view.previousTokens, tokens.previous);
    }
  }

  clear(): void {
    this.#others = noHalves;
    this.#unsentMax = 0;
    this.#claimed = noHalves;
    this.#advance.clear();
    this.#available = null;
    this.#distance.clear();
  }

  /** The tokens of this host's window as halves of the engine's windows. */
  #halvesOf(own: Window): Halves {
    const { periodMs } = this.#rule;
    if (periodMs === 0) return noHalves;
    return {
      window: Math.floor(own.startMs / periodMs),
      current: own.currentTokens,
      previous: own.previousTokens,
    };
  }
}
