/**
 * The tokens of one counter: this host's, which are in its own window, and those of the other
 * hosts.
 */
import { addCount, type Halves, rollHalves } from "../cluster/halves.js";
import type { CounterTotals } from "../cluster/shared-limits.js";
import type { Rule } from "../counters/counter.js";
import { slidingTokens, type Window } from "../counters/window.js";
import { CapDistance } from "./cap-distance.js";

const none: Halves = { window: 0, current: 0, previous: 0 };

export class ShareTokens {
  readonly #rule: Pick<Rule, "periodMs" | "definition">;
  /** What other hosts have charged. */
  #others: Halves = none;
  /** The tokens of this host that the engine counts. */
  #reported: Halves = none;
  /** Tokens charged since the last report to the engine, and how many may stay unreported. */
  #unsent = 0;
  #waitingMax = 0;
  /**
   * The cap at the last answer. After it was lowered, `#waitingMax` and the distance are invalid.
   */
  #cap = Number.POSITIVE_INFINITY;
  readonly #distance: CapDistance;

  constructor(rule: Pick<Rule, "periodMs" | "definition">) {
    this.#rule = rule;
    this.#distance = new CapDistance(rule.periodMs);
  }

  /** Whether nothing that is likely within seconds reaches the cap. */
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

  /** Notes charged tokens. False: they must be reported to the engine soon. */
  charged(tokens: number): boolean {
    this.#unsent += tokens;
    return this.#unsent <= this.#waitingMax && !this.#isLowered;
  }

  get isUnsent(): boolean {
    return this.#unsent > 0;
  }

  /** Begins a report and returns its tokens; none for a gauge. */
  report(own: Window): Halves {
    this.#unsent = 0;
    return this.#halvesOf(own);
  }

  /** Notes that the engine has received this report. */
  reported(halves: Halves): void {
    this.#reported = halves;
  }

  /**
   * Sets how many tokens may stay unreported: so many that those of all hosts together are at most
   * a quarter of what is left. While the engine settles, the distance is unknown.
   */
  letWait(answer: CounterTotals, hosts: number, settling: boolean): void {
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
    this.#waitingMax = left / (4 * hosts);
    if (settling) this.#distance.clear();
    else this.#distance.heard(answer, left, cap);
  }

  /**
   * Notes the tokens of all hosts. While the engine settles, those of others don't fall below the
   * known ones from before it lost its data.
   */
  seen({ window, totals }: CounterTotals, settling: boolean): void {
    const reported = rollHalves(this.#reported, window);
    const known = settling ? rollHalves(this.#others, window) : none;
    this.#others = {
      window,
      current: Math.max(known.current, totals.tokens - reported.current),
      previous: Math.max(known.previous, totals.tokensBefore - reported.previous),
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
    this.#others = none;
    this.#reported = none;
    this.#waitingMax = 0;
    this.#distance.clear();
  }

  /** The tokens of a window, by this host's clock. */
  #halvesOf(own: Window): Halves {
    const { periodMs } = this.#rule;
    if (periodMs === 0) return none;
    return {
      window: Math.floor(own.startMs / periodMs),
      current: own.currentTokens,
      previous: own.previousTokens,
    };
  }
}
