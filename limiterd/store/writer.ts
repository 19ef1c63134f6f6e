/**
 * The one order in which things reach the store. Settles gather in the open batch of the journal;
 * closing it gives the batch its log sequence number (lsn) and opens the next. Batches and other
 * changes are committed one after the other: a failed commit is tried again and holds back all that
 * comes after it, so that what is on disk is always a prefix of what happened.
 */
import { journalBatchMax, journalEntriesMax, windowsPerSlice } from "../../shared/bounds.js";
import { type JournalEntry, journalToStored } from "./journal-entry.js";
import type { Change, Store } from "./store.js";

export interface WriterPorts {
  readonly store: Store;
  /** Runs `run` after `ms`. */
  schedule(ms: number, run: () => void): void;
  /** Told each time a commit fails, and with null when one succeeds after that. */
  onStoreState(error: Error | null): void;
}

/**
 * Somebody who writes with the journal: what a batch's settles changed reaches the disk in the
 * batch's own commit, or not at all.
 */
export interface Contributor {
  /**
   * A batch that isn't empty closes: what its settles changed since the last call, to be committed
   * with it.
   */
  changes(lsn: number): readonly Change[];
  /** The batch is committed; batches are, one after the other. */
  committed(lsn: number): void;
}

export interface Writer {
  /** The log sequence number of the open batch: whatever happens now belongs to it. */
  readonly lsn: number;
  /**
   * Journal bytes written and not yet removed, estimated; for the bound when there is no periodic
   * snapshot.
   */
  readonly journalBytes: number;
  /** The last failure to write, or null when the store works. */
  readonly failing: Error | null;
  /**
   * Settles that were charged in memory but not journaled, because the store failed for too long: a
   * crash before it works again loses them.
   */
  readonly unjournaled: number;
  /**
   * Adds a settle to the open batch; `onDurable` runs once it is committed. False: it was not
   * taken, so that nothing that it causes may be written either.
   */
  journal(entry: JournalEntry, onDurable: () => void): boolean;
  /**
   * Closes the open batch, queues it, and returns its lsn: everything until now is at or below it.
   */
  closeBatch(): number;
  /**
   * Queues changes behind all that is queued. Resolved: they are committed. After `close` they are
   * dropped, and it never is.
   */
  write(changes: readonly Change[]): Promise<void>;
  /**
   * As `write`, for somebody who waits: null once they are committed, or why the store can't be
   * written, as soon as that is known. They stay queued and are committed when it works again.
   */
  tryWrite(changes: readonly Change[]): Promise<Error | null>;
  /**
   * Commits all that is queued; what comes later is not taken. Never resolved while the store
   * fails.
   */
  close(): Promise<void>;
  /**
   * What removes the batches up to `lsn`; to be written once they are covered by what was written
   * before.
   */
  removeJournal(lsn: number): Change[];
}

export interface WriterOptions {
  /** The batches that an earlier life left in the journal, ascending. */
  readonly journaled: readonly number[];
  readonly firstLsn: number;
  /** How long a settle waits for others to share its commit. */
  readonly commitDelayMs: number;
  readonly retryMs: number;
  readonly contributors: readonly Contributor[];
}

interface Job {
  readonly changes: readonly Change[];
  readonly done: () => void;
}

const entryBytes = 120;

export function createWriter(ports: WriterPorts, options: WriterOptions): Writer {
  let lsn = options.firstLsn;
  let batch: JournalEntry[] = [];
  let batchDone: (() => void)[] = [];
  const batchBytes = new Map<number, number>(options.journaled.map((batchLsn) => [batchLsn, 0]));
  let journalBytes = 0;
  const jobs: Job[] = [];
  let committing = false;
  let commitScheduled = false;
  let commitDue = false;
  let failing: Error | null = null;
  /** Those who wait for a commit, to be told when one fails. */
  const waiting = new Set<(failing: Error | null) => void>();
  let closed = false;
  let pendingEntries = 0;
  let unjournaled = 0;

  function closeBatch(): number {
    const closed = lsn++;
    if (batch.length > 0) {
      const done = batchDone;
      const changes: Change[] = [{ table: "journal", key: closed, value: journalToStored(batch) }];
      for (const contributor of options.contributors)
        for (const change of contributor.changes(closed)) changes.push(change);
      jobs.push({
        changes,
        done: () => {
          pendingEntries -= done.length;
          for (const contributor of options.contributors) contributor.committed(closed);
          for (const run of done) run();
        },
      });
      batchBytes.set(closed, batch.length * entryBytes);
      journalBytes += batch.length * entryBytes;
      batch = [];
      batchDone = [];
    }
    return closed;
  }

  /**
   * While a commit runs, or fails and is tried again, the batch stays open and gathers: fewer and
   * fuller batches write the same sums less often.
   */
  function commitBatch(): void {
    if (!commitDue || committing || closed) return;
    commitDue = false;
    commitScheduled = false;
    closeBatch();
    pump();
  }

  function pump(): void {
    if (committing || jobs.length === 0) return;
    committing = true;
    let changes = 0;
    let taken = 0;
    while (
      taken < jobs.length &&
      (taken === 0 || changes + jobs[taken]!.changes.length <= windowsPerSlice)
    )
      changes += jobs[taken++]!.changes.length;
    void commit(jobs.splice(0, taken));
  }

  async function commit(taken: readonly Job[]): Promise<void> {
    try {
      await ports.store.commit(taken.flatMap((job) => job.changes));
    } catch (error) {
      failing = error instanceof Error ? error : new Error(String(error));
      ports.onStoreState(failing);
      for (const tell of waiting) tell(failing);
      ports.schedule(options.retryMs, () => void commit(taken));
      return;
    }
    if (failing !== null) {
      failing = null;
      ports.onStoreState(null);
    }
    committing = false;
    for (const job of taken) job.done();
    commitBatch();
    pump();
  }

  return {
    get lsn() {
      return lsn;
    },
    get journalBytes() {
      return journalBytes;
    },
    get failing() {
      return failing;
    },
    get unjournaled() {
      return unjournaled;
    },
    journal(entry, onDurable) {
      if (closed) return false;
      if (failing !== null && pendingEntries >= journalEntriesMax) {
        unjournaled++;
        return false;
      }
      if (batch.length >= journalBatchMax) closeBatch();
      pendingEntries++;
      batch.push(entry);
      batchDone.push(onDurable);
      if (commitScheduled) return true;
      commitScheduled = true;
      ports.schedule(options.commitDelayMs, () => {
        commitDue = true;
        commitBatch();
      });
      return true;
    },
    closeBatch,
    write(changes) {
      return new Promise((resolve) => {
        if (closed) return;
        jobs.push({ changes, done: resolve });
        pump();
      });
    },
    tryWrite(changes) {
      return new Promise((resolve) => {
        if (closed) return;
        const tell = (outcome: Error | null): void => {
          waiting.delete(tell);
          resolve(outcome);
        };
        waiting.add(tell);
        jobs.push({ changes, done: () => tell(null) });
        pump();
        if (failing !== null) tell(failing);
      });
    },
    close() {
      closeBatch();
      closed = true;
      return new Promise((resolve) => {
        jobs.push({ changes: [], done: resolve });
        pump();
      });
    },
    removeJournal(upTo) {
      const removals: Change[] = [];
      for (const [batchLsn, bytes] of batchBytes) {
        if (batchLsn > upTo) break;
        batchBytes.delete(batchLsn);
        journalBytes -= bytes;
        removals.push({ table: "journal", key: batchLsn, value: undefined });
      }
      return removals;
    },
  };
}

/**
 * Queues changes of any number in slices, in their order, so that none of their commits stalls the
 * loop.
 */
export async function writeSlices(writer: Writer, changes: readonly Change[]): Promise<void> {
  const slices: Promise<void>[] = [];
  for (let i = 0; i < changes.length; i += windowsPerSlice)
    slices.push(writer.write(changes.slice(i, i + windowsPerSlice)));
  await Promise.all(slices);
}
