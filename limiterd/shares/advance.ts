/**
 * The advance: what a host claims of a hard cap beyond what it has used and what its requests hold,
 * so that the next requests needn't wait for the engine. Pure.
 */

/** How long an advance that isn't needed is kept, in ms. */
const keptMs = 1000;

/** What bounds an advance. */
interface AdvanceBounds {
  readonly monoMs: number;
  readonly hosts: number;
  /** What this host may still use of its claim, beyond what is held. */
  readonly spare: number;
  /**
   * What is left of the cap after what other hosts claim and what this host uses and holds; null if
   * unknown.
   */
  readonly left: number | null;
}

export class Advance {
  /** The advance in the last claim, and when it last grew or shrank. */
  #amount = 0;
  #sinceMonoMs = Number.NEGATIVE_INFINITY;
  /** What a request needs beyond the claim. */
  #wanted = 0;
  /** Whether more than half of the advance is used. */
  #isLow = false;

  get amount(): number {
    return this.#amount;
  }

  /** Makes the next claim include this much beyond what is held. */
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
   * The advance of the next claim: at least what a request needs, and twice as much as before each
   * time that half of it was used. Beyond what a request needs, all hosts together advance at most
   * half of what is left.
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
