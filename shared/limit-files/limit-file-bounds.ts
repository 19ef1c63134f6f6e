/** The bounds of files of limits, each with its reason. */

/**
 * Rules and budgets in one file. They change together, in one turn without verdicts, which takes 20
 * to 90 ms of CPU for the maximum.
 */
export const limitsPerFileMax = 10_000;

/**
 * Rules and budgets that one file may change if hosts share them: the engine decides in one step of
 * about 50 ms, in which it answers no other host.
 */
export const sharedChangesMax = 2_000;

/** Characters of one entry as JSON: the longest path, escaped, with room. A frame fits four. */
export const limitEntryCharsMax = 16 * 1024;

/**
 * Files that the daemon keeps while they arrive, about 3 MB each; a further file replaces the one
 * that was used longest ago.
 */
export const limitFilesHeldMax = 4;

/** Entries of a file that are processed in one turn: about 2 ms. */
export const limitsPerTurn = 500;

/** How often a plan is restarted because limits have changed; after that it is made in one turn. */
export const plansInSlicesMax = 3;

/** Changes in one page of a plan: with the longest paths they fill half a frame. */
export const changesPerPage = 200;
