/** The tokens of one counter: this host's, which its own window has, and those of the others. */
import { addCount, type Halves, rollHalves } from "../cluster/halves.js";
import type { CounterTotals } from "../cluster/shared-limits.js";
import type { Window } from "../counters/window.js";

const none: Halves = { window: 0, current: 0, previous: 0 };

export class ShareTokens {
  /** What other hosts have charged. */
  #others: Halves = none;
  /** What the engine counts of this one. */
  #told: Halves = none;

  /** The engine has heard this of the host. */
  told(halves: Halves): void {
    this.#told = halves;
  }

  /** While the engine settles, no less than was known before it lost its data. */
  seen({ window, totals }: CounterTotals, settling: boolean): void {
    const told = rollHalves(this.#told, window);
    const known = settling ? rollHalves(this.#others, window) : none;
    this.#others = {
      window,
      current: Math.max(known.current, totals.tokens - told.current),
      previous: Math.max(known.previous, totals.tokensBefore - told.previous),
    };
  }

  /**
   * Of all hosts, in a window of the engine's and in the one before it, into `view`. Each admission
   * asks for it, so nothing is made on the way where all are of one window.
   */
  addTo(view: Window, own: Window, periodMs: number): void {
    const { startMs } = view;
    const window = startMs / periodMs;
    const others = this.#others.window === window ? this.#others : rollHalves(this.#others, window);
    view.currentTokens = others.current;
    view.previousTokens = others.previous;
    if (own.startMs === startMs) {
      view.currentTokens = addCount(view.currentTokens, own.currentTokens);
      view.previousTokens = addCount(view.previousTokens, own.previousTokens);
    } else {
      const tokens = rollHalves(tokensOf(own, periodMs), window);
      view.currentTokens = addCount(view.currentTokens, tokens.current);
      view.previousTokens = addCount(view.previousTokens, tokens.previous);
    }
  }

  clear(): void {
    this.#others = none;
    this.#told = none;
  }
}

/** A window's tokens, by this host's clock; none of a gauge. */
export function tokensOf(own: Window, periodMs: number): Halves {
  if (periodMs === 0) return none;
  return {
    window: Math.floor(own.startMs / periodMs),
    current: own.currentTokens,
    previous: own.previousTokens,
  };
}
