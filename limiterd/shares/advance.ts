/**
 * What a host claims of a hard cap beside what it has used and what its requests hold, so that the
 * next ones needn't wait for the engine. Pure.
 */

/** How long an advance that isn't needed is kept, in ms. */
const keptMs = 1000;

/** What bounds an advance. */
interface AdvanceBounds {
  readonly monoMs: number;
  readonly hosts: number;
  /** What this host may still use of its claim, beside what is held. */
  readonly spare: number;
  /** What other hosts leave of the cap, beside what is used and held here; null: not known. */
  readonly left: number | null;
}

export class Advance {
  /** The part of the last claim that was neither used nor held, and since when it is so large. */
  #amount = 0;
  #sinceMonoMs = Number.NEGATIVE_INFINITY;
  /** What a request lacks of the claim. */
  #wanted = 0;
  /** Whether more than half of it is used. */
  #isLow = false;

  get amount(): number {
    return this.#amount;
  }

  /** Makes the next claim contain so much beside what is held. */
  want(amount: number): void {
    this.#wanted = Math.max(this.#wanted, amount);
  }

  /** Whether more should be claimed before it is needed. */
  isLow(spare: number): boolean {
    if (2 * spare >= this.#amount) return false;
    this.#isLow = true;
    return true;
  }

  /**
   * The advance of the next claim: what a request lacks, and twice as much each time that half of
   * it was used; but no more than this host's part of half of what is left.
   */
  next({ monoMs, hosts, spare, left }: AdvanceBounds): number {
    const demand = this.#wanted;
    let amount = this.#amount;
    if (demand > 0 || this.#isLow) {
      amount = Math.max(demand, 2 * amount);
      this.#sinceMonoMs = monoMs;
    } else if (monoMs - this.#sinceMonoMs >= keptMs) {
      amount = spare >= amount ? 0 : Math.ceil(amount / 2);
      this.#sinceMonoMs = monoMs;
    }
    this.#wanted = 0;
    this.#isLow = false;
    const free = Math.max(0, left ?? 0);
    const most =
      left === null ? demand : Math.max(Math.min(demand, free), Math.floor(free / (2 * hosts)));
    this.#amount = Math.min(amount, most);
    return this.#amount;
  }

  clear(): void {
    this.#amount = 0;
  }
}
