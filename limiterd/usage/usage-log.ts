/**
 * The records of executed requests on their way into the store, and how far their sums are there. A
 * record counts in the sums at once, and reaches the disk in the commit of its settle; a repeated
 * settle adds nothing, so a record never gets here twice. One number, the record's key, which
 * ascends with recording, separates the records that the sums on the disk hold from the others.
 */
import { rollupRecordsMax, rollupsDirtyMax } from "../../shared/bounds.js";
import type { Contributor } from "../store/writer.js";
import type { RecordDays } from "./record-days.js";
import type { Cell, OtherHostsUsage, Rollups } from "./rollups.js";
import { recordsToStored, type UsageRecord } from "./usage-records.js";

/** Records that the store doesn't hold yet. */
interface UnwrittenRecords {
  readonly key: number;
  readonly records: readonly UsageRecord[];
}

export interface UsageLog extends Contributor {
  readonly rollups: Rollups;
  readonly days: RecordDays;
  /** The other hosts that usage is shared with; null without a cluster. */
  others: OtherHostsUsage | null;
  /** The key of the last batch that was closed, in this epoch or an earlier one; 0 before any. */
  readonly lastKey: number;
  /** The sums in the store hold every record up to this key: no start will need those again. */
  rolledUpKey: number;
  /** Adds the record of a settle that the open batch of the journal has taken. */
  add(record: UsageRecord, nowMs: number): void;
  /** Of the batch that gathers, under the key that it will have. */
  readonly open: UnwrittenRecords;
  /** Of the batches that are closed. */
  unwritten(): readonly UnwrittenRecords[];
  /** Hands out the sums that have changed, and begins to count anew what there is to write. */
  takeDirty(): Cell[];
  /**
   * `run` is called when there is much to write, and with each further record until it is taken.
   */
  onFlushDue(run: () => void): void;
}

/** How far an earlier epoch has got. */
interface UsageKeys {
  readonly lastKey: number;
  readonly rolledUpKey: number;
  /** Records that were added to the sums again. */
  readonly replayed: number;
  readonly days: RecordDays;
}

export function createUsageLog(rollups: Rollups, before: UsageKeys): UsageLog {
  let { lastKey, rolledUpKey } = before;
  let open: UsageRecord[] = [];
  /** When the first record of the open batch ended, and when the last one was recorded. */
  let fromMs = 0;
  let latestMs = 0;
  let gathered = before.replayed;
  let flushDue = (): void => {};
  const closed: {
    readonly key: number;
    readonly lsn: number;
    readonly records: readonly UsageRecord[];
  }[] = [];
  return {
    rollups,
    days: before.days,
    others: null,
    get lastKey() {
      return lastKey;
    },
    get rolledUpKey() {
      return rolledUpKey;
    },
    set rolledUpKey(key) {
      rolledUpKey = key;
    },
    get open() {
      return { key: lastKey + 1, records: open };
    },
    add(record, nowMs) {
      // A batch stays open while the store fails, for days and steps of the clock.
      const first = open.length === 0;
      fromMs = first ? record.atMs : Math.min(fromMs, record.atMs);
      latestMs = first ? nowMs : Math.max(latestMs, nowMs);
      open.push(record);
      rollups.add(record);
      gathered++;
      if (gathered >= rollupRecordsMax || rollups.dirty >= rollupsDirtyMax) flushDue();
    },
    changes(lsn) {
      if (open.length === 0) return [];
      lastKey++;
      closed.push({ key: lastKey, lsn, records: open });
      const value = recordsToStored(lsn, open);
      open = [];
      return [
        { table: "usage", key: lastKey, value },
        ...before.days.add(lastKey, fromMs, latestMs),
      ];
    },
    committed(lsn) {
      while (closed.length > 0 && closed[0]!.lsn <= lsn) closed.shift();
    },
    unwritten: () => closed,
    takeDirty() {
      gathered = 0;
      return rollups.takeDirty();
    },
    onFlushDue(run) {
      flushDue = run;
    },
  };
}
