/** The bounds of retries, and of what is remembered of targets that keep failing. */

/**
 * A retry waits for a random part of this; the next one of twice as much, and so on up to the
 * provider's `retry_wait_max_ms`.
 */
export const firstRetryWaitMs = 250;
/** A target that keeps failing is tried again after so long at the latest. */
export const breakerOpenMsMax = 5 * 60_000;
/** Targets whose failures are remembered: callers choose the names. */
export const breakersMax = 10_000;
