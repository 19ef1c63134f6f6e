/** What complete snapshots of one epoch of the daemon hold: everything up to a tick. */
export class SnapshotCoverage {
  /** How many have begun. */
  started = 0;
  /** Everything up to here is in a complete snapshot. */
  coveredTick = 0;
  #startedTick = 0;
  #completeAtMs: number | null = null;

  starts(tick: number): void {
    this.started++;
    this.#startedTick = tick;
  }

  /** When the last one was completed. The next may begin in the same event, after this call. */
  completedAt(lastSnapshotAtMs: number | null): void {
    if (lastSnapshotAtMs === this.#completeAtMs) return;
    this.#completeAtMs = lastSnapshotAtMs;
    this.coveredTick = this.#startedTick;
  }
}
