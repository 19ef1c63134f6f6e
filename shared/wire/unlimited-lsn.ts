/** Stands, in a lease or a settle, for the number of an admission that a proxy didn't ask for because it knew of no rule and no budget. The daemon gives out larger ones. */
export const unlimitedLsn = 2;
