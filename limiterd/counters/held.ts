/**
 * What running requests hold of one hard cap, by child; empty for a rule's or budget's own counts.
 * Proxies report it when they reconnect; for those that don't it is stored (`stored-hold.ts`).
 */
interface HeldSum {
  amount: number;
  requests: number;
}

export class Held {
  readonly #sums = new Map<string, HeldSum>();

  /** In the unit of the cap: tokens, or pico-dollars. */
  of(child: string): number {
    return this.#sums.get(child)?.amount ?? 0;
  }

  /** How many requests hold something. */
  requestsOf(child: string): number {
    return this.#sums.get(child)?.requests ?? 0;
  }

  /** Adds what one request holds. */
  add(child: string, amount: number): void {
    const sum = this.#sums.get(child);
    if (sum === undefined) this.#sums.set(child, { amount, requests: 1 });
    else {
      sum.amount += amount;
      sum.requests++;
    }
  }

  /** Gives back what one request held. Sums beyond 2^53 aren't exact, but none outlives them. */
  remove(child: string, amount: number): void {
    const sum = this.#sums.get(child);
    if (sum === undefined) return;
    sum.amount -= amount;
    if (--sum.requests === 0) this.#sums.delete(child);
  }

  /** Every child with requests that hold something. */
  get children(): ReadonlyMap<string, Readonly<HeldSum>> {
    return this.#sums;
  }
}
