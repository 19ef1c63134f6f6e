/** The bounds of files of limits, each with its reason; docs/bounds.md lists them. */

/** Rules and budgets in one file: judging and writing so many holds up verdicts for some 100 ms. */
export const limitsPerFileMax = 10_000;

/** What one of them takes as JSON: the longest path, escaped, and room. A frame holds four. */
export const limitEntryCharsMax = 16 * 1024;

/**
 * Files that the daemon keeps while they arrive, each of some 3 MB; the one that was touched
 * longest ago gives way to another.
 */
export const limitFilesHeldMax = 4;

/** Changes in one page of a plan: with the longest paths they fill half a frame. */
export const changesPerPage = 200;
