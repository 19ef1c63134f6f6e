/**
 * Stands, in a lease or a settle, for the number of an admission that a proxy didn't ask for
 * because it knew of no rule and no budget. The daemon gives out larger ones.
 */
export const unlimitedLsn = 2;

/**
 * Whether an admission, or an attempt, has no number of the daemon's: it wasn't asked for, or has
 * no answer yet.
 */
export function isUnnumbered(lsn: number): boolean {
  return lsn === 0 || lsn === unlimitedLsn;
}
