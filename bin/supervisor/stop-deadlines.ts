/**
 * How long a stop may take beyond the drain that the configuration sets, each with its reason.
 * `systemd/*.service` allow for the sum.
 */

/** For a part to send its last settles, write the store and flush its log; then it ends itself. */
export const stopGraceMs = 5_000;
/** For `sluice up` to see that happen; then it kills the part. */
export const killGraceMs = 2_000;
