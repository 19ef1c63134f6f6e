/** What reaches the disk together with the batch that caused it. */
import type { Change } from "./store.js";

/**
 * Adds changes to the journal's commits: what a batch changed reaches the disk in the
 * batch's own commit, or not at all.
 */
export interface Contributor {
  /**
   * A batch that isn't empty closes: what else changed with it since the last call, to be committed
   * with it.
   */
  changes(lsn: number): readonly Change[];
  /** The batch is committed; batches are committed in their order. */
  committed(lsn: number): void;
}
