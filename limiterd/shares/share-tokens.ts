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

  /** Of all hosts, in a window of the engine's. */
  counted(own: Window, periodMs: number, window: number): Halves {
    const others = rollHalves(this.#others, window);
    const tokens = rollHalves(tokensOf(own, periodMs), window);
    return {
      window,
      current: addCount(others.current, tokens.current),
      previous: addCount(others.previous, tokens.previous),
    };
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
