/** What the log says of a store that fills up. */
import type { Log } from "../shared/log.js";
import type { LargestTables, StoreFill } from "./store/store-size.js";

const texts: Readonly<Record<StoreFill, string>> = {
  near: "the store holds 80 % of usage.max_store_bytes",
  over: "the store holds more than usage.max_store_bytes: the oldest usage records are removed",
  others:
    "the store holds more than usage.max_store_bytes without its usage records: none is removed for it",
};

/** Logs that the store comes near to what it may hold, and what holds most of it. */
export function logFill(
  log: Log,
): (fill: StoreFill, usedBytes: number, largest: LargestTables) => void {
  return (fill, usedBytes, largest) => log.warn({ used_bytes: usedBytes, largest }, texts[fill]);
}
