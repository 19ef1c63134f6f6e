/**
 * The bounds of backups and of a full store, each with its reason; `docs/reference/bounds.md`
 * lists them.
 */

/** Bytes of a backup in one frame to the command line: they take a millisecond to read. */
export const backupPieceBytes = 1024 * 1024;
/** How long an answer waits for a copy to be made, before it says how far that is. */
export const backupWaitMs = 500;
/** What a copy of the store leaves free on the disk, for what is settled while it is there. */
export const backupSpareBytes = 64 * 1024 * 1024;
/** Batches of records that a full store gives up per second: more than can be written. */
export const batchesPerTrimWhenFull = 200;
