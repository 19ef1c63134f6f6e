/**
 * The cap on the store's size, and its reports. `usage/trim-usage.ts` removes the oldest records of
 * usage at the cap.
 */
import { formatPercent } from "../../shared/text/percent.js";
import { type Table, tables } from "./store.js";

/**
 * `near`: the store has 80% of the cap. `over`: it exceeds the cap, so records are removed before
 * their retention ends. `others`: it exceeds the cap even without its records, so none is removed.
 */
export type StoreFill = "near" | "over" | "others";

/** The largest tables, such as `usage 91%`, in descending order. */
export type LargestTables = readonly string[];

interface SizePorts {
  /** Bytes used by one table, or by all. */
  readonly store: { usedBytes(table?: Table): number | null };
  /** Null: there is no cap. */
  readonly bytesMax: number | null;
  /**
   * Called when the state is worse than last reported, and not again before much has been removed.
   */
  onFill(fill: StoreFill, usedBytes: number, largest: LargestTables): void;
}

const nearShare = 0.8;
/**
 * Only after the size was below this share of the cap is a rise reported again: at the cap, the
 * size varies all the time.
 */
const reportAgainShare = 0.7;
const fills: readonly StoreFill[] = ["near", "over", "others"];
/** How many of the largest tables a report names. */
const largestMax = 3;

/** Returns whether records must be removed. Call it periodically. */
export function createStoreSize({ store, bytesMax, onFill }: SizePorts): () => boolean {
  /** How many of `fills` have been reported. */
  let reported = 0;
  return () => {
    if (bytesMax === null) return false;
    const used = store.usedBytes();
    if (used === null) return false;
    if (used < bytesMax * reportAgainShare) reported = 0;
    if (used < bytesMax * nearShare) return false;
    const withoutRecords = used - (store.usedBytes("usage") ?? 0);
    const fill = used <= bytesMax ? "near" : withoutRecords <= bytesMax ? "over" : "others";
    if (fills.indexOf(fill) >= reported) {
      reported = fills.indexOf(fill) + 1;
      onFill(fill, used, largestTables(store, used));
    }
    return fill === "over";
  };
}

function largestTables(store: SizePorts["store"], used: number): LargestTables {
  return tables
    .map((table) => ({ table, bytes: store.usedBytes(table) ?? 0 }))
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, largestMax)
    .map(({ table, bytes }) => `${table} ${formatPercent(bytes / used)}`);
}
