/** What the log says of a store that fills up. */
import type { Log } from "../shared/log.js";
import type { StoreFill } from "./store/store-size.js";

/** Logs that the store comes near to what it may hold. */
export function logFill(log: Log): (fill: StoreFill, usedBytes: number) => void {
  return (fill, usedBytes) =>
    log.warn(
      { used_bytes: usedBytes },
      fill === "near"
        ? "the store holds 80 % of usage.max_store_bytes"
        : "the store holds more than usage.max_store_bytes: the oldest usage records are removed",
    );
}
