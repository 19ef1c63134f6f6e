/** The bounds of files of limits, each with its reason. */

/**
 * Rules and budgets in one file. They change together, in one turn in which no verdict is given:
 * 20 to 90 ms of CPU for so many.
 */
export const limitsPerFileMax = 10_000;

/**
 * Rules and budgets that one file may change where hosts share them: their engine decides it in one
 * step of some 50 ms, in which it answers no other host.
 */
export const sharedChangesMax = 2_000;

/** What one of them takes as JSON: the longest path, escaped, and room. A frame holds four. */
export const limitEntryCharsMax = 16 * 1024;

/**
 * Files that the daemon keeps while they arrive, each of some 3 MB; the one that was touched
 * longest ago gives way to another.
 */
export const limitFilesHeldMax = 4;

/** Rules and budgets of a file that are looked at in one turn: some 2 ms. */
export const limitsPerTurn = 500;

/** Plans that are restarted because limits have changed meanwhile; the next is made in one turn. */
export const plansInSlicesMax = 3;

/** Changes in one page of a plan: with the longest paths they fill half a frame. */
export const changesPerPage = 200;
