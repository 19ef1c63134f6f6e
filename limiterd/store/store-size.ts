/**
 * The cap on the store's size, and what is said of it. What is given up at the cap, the oldest
 * records of usage, is in `usage/trim-usage.ts`.
 */

/** `near`: 80 % of the cap. `over`: records are removed before their time. */
export type StoreFill = "near" | "over";

interface SizePorts {
  readonly store: { usedBytes(): number | null };
  /** Null: there is no cap. */
  readonly bytesMax: number | null;
  /** Called when more is held than was said, and not again before much of it has gone. */
  onFill(fill: StoreFill, usedBytes: number): void;
}

const nearShare = 0.8;
/** Below this it is news again. At the cap the size goes up and down all the time. */
const quietShare = 0.7;

/** Returns whether the store holds more than it may; to be asked now and then. */
export function createStoreSize({ store, bytesMax, onFill }: SizePorts): () => boolean {
  let said: StoreFill | null = null;
  return () => {
    const used = bytesMax === null ? null : store.usedBytes();
    if (bytesMax === null || used === null) return false;
    const isOver = used > bytesMax;
    const fill = isOver ? "over" : used >= bytesMax * nearShare ? "near" : null;
    if (used < bytesMax * quietShare) said = null;
    if (fill !== null && fill !== said && said !== "over") {
      said = fill;
      onFill(fill, used);
    }
    return isOver;
  };
}
