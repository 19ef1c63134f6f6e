/**
 * The numbers of an epoch: those of each start are above all that earlier ones gave out, also above
 * those of an epoch that a full disk kept from being written.
 */
import { isCount } from "../../shared/checked.js";
import type { Change } from "../store/store.js";

/** How long the host has been up: no process, and no step of its wall clock, sets it back. */
export interface HostUptime {
  /** Another one after each boot. */
  readonly boot: string;
  readonly upMs: number;
}

/** When the last epoch that reached the disk began. */
export interface StoredEpoch extends HostUptime {
  readonly lsn: number;
}

/**
 * In `epochs`, [epochStartLsn, boot, upMs]: the first log sequence number of the last epoch, and
 * when it began.
 */
export const epochStartKey = "lsn";

/** More than an epoch gives out before its next moment is told apart. */
const lsnGap = 1_000_000;

/** More than an epoch gives out in a millisecond; 2^53 of them last for 285 years. */
const lsnsPerMs = 1000;

/** Null for what was never written. Without a boot it is of an earlier release. */
export function epochFromStored([lsn, boot, upMs]: readonly unknown[]): StoredEpoch | null {
  if (!isCount(lsn)) return null;
  return typeof boot === "string" && isCount(upMs)
    ? { lsn, boot, upMs }
    : { lsn, boot: "", upMs: 0 };
}

/**
 * The first number of an epoch that begins now. `lastLsn`: the highest on the disk. Since the last
 * epoch on the disk began there may have been others that never got there, whose leases the proxies
 * still hold; of another boot nobody holds any.
 */
export function nextEpochLsn(lastLsn: number, last: StoredEpoch | null, now: HostUptime): number {
  const sinceMs = last?.boot === now.boot ? Math.max(0, now.upMs - last.upMs) : now.upMs;
  return lastLsn + lsnGap + sinceMs * lsnsPerMs;
}

export function epochChange(lsn: number, { boot, upMs }: HostUptime): Change {
  return { table: "epochs", key: epochStartKey, value: [lsn, boot, upMs] };
}
