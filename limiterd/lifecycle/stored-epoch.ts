/**
 * The log sequence numbers of an epoch: each start uses numbers above all numbers that earlier
 * epochs assigned, including epochs that a full disk prevented from being written.
 */
import { isCount } from "../../shared/checked.js";
import type { Change } from "../store/store.js";

/** The host's uptime, which neither a process nor a step of the wall clock sets back. */
export interface HostUptime {
  /** Differs after each boot. */
  readonly boot: string;
  readonly upMs: number;
}

/** When the last epoch that reached the disk began. */
export interface StoredEpoch extends HostUptime {
  readonly lsn: number;
}

/**
 * In `epochs`, [epochStartLsn, boot, upMs]: the first log sequence number of the last epoch, and
 * the uptime at which it began.
 */
export const epochStartKey = "lsn";

/** More numbers than an epoch assigns before its next millisecond. */
const lsnGap = 1_000_000;

/** More numbers than an epoch assigns in a millisecond; 2^53 numbers last for 285 years. */
const lsnsPerMs = 1000;

/** Null for what `epochChange` never wrote. */
export function epochFromStored([lsn, boot, upMs]: readonly unknown[]): StoredEpoch | null {
  return isCount(lsn) && typeof boot === "string" && isCount(upMs) ? { lsn, boot, upMs } : null;
}

/**
 * The first number of an epoch that begins now. `lastLsn`: the highest number on the disk. After
 * the last epoch on the disk there may have been others that never reached it and whose leases
 * proxies still hold; after a reboot no proxy holds any.
 */
export function nextEpochLsn(lastLsn: number, last: StoredEpoch | null, now: HostUptime): number {
  const sinceMs = last?.boot === now.boot ? Math.max(0, now.upMs - last.upMs) : now.upMs;
  return lastLsn + lsnGap + sinceMs * lsnsPerMs;
}

export function epochChange(lsn: number, { boot, upMs }: HostUptime): Change {
  return { table: "epochs", key: epochStartKey, value: [lsn, boot, upMs] };
}
