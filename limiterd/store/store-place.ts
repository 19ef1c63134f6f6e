/**
 * Whether the store is still where it was opened: what is committed to one that was taken away, no
 * later daemon finds. Looking is the adapter's; here is how often. Pure.
 */

import type { Change, Table } from "./store.js";

/**
 * What somebody was told is made or taken back, and nobody tells again: a reset of all rules is in
 * `epochs`. Such commits are few, so each of them looks.
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
 * How long it is believed after a look: hundreds of commits a second would spend some percent of
 * their time on looking. A store is taken away once, if ever.
 */
const believedMs = 100;

export class StorePlace {
  readonly #look: () => boolean;
  #seenAtMs = Number.NEGATIVE_INFINITY;

  constructor(look: () => boolean) {
    this.#look = look;
  }

  /** Looks. */
  isKept(nowMs: number): boolean {
    const isKept = this.#look();
    this.#seenAtMs = isKept ? nowMs : Number.NEGATIVE_INFINITY;
    return isKept;
  }

  /** Whether these may be committed. Looks, unless somebody has of late and they define nothing. */
  takes(changes: readonly Pick<Change, "table">[], nowMs: number): boolean {
    const isBelieved = nowMs - this.#seenAtMs < believedMs;
    return (isBelieved && !changes.some(({ table }) => defining.has(table))) || this.isKept(nowMs);
  }
}
