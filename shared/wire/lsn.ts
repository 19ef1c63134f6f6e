/**
 * Numbers in place of an LSN, for an admission that no commit of the store counts. They aren't in
 * the files of the messages, so that a program that only reads the store needn't load those.
 */

/**
 * In a lease or a settle: this lease doesn't count its request, which was counted otherwise, or was
 * admitted while rate limits were off. It is below every number that the daemon assigns, and isn't
 * 0, which means no admission.
 */
export const uncountedLsn = 1;

/**
 * In a lease or a settle: its request needed no verdict, because its proxy knew that there was no
 * rule or budget. The daemon assigns larger numbers.
 */
export const unlimitedLsn = 2;

/** Whether an admission, or an attempt, has no verdict and so no number of the daemon's. */
export function isUnnumbered(lsn: number): boolean {
  return lsn === 0 || lsn === unlimitedLsn;
}
