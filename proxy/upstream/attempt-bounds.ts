/** The bounds of retries, of what is remembered of failing targets, and of providers' keys. */

/**
 * A retry waits for a random part of this; the next one of twice as much, and so on up to the
 * provider's `retry_wait_max_ms`.
 */
export const firstRetryWaitMs = 250;
/** A target that keeps failing is tried again after so long at the latest. */
export const breakerOpenMsMax = 5 * 60_000;
/** Targets whose failures are remembered: callers choose the names. */
export const breakersMax = 10_000;

/** How long a key rests after a 429 that doesn't say, after a refusal, and at the longest. */
export const rateLimitedKeyRestMs = 10_000;
export const refusedKeyRestMs = 60_000;
export const keyRestMsMax = 5 * 60_000;
/** Between two looks at a file with a key: Kubernetes replaces one within a minute. */
export const keyFileMs = 5_000;
/** Between two tries to read a key that can't be read, or was refused. */
export const keyRetryMs = 5_000;
/** How long a command that prints a key may take. */
export const keyCommandMs = 10_000;
/** After which a key that says no expiry is printed again; others at the latest after an hour. */
export const keyRenewalMs = 5 * 60_000;
/** What a file or a command may say. */
export const keyTextBytesMax = 64 * 1024;
