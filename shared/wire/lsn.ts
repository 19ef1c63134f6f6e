/**
 * Numbers that stand in place of an LSN in an admission that no commit of the store counts. Not
 * beside the messages, so that a program that only reads the store needn't load those.
 */

/**
 * In a lease or a settle: its request isn't counted by it, but was counted otherwise, or was
 * admitted while rate limits were off. Below every number that the daemon
 * assigns, and not 0, which stands for no admission at all.
 */
export const uncountedLsn = 1;

/**
 * In a lease or a settle: its request needed no verdict, because its proxy knew of no rule and no
 * budget. Numbers that the daemon assigns are larger.
 */
export const unlimitedLsn = 2;

/** Whether an admission, or an attempt, has no verdict and so no number of the daemon's. */
export function isUnnumbered(lsn: number): boolean {
  return lsn === 0 || lsn === unlimitedLsn;
}
