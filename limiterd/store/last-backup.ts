/**
 * When the last backup of the store was made that the command which asked for it has kept. The copy
 * itself lacks this note, so a restored store knows only of the backup before it. Pure.
 *
 * `marks`, [lastMs, sinceMs] under `backups`; lastMs is 0 before the first.
 */
import { isCount } from "../../shared/checked.js";
import { isMoment } from "../../shared/time.js";
import { type Change, type Store, throwMalformed } from "./store.js";

export interface LastBackup {
  /** The time that the last backup captures; null: none was made since `sinceMs`. */
  readonly atMs: number | null;
  /** Since when backups are noted. */
  readonly sinceMs: number;
}

const markKey = "backups";

/**
 * Reads the note at a start; if there is none, `changes` write a new one. Throws
 * `StoreUnreadableError`.
 */
export function storedLastBackup(
  store: Store,
  nowMs: number,
): { readonly lastBackup: LastBackup; readonly changes: readonly Change[] } {
  const mark = store.get("marks", markKey);
  if (mark === undefined) {
    const lastBackup = { atMs: null, sinceMs: nowMs };
    return { lastBackup, changes: [lastBackupChange(lastBackup)] };
  }
  const [atMs, sinceMs] = mark;
  if (!isCount(atMs) || !isMoment(sinceMs)) throwMalformed(store, "marks", markKey);
  return { lastBackup: { atMs: atMs === 0 ? null : atMs, sinceMs }, changes: [] };
}

/**
 * The note after a backup of `atMs` was kept: the later of both, unless the known one is in the
 * future because the clock was set back.
 */
export function laterBackup(last: LastBackup, atMs: number, nowMs: number): LastBackup {
  const storedMs = last.atMs !== null && last.atMs <= nowMs ? last.atMs : 0;
  return { atMs: Math.max(storedMs, atMs), sinceMs: last.sinceMs };
}

export function lastBackupChange({ atMs, sinceMs }: LastBackup): Change {
  return { table: "marks", key: markKey, value: [atMs ?? 0, sinceMs] };
}
