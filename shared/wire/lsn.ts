/**
 * LSNs that name no commit of the store: what an admission has in place of one. Apart from the
 * messages, so that a program that reads the store alone doesn't carry the wire's version.
 */

/**
 * The log sequence number, in a lease or a settle, of a request that this doesn't count: it was
 * counted otherwise, or admitted while rate limits were off. Below every number that the daemon
 * assigns, and not 0, which stands for no admission at all.
 */
export const uncountedLsn = 1;

/**
 * The log sequence number, in a lease or a settle, of a request that needed no verdict because its
 * proxy knew of no rule and no budget. Numbers that the daemon assigns are larger.
 */
export const unlimitedLsn = 2;

/** Whether an admission, or an attempt, has no verdict and so no number of the daemon's. */
export function isUnnumbered(lsn: number): boolean {
  return lsn === 0 || lsn === unlimitedLsn;
}
