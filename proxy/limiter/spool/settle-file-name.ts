/**
 * Files of settles by their names, and who may deliver one. While a proxy delivers a file, its name
 * says which, and the file is touched now and then; so one that a dead proxy had taken is free
 * again after a while. Should two deliver the same file all the same, nothing is counted twice: the
 * daemon knows the settles by their numbers. So two things are left to the names and times: that
 * work isn't done twice, and that nothing is delivered which the daemon may have forgotten.
 */
import { settledRetentionMs } from "../../../shared/bounds.js";
import type { SettleFileHead } from "./settle-file.js";

/** A file that isn't touched for so long is no longer being delivered. */
export const takenMs = 10_000;

/** The daemon's own time for it is longer: clocks and its last write of it differ a little. */
const rememberedMs = settledRetentionMs - 24 * 3_600_000;

interface SettleFileName {
  readonly proxyId: string;
  /** Which proxy delivers it; empty: it was given up; null: none ever did. */
  readonly takenBy: string | null;
}

/** Null for any other file. */
export function parseFileName(name: string): SettleFileName | null {
  const [, proxyId, takenBy = null] = /^([\w-]{1,64})\.settles(?:~([\w-]*))?$/.exec(name) ?? [];
  return proxyId === undefined ? null : { proxyId, takenBy };
}

export function fileName({ proxyId, takenBy }: SettleFileName): string {
  return `${proxyId}.settles${takenBy === null ? "" : `~${takenBy}`}`;
}

/** Whether a proxy was killed while it wrote the file, which is incomplete. */
export function isUnfinished(name: string): boolean {
  return name.endsWith(unfinished);
}

export const unfinished = ".settles.part";

/** What is appended to the name of a file that can't be delivered. */
export const refused = ".refused";

/** Whether the file may be taken. */
export function isFree({ takenBy }: SettleFileName, touchedAtMs: number, nowMs: number): boolean {
  return takenBy === null || takenBy === "" || nowMs - touchedAtMs > takenMs;
}

/**
 * Whether the daemon may have forgotten how many of the settles it has counted. `triedAtMs`: when
 * it was last tried to deliver them; null: never.
 */
export function isForgotten(
  { sentAtMs }: Pick<SettleFileHead, "sentAtMs">,
  triedAtMs: number | null,
  nowMs: number,
): boolean {
  const knownAtMs = Math.max(sentAtMs, triedAtMs ?? 0);
  return knownAtMs > 0 && nowMs - knownAtMs > rememberedMs;
}
