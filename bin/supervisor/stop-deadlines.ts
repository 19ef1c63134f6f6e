/**
 * How long a stop may take beyond the configured grace and drain, and why. `TimeoutStopSec=` in
 * `systemd/*.service` allows for the sum.
 */

/** For a service to send its last settles, write the store and flush its log before it exits. */
export const stopGraceMs = 5_000;
/** For `sluice up` to notice that exit; after that it kills the service. */
export const killGraceMs = 2_000;
