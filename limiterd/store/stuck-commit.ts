/**
 * Detects a commit that neither succeeds nor fails. Failed commits are retried and don't count.
 * After a stuck commit this daemon can't write any more, but a new one can read what is on the
 * disk.
 */
import type { CommitQueue } from "./writer.js";

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
