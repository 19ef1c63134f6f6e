/**
 * The records of executed requests on their way into the store, with the sums that they move. A record
 * counts at once, and reaches the disk in the commit of the settle that told it; a settle that comes
 * again tells nothing new, so it never gets here twice.
 */
import type { Rollups } from "./rollups.js";
import { recordsToStored, usageKey, type UsageRecord } from "./usage-records.js";
import type { Store } from "./store.js";
import type { Contributor } from "./writer.js";

/** Records that the store doesn't hold yet; `key` null: their batch is still open. */
export interface UnwrittenRecords {
  readonly key: number | null;
  readonly records: readonly UsageRecord[];
}

export interface UsageLog extends Contributor {
  readonly rollups: Rollups;
  /** The key of the last batch that was closed, in this life or an earlier one; 0 before any. */
  readonly lastKey: number;
  /** Adds the record of a settle that the open batch of the journal has taken. */
  add(record: UsageRecord, nowMs: number): void;
  unwritten(): readonly UnwrittenRecords[];
}

/** Begins above the last record that `store` holds. */
export function createUsageLog(store: Store, rollups: Rollups): UsageLog {
  let lastKey = Number(store.keys("usage", { from: 0, before: Number.MAX_SAFE_INTEGER, limit: 1, reverse: true })[0] ?? 0);
  let open: UsageRecord[] = [];
  let latestMs = 0;
  const closed: { readonly key: number; readonly lsn: number; readonly records: readonly UsageRecord[] }[] = [];
  return {
    rollups,
    get lastKey() { return lastKey; },
    add(record, nowMs) {
      // A batch stays open while the store fails: whoever reads from a moment on must find what ended after it.
      latestMs = open.length === 0 ? nowMs : Math.max(latestMs, nowMs);
      open.push(record);
      rollups.add(record);
    },
    changes(lsn) {
      if (open.length === 0) return [];
      // A clock that stepped back must not make it descend.
      lastKey = Math.max(lastKey + 1, usageKey(latestMs));
      closed.push({ key: lastKey, lsn, records: open });
      const changes = rollups.changes(lsn);
      changes.push({ table: "usage", key: lastKey, value: recordsToStored(lsn, open) });
      open = [];
      return changes;
    },
    committed(lsn) {
      while (closed.length > 0 && closed[0]!.lsn <= lsn) closed.shift();
      rollups.committed(lsn);
    },
    unwritten: () => (open.length === 0 ? closed : [...closed, { key: null, records: open }]),
  };
}
