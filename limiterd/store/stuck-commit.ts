/**
 * Detects a commit that never ends, neither written nor failed. Failed commits are retried and
 * don't count. A new daemon can read what is on the disk; this one can't write any more.
 */
import type { CommitQueue } from "./commit-queue.js";

/** Twice what a disk needs to give up a write; Linux reports a hung task after the same time. */
export const stuckCommitMs = 120_000;

/**
 * The message about a commit that has run for `stuckCommitMs`, else null. Call it every few
 * seconds.
 */
export function createStuckCommit(
  commits: Pick<CommitQueue, "committing" | "ended">,
  monoMs: () => number,
): () => string | null {
  let ended = commits.ended;
  let sinceMs = monoMs();
  return () => {
    if (!commits.committing || commits.ended !== ended) {
      ended = commits.ended;
      sinceMs = monoMs();
    }
    const seconds = Math.floor((monoMs() - sinceMs) / 1000);
    return seconds * 1000 < stuckCommitMs
      ? null
      : `a write to the store hasn't ended for ${seconds} s`;
  };
}
