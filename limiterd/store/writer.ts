/**
 * Writes all changes to the store, in one order. Settles and counts gather in the open batch of the
 * journal. Each batch has a log sequence number (lsn); closing one opens the next. Batches and
 * other changes are committed in the order in which they are queued (`CommitQueue`), so that the
 * disk always has a prefix of all changes.
 */
import {
  changesWaitingMax,
  commitDelayMs,
  journalBatchMax,
  journalCountedMax,
  journalEntriesMax,
  windowsPerSlice,
} from "../../shared/bounds.js";
import { isCount } from "../../shared/checked.js";
import { append } from "../../shared/long-lists.js";
import { type Change, type Store, StoreBrokenError } from "./store.js";

/** The counts of the open batch. */
interface CountedPort {
  /** How many entries it has: one for each half of a window that has changed. */
  readonly size: number;
  /** Set by the writer: counts are dropped, not logged. */
  isPaused: boolean;
  take(): readonly unknown[];
}

interface WriterPorts extends Omit<QueuePorts, "onCommit"> {
  readonly counted: CountedPort;
}

interface WriterOptions {
  /** The lsns of the batches that earlier epochs left in the journal, ascending. */
  readonly journaled: readonly number[];
  readonly firstLsn: number;
  readonly retryMs: number;
  readonly contributors: readonly Contributor[];
}

/** Approximate bytes of a journal entry: of a proxy's last settle, or of half a window's counts. */
const entryBytes = 48;

export class Writer {
  readonly #counted: CountedPort;
  readonly #schedule: WriterPorts["schedule"];
  readonly #contributors: readonly Contributor[];
  /** The contributors whose changes go into the open batch. */
  readonly #batchContributors = new Set<Pick<Contributor, "changes">>();
  readonly #queue: CommitQueue;
  #lsn: number;
  /** The settles of the open batch. */
  #settles = new BatchSettles();
  /** Other changes that are committed with the open batch. */
  #batchChanges: Change[] = [];
  /** Bytes of each batch in the journal, estimated, in the order of their numbers. */
  readonly #batchBytes: Map<number, number>;
  #journalBytes = 0;
  /** Whether the open batch is committed after a delay, unless something closes it earlier. */
  #isScheduled = false;
  #isCommitDue = false;
  /** Whether the open batch has changes without a settle. */
  #hasContributions = false;
  #isClosed = false;
  #pendingEntries = 0;
  #unjournaled = 0;

  constructor(ports: WriterPorts, options: WriterOptions) {
    this.#counted = ports.counted;
    this.#schedule = ports.schedule;
    this.#queue = new CommitQueue(
      {
        ...ports,
        onCommit: () => {
          this.#pauseAtBound();
          this.#commitBatch();
        },
      },
      options.retryMs,
    );
    this.#contributors = options.contributors;
    this.#lsn = options.firstLsn;
    this.#batchBytes = new Map(options.journaled.map((lsn) => [lsn, 0]));
  }

  /** The lsn of the open batch: changes made now are part of it. */
  get lsn(): number {
    return this.#lsn;
  }

  /** The estimated bytes of the journal: it is bounded even if no snapshot is due. */
  get journalBytes(): number {
    return this.#journalBytes;
  }

  /** The last failure to write, or null when the store works. */
  get failing(): Error | null {
    return this.#queue.failing;
  }

  /** Whether a commit runs, and how many have ended. */
  get commits(): Pick<CommitQueue, "isCommitting" | "ended"> {
    return this.#queue;
  }

  /** Whether the store fails and `changesWaitingMax` changes wait: callers should add no more. */
  get isFull(): boolean {
    return this.#queue.failing !== null && this.#queue.length >= changesWaitingMax;
  }

  /**
   * Settles that were charged in memory but not journaled because the store failed for too long: a
   * crash before it works again loses them.
   */
  get unjournaled(): number {
    return this.#unjournaled;
  }

  /**
   * Adds a settle to the open batch; everything that is counted later in this turn is in the same
   * batch. Once the batch is committed, `onDurable` gets the number of the proxy's last settle in
   * it; each proxy must always pass the same function. Returns false if the settle wasn't added:
   * then its effects must not be written either.
   */
  journal(proxyId: string, seq: number, onDurable: (seq: number) => void): boolean {
    if (this.#isClosed) return false;
    this.#pauseAtBound();
    if (this.#counted.isPaused) {
      this.#unjournaled++;
      return false;
    }
    this.#closeIfFull();
    this.#pendingEntries++;
    this.#settles.add(proxyId, seq, onDurable);
    this.#commitSoon();
    return true;
  }

  /**
   * Asks a contributor for changes only when the open batch closes, after the contributors to every
   * batch.
   */
  contribute(contributor: Pick<Contributor, "changes">): void {
    this.#batchContributors.add(contributor);
  }

  /** Adds changes to the open batch, so that they are committed with their cause. */
  addToBatch(changes: readonly Change[]): void {
    append(this.#batchChanges, changes);
  }

  /** Closes the open batch because contributors have changes, even if it has no settle. */
  closeContributed(): void {
    if (this.#isClosed) return;
    this.#hasContributions = true;
    this.closeBatch();
    this.#queue.pump();
  }

  /** Call when something was counted without a settle. */
  noteCounted(): void {
    this.#pauseAtBound();
    if (this.#isClosed || this.#counted.size === 0) return;
    this.#commitSoon();
    this.#closeIfFull();
  }

  /**
   * Closes and queues the open batch. Returns its lsn: everything counted until now is at or below
   * it.
   */
  closeBatch(): number {
    const lsn = this.#lsn++;
    this.#isScheduled = false;
    this.#isCommitDue = false;
    const counted = this.#counted;
    const countedEntries = counted.size;
    const settles = this.#settles;
    if (settles.size === 0 && countedEntries === 0 && !this.#hasContributions) return lsn;
    this.#hasContributions = false;
    const contributors = this.#contributors;
    const settled = settles.last();
    const value = batchToStored({ settled, counted: counted.take() });
    const changes: Change[] = [{ table: "journal", key: lsn, value }];
    for (const contributor of contributors) append(changes, contributor.changes(lsn));
    for (const contributor of this.#batchContributors) append(changes, contributor.changes(lsn));
    this.#batchContributors.clear();
    append(changes, this.#batchChanges);
    this.#batchChanges = [];
    this.#queue.add(changes, () => {
      this.#pendingEntries -= settles.size + countedEntries;
      for (const contributor of contributors) contributor.committed?.(lsn);
      settles.reportDurable();
    });
    this.#pendingEntries += countedEntries;
    const bytes = (settled.size + countedEntries) * entryBytes;
    this.#batchBytes.set(lsn, bytes);
    this.#journalBytes += bytes;
    this.#settles = new BatchSettles();
    return lsn;
  }

  /**
   * Queues changes. Resolves when they are committed. After `close`, changes are dropped and the
   * promise never resolves.
   */
  write(changes: readonly Change[]): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isClosed) return;
      this.#queue.add(changes, resolve);
      this.#queue.pump();
    });
  }

  /**
   * As `write`, but closes the open batch and commits it together with the changes, which saves one
   * flush of the disk. `changesOf` is called after the batch is closed.
   */
  writeWithBatch(changesOf: () => readonly Change[]): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isClosed) return;
      this.closeBatch();
      this.#queue.addToLast(changesOf(), resolve);
      this.#queue.pump();
    });
  }

  /**
   * As `write`, for changes that a client waits for. Resolves with null once they are committed, or
   * with the error as soon as the store can't be written. Then the changes stay queued, and are
   * committed when the store works again.
   */
  tryWrite(changes: readonly Change[]): Promise<Error | null> {
    // No changes need no commit: the queue already retries its own.
    const { failing } = this.#queue;
    if (changes.length === 0 && failing !== null) return Promise.resolve(failing);
    return new Promise((resolve) => {
      if (this.#isClosed) return;
      this.#queue.tryWrite(changes, resolve);
    });
  }

  /** Commits everything queued and takes no more. Never resolves while the store fails. */
  close(): Promise<void> {
    this.closeBatch();
    this.#isClosed = true;
    return new Promise((resolve) => {
      this.#queue.add([], resolve);
      this.#queue.pump();
    });
  }

  /**
   * The changes that remove the batches up to `upTo`; earlier writes must include what these
   * contain.
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

  #closeIfFull(): void {
    if (this.#settles.size < journalBatchMax && this.#counted.size < journalCountedMax) return;
    this.closeBatch();
    this.#queue.pump();
  }

  #pauseAtBound(): void {
    this.#counted.isPaused =
      this.#queue.failing !== null && this.#pendingEntries >= journalEntriesMax;
  }

  #commitSoon(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const lsn = this.#lsn;
    this.#schedule(commitDelayMs, () => {
      this.#isCommitDue ||= this.#lsn === lsn;
      this.#commitBatch();
      this.#queue.pump();
    });
  }

  /**
   * Closes the open batch if it is due. While a commit runs or is retried, the batch stays open:
   * fewer, fuller batches write the same sums less often. Callers pump the queue afterwards.
   */
  #commitBatch(): void {
    if (this.#isCommitDue && !this.#queue.isCommitting && !this.#isClosed) this.closeBatch();
  }
}

/** The settles of a batch before its commit: how many, and the last one of each proxy. */
export class BatchSettles {
  size = 0;
  /** By callback: a proxy that was removed and has reconnected may have two entries. */
  readonly #last = new Map<(seq: number) => void, { readonly proxyId: string; seq: number }>();

  /** `onDurable`, one function for each proxy, gets the number of its last settle. */
  add(proxyId: string, seq: number, onDurable: (seq: number) => void): void {
    this.size++;
    const last = this.#last.get(onDurable);
    if (last === undefined) this.#last.set(onDurable, { proxyId, seq });
    else last.seq = seq;
  }

  /** The last number of each proxy. */
  last(): ReadonlyMap<string, number> {
    return new Map(Array.from(this.#last.values(), ({ proxyId, seq }) => [proxyId, seq]));
  }

  /** Reports that the batch is committed. */
  reportDurable(): void {
    for (const [onDurable, { seq }] of this.#last) onDurable(seq);
  }
}

interface JournalBatch {
  /** The number of each proxy's last settle. */
  readonly settled: ReadonlyMap<string, number>;
  readonly counted: readonly unknown[];
}

/** `journal`: [[proxyId, seq, proxyId, seq, …], counted] by log sequence number. */
export function batchToStored({ settled, counted }: JournalBatch): readonly unknown[] {
  return [[...settled].flat(), counted];
}

/** Null for what `batchToStored` never made; `counted` is unchecked. */
export function batchFromStored(value: readonly unknown[]): JournalBatch | null {
  const [settles, counted] = value;
  if (!Array.isArray(settles) || settles.length % 2 !== 0 || !Array.isArray(counted)) return null;
  const settled = new Map<string, number>();
  for (let i = 0; i < settles.length; i += 2) {
    const [proxyId, seq] = settles.slice(i, i + 2) as unknown[];
    if (typeof proxyId !== "string" || !isCount(seq)) return null;
    settled.set(proxyId, seq);
  }
  return { settled, counted };
}

/**
 * Adds changes to each batch of the journal: they reach the disk in the batch's own commit, or not
 * at all. It is for changes that are known only when the batch closes; for others see
 * `Writer.addToBatch`.
 */
export interface Contributor {
  /**
   * Called when a batch that isn't empty closes. Returns what else has changed since the last call,
   * to be committed with the batch.
   */
  changes(lsn: number): readonly Change[];
  /** The batch is committed; batches are committed in their order. */
  committed?(lsn: number): void;
}

interface QueuePorts {
  readonly store: Store;
  /** Runs `run` after `ms`. */
  schedule(ms: number, run: () => void): void;
  /** Called with the error each time a commit fails, and with null when a commit succeeds again. */
  onStoreState(error: Error | null): void;
  /** `timeCommit` is called when a commit begins, and its result when it has succeeded. */
  readonly measures?: { timeCommit(): () => void };
  /** Called after each commit, even a failed one, so that gathered changes can be queued. */
  onCommit(): void;
}

interface Job {
  readonly changes: readonly Change[];
  readonly done: () => void;
}

/**
 * Commits in order: a failed commit is retried and delays all that follow, so the disk always has a
 * prefix of the queued changes.
 */
export class CommitQueue {
  readonly #ports: QueuePorts;
  readonly #retryMs: number;
  readonly #jobs: Job[] = [];
  #isCommitting = false;
  #ended = 0;
  #failing: Error | null = null;
  /** Callers of `tryWrite`, which wait for their commit or for the first failure. */
  readonly #waiting = new Set<(failing: Error | null) => void>();

  constructor(ports: QueuePorts, retryMs: number) {
    this.#ports = ports;
    this.#retryMs = retryMs;
  }

  /** Whether a commit runs or waits to be retried. */
  get isCommitting(): boolean {
    return this.#isCommitting;
  }

  /** The number of ended commits, successful or not. */
  get ended(): number {
    return this.#ended;
  }

  /** The number of waiting changes. */
  get length(): number {
    return this.#jobs.length;
  }

  /** The last failure to write, or null when the store works. */
  get failing(): Error | null {
    return this.#failing;
  }

  /** Queues changes; `done` runs once they are committed. */
  add(changes: readonly Change[], done: () => void): void {
    this.#jobs.push({ changes, done });
  }

  /** As `add`, in one commit with the last waiting job. */
  addToLast(changes: readonly Change[], done: () => void): void {
    const last = this.#jobs.pop() ?? { changes: [], done: () => {} };
    this.add([...last.changes, ...changes], () => {
      last.done();
      done();
    });
  }

  /**
   * Queues changes and begins to commit. Resolves with null once they are committed, or with the
   * error as soon as the store can't be written.
   */
  tryWrite(changes: readonly Change[], onOutcome: (failing: Error | null) => void): void {
    const finish = (outcome: Error | null): void => {
      if (this.#waiting.delete(finish)) onOutcome(outcome);
    };
    this.#waiting.add(finish);
    this.add(changes, () => finish(null));
    this.pump();
    if (this.#failing !== null) finish(this.#failing);
  }

  /** Commits the next jobs together, as many as fit in a slice. */
  pump(): void {
    if (this.#isCommitting || this.#jobs.length === 0) return;
    this.#isCommitting = true;
    let changes = 0;
    let count = 0;
    while (
      count < this.#jobs.length &&
      (count === 0 || changes + this.#jobs[count]!.changes.length <= windowsPerSlice)
    )
      changes += this.#jobs[count++]!.changes.length;
    void this.#commit(this.#jobs.splice(0, count));
  }

  async #commit(jobs: readonly Job[]): Promise<void> {
    const committed = this.#ports.measures?.timeCommit();
    try {
      await this.#ports.store.commit(jobs.flatMap((job) => job.changes));
    } catch (error) {
      this.#ended++;
      const failing = error as Error;
      this.#failing = failing;
      this.#ports.onCommit();
      this.#ports.onStoreState(failing);
      for (const finish of this.#waiting) finish(failing);
      if (failing instanceof StoreBrokenError) return;
      this.#ports.schedule(this.#retryMs, () => void this.#commit(jobs));
      return;
    }
    this.#ended++;
    committed?.();
    if (this.#failing !== null) {
      this.#failing = null;
      this.#ports.onStoreState(null);
    }
    this.#isCommitting = false;
    for (const job of jobs) job.done();
    this.#ports.onCommit();
    this.pump();
  }
}

/** Queues any number of changes in slices, in order, so that no commit stalls the event loop. */
export async function writeSlices(writer: Writer, changes: readonly Change[]): Promise<void> {
  const slices: Promise<void>[] = [];
  for (let i = 0; i < changes.length; i += windowsPerSlice)
    slices.push(writer.write(changes.slice(i, i + windowsPerSlice)));
  await Promise.all(slices);
}

/**
 * As `Writer.tryWrite`, for any number of changes, in slices and in order: after a crash, a prefix
 * of them is written.
 */
export function tryWriteSlices(writer: Writer, changes: readonly Change[]): Promise<Error | null> {
  let start = 0;
  for (; changes.length - start > windowsPerSlice; start += windowsPerSlice)
    void writer.write(changes.slice(start, start + windowsPerSlice));
  return writer.tryWrite(changes.slice(start));
}

/**
 * Twice the time after which a disk gives up a write; Linux reports a hung task after the same
 * time.
 */
export const stuckCommitMs = 120_000;

/**
 * Detects a commit that neither succeeds nor fails. This daemon can't write any more then, but a
 * new one can read what is on the disk. Returns a function to call every few seconds. If a commit
 * has run for `stuckCommitMs`, it returns a sentence that says so, else null.
 */
export function createStuckCommit(
  commits: Pick<CommitQueue, "isCommitting" | "ended">,
  monoMs: () => number,
): () => string | null {
  let ended = commits.ended;
  let sinceMs = monoMs();
  return () => {
    if (!commits.isCommitting || commits.ended !== ended) {
      ended = commits.ended;
      sinceMs = monoMs();
    }
    const seconds = Math.floor((monoMs() - sinceMs) / 1000);
    return seconds * 1000 < stuckCommitMs
      ? null
      : `a write to the store hasn't ended for ${seconds} s`;
  };
}
