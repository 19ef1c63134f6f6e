/** The bounds of files of limits, each with its reason; docs/bounds.md lists them. */

/** Rules and budgets in one file: judging and writing so many holds up verdicts for some 200 ms. */
export const limitsPerFileMax = 10_000;

/**
 * Rules and budgets that one file may change where hosts share them: their engine decides it in one
 * step of some 50 ms, in which it answers nobody else.
 */
export const sharedChangesMax = 2_000;

/** What one of them takes as JSON: the longest path, escaped, and room. A frame holds four. */
export const limitEntryCharsMax = 16 * 1024;

/**
 * Files that the daemon keeps while they arrive, each of some 3 MB; the one that was touched
 * longest ago gives way to another.
 */
export const limitFilesHeldMax = 4;

/** Changes in one page of a plan: with the longest paths they fill half a frame. */
export const changesPerPage = 200;
