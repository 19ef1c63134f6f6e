/**
 * The log sequence numbers of an epoch, and the lost numbers: those of earlier epochs that never
 * reached the disk, so that no window and no batch of the journal includes what was counted under
 * them. Each start uses numbers above all that earlier epochs assigned, even above those of epochs
 * that a full disk kept from being written.
 */
import { epochsMax } from "../../shared/bounds.js";
import { isCount } from "../../shared/checked.js";
import { unlimitedLsn } from "../../shared/wire/lsn.js";
import type { Change } from "./store.js";

export interface Epochs {
  /** The first number of this epoch; those of earlier epochs are below it. */
  readonly startLsn: number;
  readonly lost: readonly LostNumbers[];
}

/** The lost numbers between two others, both excluded. */
export interface LostNumbers {
  readonly afterLsn: number;
  readonly beforeLsn: number;
}

/**
 * The lost numbers when the next epoch begins at `startLsn`, ascending. `last`: the last epoch on
 * the disk, null before the first one. `writtenLsn`: the last batch on the disk.
 */
export function nextLost(
  lost: readonly LostNumbers[],
  last: { readonly lsn: number } | null,
  { writtenLsn, startLsn }: { readonly writtenLsn: number; readonly startLsn: number },
): readonly LostNumbers[] {
  const lastLost = lost.at(-1);
  // No batch of the last epoch has reached the disk: its numbers are lost with those before it.
  const all =
    lastLost !== undefined && last !== null && writtenLsn < last.lsn
      ? lost.with(-1, { ...lastLost, beforeLsn: startLsn })
      : [...lost, { afterLsn: writtenLsn, beforeLsn: startLsn }];
  return all.slice(-epochsMax);
}

/**
 * Whether an earlier epoch has assigned this number and nothing counted under it is on the disk.
 */
export function isLost({ lost }: Epochs, lsn: number): boolean {
  if (lsn <= unlimitedLsn) return false;
  return lost.some(({ afterLsn, beforeLsn }) => afterLsn < lsn && lsn < beforeLsn);
}

/** In `epochs`, [afterLsn, beforeLsn, afterLsn, beforeLsn, …]: the lost numbers. */
export const lostKey = "lost";

export function lostChange(lost: readonly LostNumbers[]): Change {
  const ends = lost.flatMap(({ afterLsn, beforeLsn }) => [afterLsn, beforeLsn]);
  return { table: "epochs", key: lostKey, value: ends };
}

/** Null for what `lostChange` never wrote. */
export function lostFromStored(ends: readonly unknown[]): LostNumbers[] | null {
  const lost: LostNumbers[] = [];
  for (let i = 0; i < ends.length; i += 2) {
    const [afterLsn, beforeLsn] = ends.slice(i, i + 2);
    if (!isCount(afterLsn) || !isCount(beforeLsn)) return null;
    lost.push({ afterLsn, beforeLsn });
  }
  return lost;
}

/** In `epochs`, [lsn]: every batch up to this number is on the disk. */
export const writtenKey = "written";

/** Commit it after the batch of this number. */
export function writtenChange(lsn: number): Change {
  return { table: "epochs", key: writtenKey, value: [lsn] };
}

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
 * The first number of an epoch that begins now. `lastLsn`: the highest number on the disk. Later
 * epochs than the last one on the disk may have assigned numbers to leases that proxies still hold.
 * After a reboot no proxy holds any.
 */
export function nextEpochLsn(lastLsn: number, last: StoredEpoch | null, now: HostUptime): number {
  const sinceMs = last?.boot === now.boot ? Math.max(0, now.upMs - last.upMs) : now.upMs;
  return lastLsn + lsnGap + sinceMs * lsnsPerMs;
}

export function epochChange(lsn: number, { boot, upMs }: HostUptime): Change {
  return { table: "epochs", key: epochStartKey, value: [lsn, boot, upMs] };
}
