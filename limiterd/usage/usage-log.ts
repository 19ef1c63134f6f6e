/**
 * The records of executed requests on their way to the store, and the progress of their sums. A
 * record is added to the sums immediately and reaches the disk in the commit of its settle. A
 * repeated settle adds nothing, so a record never arrives here twice. Record keys ascend with
 * recording, so one key separates the records that the stored sums include from the others.
 */
import { rollupRecordsMax, rollupsDirtyMax } from "../../shared/bounds.js";
import { isCount } from "../../shared/checked.js";
import { type Change, type Store, throwMalformed } from "../store/store.js";
import type { Contributor } from "../store/writer.js";
import { type RecordDays, storedRecordDays } from "./record-days.js";
import { type Cell, type OtherHostsUsage, type RollupPorts, Rollups } from "./rollups.js";
import { recordsFromStored, recordsToStored, type UsageRecord } from "./usage-records.js";

/** Records that aren't in the store yet. */
interface UnwrittenRecords {
  readonly key: number;
  readonly records: readonly UsageRecord[];
}

/** What `restoreUsage` found in the store, and did. */
interface UsageProgress {
  readonly lastKey: number;
  readonly rolledUpKey: number;
  /** Records that were added to the sums again. */
  readonly replayed: number;
  readonly days: RecordDays;
}

interface ClosedBatch extends UnwrittenRecords {
  readonly lsn: number;
}

export class UsageLog implements Contributor {
  readonly rollups: Rollups;
  readonly days: RecordDays;
  /** The other hosts that usage is shared with; null without a cluster. */
  otherHosts: OtherHostsUsage | null = null;
  /** The stored sums include every record up to this key, so no start needs these records. */
  rolledUpKey: number;
  #lastKey: number;
  #open: UsageRecord[] = [];
  /** When the first record of the open batch ended, and when the last one was recorded. */
  #fromMs = 0;
  #latestMs = 0;
  /** The number of records since all sums were last written. */
  #recordsSinceFlush: number;
  #runFlush = (): void => {};
  readonly #closed: ClosedBatch[] = [];

  constructor(rollups: Rollups, { lastKey, rolledUpKey, replayed, days }: UsageProgress) {
    this.rollups = rollups;
    this.days = days;
    this.rolledUpKey = rolledUpKey;
    this.#lastKey = lastKey;
    this.#recordsSinceFlush = replayed;
  }

  /** The key of the last closed batch, in this epoch or an earlier one; 0 before the first. */
  get lastKey(): number {
    return this.#lastKey;
  }

  /** The records of the open batch, under their future key. */
  get open(): UnwrittenRecords {
    return { key: this.#lastKey + 1, records: this.#open };
  }

  /** Adds the record of a settle of the open batch. */
  add(record: UsageRecord, nowMs: number): void {
    // A batch stays open while the store fails, possibly for days and across clock steps.
    const isFirst = this.#open.length === 0;
    this.#fromMs = isFirst ? record.atMs : Math.min(this.#fromMs, record.atMs);
    this.#latestMs = isFirst ? nowMs : Math.max(this.#latestMs, nowMs);
    this.#open.push(record);
    this.rollups.add(record);
    this.#recordsSinceFlush++;
    if (this.#recordsSinceFlush >= rollupRecordsMax || this.rollups.dirtyCount >= rollupsDirtyMax)
      this.#runFlush();
  }

  changes(lsn: number): Change[] {
    if (this.#open.length === 0) return [];
    const key = ++this.#lastKey;
    const value = recordsToStored(lsn, this.#open);
    this.#closed.push({ key, lsn, records: this.#open });
    this.#open = [];
    return [{ table: "usage", key, value }, ...this.days.add(key, this.#fromMs, this.#latestMs)];
  }

  committed(lsn: number): void {
    while (this.#closed.length > 0 && this.#closed[0]!.lsn <= lsn) this.#closed.shift();
  }

  /** The records of closed batches. */
  unwritten(): readonly UnwrittenRecords[] {
    return this.#closed;
  }

  /** Returns the changed sums and starts counting records from 0. */
  takeDirty(): Cell[] {
    this.#recordsSinceFlush = 0;
    return this.rollups.takeDirty();
  }

  /** Calls `run` when there is much to write, and for each further record until `takeDirty`. */
  onFlushDue(run: () => void): void {
    this.#runFlush = run;
  }
}

/**
 * Restores the progress of the stored sums, and adds the later records to them again. Each sum has
 * the key of the last record in it, so it takes only the records that it lacks. Reads only the
 * records since all sums were last written. Throws `StoreUnreadableError`.
 */
export function restoreUsage(ports: RollupPorts): UsageLog {
  const { store } = ports;
  const rollups = new Rollups(ports);
  const rolledUpKey = storedRollupProgress(store);
  const days = storedRecordDays(store);
  let lastKey = rolledUpKey;
  let replayed = 0;
  for (;;) {
    const [entry] = store.range("usage", {
      from: lastKey + 1,
      before: Number.MAX_SAFE_INTEGER,
      limit: 1,
    });
    if (entry === undefined) return new UsageLog(rollups, { lastKey, rolledUpKey, replayed, days });
    lastKey = Number(entry.key);
    for (const record of recordsFromStored(entry.value) ??
      throwMalformed(store, "usage", lastKey)) {
      rollups.replay(record, lastKey);
      replayed++;
    }
  }
}

const markKey = "rolled_up";

export function rollupProgressChange(recordKey: number): Change {
  return { table: "marks", key: markKey, value: [recordKey] };
}

/**
 * The key of the last record that all stored sums include; 0 before sums were written. Throws
 * `StoreUnreadableError`.
 */
export function storedRollupProgress(store: Store): number {
  const mark = store.get("marks", markKey);
  if (mark === undefined) return 0;
  const [recordKey] = mark;
  return isCount(recordKey) ? recordKey : throwMalformed(store, "marks", markKey);
}
