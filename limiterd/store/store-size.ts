/**
 * The cap on the store's size, and what is said of it. What is given up at the cap, the oldest
 * records of usage, is in `usage/trim-usage.ts`.
 */
import { type Table, tables } from "./store.js";

/**
 * `near`: 80 % of the cap. `over`: records are removed before their time. `others`: what isn't
 * records is more than the cap by itself, so that no record is removed for it.
 */
export type StoreFill = "near" | "over" | "others";

/** The tables that hold most of it, the largest first, such as `usage 91 %`. */
export type LargestTables = readonly string[];

interface SizePorts {
  /** Of one table, or of all. */
  readonly store: { usedBytes(table?: Table): number | null };
  /** Null: there is no cap. */
  readonly bytesMax: number | null;
  /** Called when it is worse than was said, and not again before much of it has gone. */
  onFill(fill: StoreFill, usedBytes: number, largest: LargestTables): void;
}

const nearShare = 0.8;
/** Below this it is news again. At the cap the size goes up and down all the time. */
const quietShare = 0.7;
const fills: readonly StoreFill[] = ["near", "over", "others"];
const largestNamed = 3;

/** Returns whether records must go to make room; to be asked now and then. */
export function createStoreSize({ store, bytesMax, onFill }: SizePorts): () => boolean {
  /** How many of `fills` were said. */
  let said = 0;
  return () => {
    if (bytesMax === null) return false;
    const used = store.usedBytes();
    if (used === null) return false;
    if (used < bytesMax * quietShare) said = 0;
    if (used < bytesMax * nearShare) return false;
    const others = used - (store.usedBytes("usage") ?? 0);
    const fill = used <= bytesMax ? "near" : others <= bytesMax ? "over" : "others";
    if (fills.indexOf(fill) >= said) {
      said = fills.indexOf(fill) + 1;
      onFill(fill, used, largestTables(store, used));
    }
    return fill === "over";
  };
}

function largestTables(store: SizePorts["store"], used: number): LargestTables {
  return tables
    .map((table) => ({ table, bytes: store.usedBytes(table) ?? 0 }))
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, largestNamed)
    .map(({ table, bytes }) => `${table} ${Math.round((bytes / used) * 100)} %`);
}
