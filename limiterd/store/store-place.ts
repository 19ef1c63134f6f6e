/**
 * Checks that the store's file is still in its place: a later daemon wouldn't find commits to a
 * moved file. The adapter looks; this decides how often. Pure.
 */

import type { Change, Table } from "./store.js";

/**
 * Tables whose changes an operation has confirmed, and which nothing repeats. A reset of all rules
 * is in `epochs`. Such commits are rare, so each of them checks.
 */
const defining: ReadonlySet<Table> = new Set<Table>([
  "rules",
  "keys",
  "denials",
  "objects",
  "budgets",
  "resets",
  "settings",
  "epochs",
]);

/**
 * How long a check is valid, in ms: with hundreds of commits a second, checking each would cost
 * some percent of the time, and a store is moved once if ever.
 */
const believedMs = 100;

export class StorePlace {
  readonly #look: () => boolean;
  #seenAtMs = Number.NEGATIVE_INFINITY;

  constructor(look: () => boolean) {
    this.#look = look;
  }

  /** Checks now. */
  isKept(nowMs: number): boolean {
    const isKept = this.#look();
    this.#seenAtMs = isKept ? nowMs : Number.NEGATIVE_INFINITY;
    return isKept;
  }

  /**
   * Whether these changes may be committed. Checks again, unless the last check is recent and no
   * change is of a defining table.
   */
  takes(changes: readonly Pick<Change, "table">[], nowMs: number): boolean {
    const isBelieved = nowMs - this.#seenAtMs < believedMs;
    return (isBelieved && !changes.some(({ table }) => defining.has(table))) || this.isKept(nowMs);
  }
}
