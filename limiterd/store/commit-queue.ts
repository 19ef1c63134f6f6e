/**
 * Commits to the store in order: a failed commit is retried and delays all that follow, so the disk
 * always has a prefix of the queued changes.
 */
import { windowsPerSlice } from "../../shared/bounds.js";
import { type Change, type Store, StoreBrokenError } from "./store.js";

interface QueuePorts {
  readonly store: Store;
  /** Runs `run` after `ms`. */
  schedule(ms: number, run: () => void): void;
  /** Called each time a commit fails, and with null when one succeeds after that. */
  onStoreState(error: Error | null): void;
  /** Called when a commit begins; the returned function is called when it has succeeded. */
  timeCommit?(): () => void;
  /** Called after each commit, also a failed one, so that gathered changes can be queued. */
  onCommit(): void;
}

interface Job {
  readonly changes: readonly Change[];
  readonly done: () => void;
}

export class CommitQueue {
  readonly #ports: QueuePorts;
  readonly #retryMs: number;
  readonly #jobs: Job[] = [];
  #committing = false;
  #ended = 0;
  #failing: Error | null = null;
  /** Callers of `tryWrite`, which wait for their commit or for the first failure. */
  readonly #waiting = new Set<(failing: Error | null) => void>();

  constructor(ports: QueuePorts, retryMs: number) {
    this.#ports = ports;
    this.#retryMs = retryMs;
  }

  /** Whether a commit runs or waits to be retried. */
  get committing(): boolean {
    return this.#committing;
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

  /**
   * Queues changes and begins to commit. Resolves with null once they are committed, or with the
   * error as soon as the store can't be written.
   */
  tryWrite(changes: readonly Change[], told: (failing: Error | null) => void): void {
    const finish = (outcome: Error | null): void => {
      if (this.#waiting.delete(finish)) told(outcome);
    };
    this.#waiting.add(finish);
    this.add(changes, () => finish(null));
    this.pump();
    if (this.#failing !== null) finish(this.#failing);
  }

  /** Commits the next jobs together, as many as fit in a slice. */
  pump(): void {
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
    const committed = this.#ports.timeCommit?.();
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
    this.#committing = false;
    for (const job of jobs) job.done();
    this.#ports.onCommit();
    this.pump();
  }
}
