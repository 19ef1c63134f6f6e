/**
 * Writes all changes to the store, in one order. Settles gather in the open batch of the journal;
 * closing it gives the batch its log sequence number (lsn) and opens the next. Batches and other
 * changes are committed one after the other: a failed commit is tried again and holds back all that
 * follow it, so that what is on disk is always a prefix of what happened. What a journal entry
 * holds is in `journal-entry.ts`.
 */
import {
  changesWaitingMax,
  journalBatchMax,
  journalEntriesMax,
  windowsPerSlice,
} from "../../shared/bounds.js";
import type { Contributor } from "./contributor.js";
import { type JournalEntry, journalToStored } from "./journal-entry.js";
import { type Change, type Store, StoreBrokenError } from "./store.js";

interface WriterPorts {
  readonly store: Store;
  /** Runs `run` after `ms`. */
  schedule(ms: number, run: () => void): void;
  /** Called each time a commit fails, and with null when one succeeds after that. */
  onStoreState(error: Error | null): void;
}

interface WriterOptions {
  /** The batches that an earlier epoch left in the journal, ascending. */
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

/** Approximate bytes of a settle in the journal. */
const entryBytes = 120;

export class Writer {
  readonly #ports: WriterPorts;
  readonly #options: WriterOptions;
  #lsn: number;
  #batch: JournalEntry[] = [];
  /** What runs once the open batch is committed, for each of its entries. */
  #batchDone: (() => void)[] = [];
  /** Bytes of each batch in the journal, estimated, in the order of their numbers. */
  readonly #batchBytes: Map<number, number>;
  #journalBytes = 0;
  readonly #jobs: Job[] = [];
  #committing = false;
  #commitScheduled = false;
  #commitDue = false;
  #failing: Error | null = null;
  /** Callers of `tryWrite` that wait for their commit, or for the first that fails. */
  readonly #waiting = new Set<(failing: Error | null) => void>();
  #closed = false;
  #pendingEntries = 0;
  #unjournaled = 0;

  constructor(ports: WriterPorts, options: WriterOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#lsn = options.firstLsn;
    this.#batchBytes = new Map(options.journaled.map((lsn) => [lsn, 0]));
  }

  /** The log sequence number of the open batch: changes made now are part of it. */
  get lsn(): number {
    return this.#lsn;
  }

  /** Journal bytes not yet removed, estimated; for the bound when there is no periodic snapshot. */
  get journalBytes(): number {
    return this.#journalBytes;
  }

  /** The last failure to write, or null when the store works. */
  get failing(): Error | null {
    return this.#failing;
  }

  /** So much waits for a store that fails that whoever can should add nothing. */
  get isFull(): boolean {
    return this.#failing !== null && this.#jobs.length >= changesWaitingMax;
  }

  /**
   * Settles that were charged in memory but not journaled, because the store failed for too long:
   * a crash before it works again loses them.
   */
  get unjournaled(): number {
    return this.#unjournaled;
  }

  /**
   * Adds a settle to the open batch; `onDurable` runs once it is committed. False: it was not
   * taken, so nothing that it causes may be written either.
   */
  journal(entry: JournalEntry, onDurable: () => void): boolean {
    if (this.#closed) return false;
    if (this.#failing !== null && this.#pendingEntries >= journalEntriesMax) {
      this.#unjournaled++;
      return false;
    }
    if (this.#batch.length >= journalBatchMax) this.closeBatch();
    this.#pendingEntries++;
    this.#batch.push(entry);
    this.#batchDone.push(onDurable);
    if (this.#commitScheduled) return true;
    this.#commitScheduled = true;
    this.#ports.schedule(this.#options.commitDelayMs, () => {
      this.#commitDue = true;
      this.#commitBatch();
    });
    return true;
  }

  /**
   * Closes the open batch, queues it, and returns its lsn: everything until now is at or below it.
   */
  closeBatch(): number {
    const lsn = this.#lsn++;
    if (this.#batch.length === 0) return lsn;
    const { contributors } = this.#options;
    const done = this.#batchDone;
    const changes: Change[] = [{ table: "journal", key: lsn, value: journalToStored(this.#batch) }];
    for (const contributor of contributors)
      for (const change of contributor.changes(lsn)) changes.push(change);
    this.#jobs.push({
      changes,
      done: () => {
        this.#pendingEntries -= done.length;
        for (const contributor of contributors) contributor.committed(lsn);
        for (const run of done) run();
      },
    });
    const bytes = this.#batch.length * entryBytes;
    this.#batchBytes.set(lsn, bytes);
    this.#journalBytes += bytes;
    this.#batch = [];
    this.#batchDone = [];
    return lsn;
  }

  /**
   * Queues changes behind all that is queued. Resolved: they are committed. After `close` they are
   * dropped, and it never is.
   */
  write(changes: readonly Change[]): Promise<void> {
    return new Promise((resolve) => {
      if (this.#closed) return;
      this.#jobs.push({ changes, done: resolve });
      this.#pump();
    });
  }

  /**
   * As `write`, for a change that a client waits for: null once they are committed, or why the
   * store can't be written, as soon as that is known. They stay queued and are committed when it
   * works again.
   */
  tryWrite(changes: readonly Change[]): Promise<Error | null> {
    // What is queued is tried again and again.
    if (changes.length === 0 && this.#failing !== null) return Promise.resolve(this.#failing);
    return new Promise((resolve) => {
      if (this.#closed) return;
      const finish = (outcome: Error | null): void => {
        this.#waiting.delete(finish);
        resolve(outcome);
      };
      this.#waiting.add(finish);
      this.#jobs.push({ changes, done: () => finish(null) });
      this.#pump();
      if (this.#failing !== null) finish(this.#failing);
    });
  }

  /**
   * Commits all that is queued; later changes are not taken. Never resolved while the store fails.
   */
  close(): Promise<void> {
    this.closeBatch();
    this.#closed = true;
    return new Promise((resolve) => {
      this.#jobs.push({ changes: [], done: resolve });
      this.#pump();
    });
  }

  /**
   * Changes that remove the batches up to `upTo`; to be written once they are covered by what was
   * written before.
   */
  removeJournal(upTo: number): Change[] {
    const removals: Change[] = [];
    for (const [lsn, bytes] of this.#batchBytes) {
      if (lsn > upTo) break;
      this.#batchBytes.delete(lsn);
      this.#journalBytes -= bytes;
      removals.push({ table: "journal", key: lsn, value: undefined });
    }
    return removals;
  }

  /**
   * While a commit runs, or fails and is tried again, the batch stays open and gathers: fewer and
   * fuller batches write the same sums less often.
   */
  #commitBatch(): void {
    if (!this.#commitDue || this.#committing || this.#closed) return;
    this.#commitDue = false;
    this.#commitScheduled = false;
    this.closeBatch();
    this.#pump();
  }

  /** Commits the next jobs together, as many as fit into a slice. */
  #pump(): void {
    if (this.#committing || this.#jobs.length === 0) return;
    this.#committing = true;
    let changes = 0;
    let taken = 0;
    while (
      taken < this.#jobs.length &&
      (taken === 0 || changes + this.#jobs[taken]!.changes.length <= windowsPerSlice)
    )
      changes += this.#jobs[taken++]!.changes.length;
    void this.#commit(this.#jobs.splice(0, taken));
  }

  async #commit(jobs: readonly Job[]): Promise<void> {
    try {
      await this.#ports.store.commit(jobs.flatMap((job) => job.changes));
    } catch (error) {
      const failing = error as Error;
      this.#failing = failing;
      this.#ports.onStoreState(failing);
      for (const finish of this.#waiting) finish(failing);
      if (failing instanceof StoreBrokenError) return;
      this.#ports.schedule(this.#options.retryMs, () => void this.#commit(jobs));
      return;
    }
    if (this.#failing !== null) {
      this.#failing = null;
      this.#ports.onStoreState(null);
    }
    this.#committing = false;
    for (const job of jobs) job.done();
    this.#commitBatch();
    this.#pump();
  }
}
