/** The bounds of GET /admin/live, each with its reason. */

/** Watchers of one proxy: people, not programs. */
export const watchersMax = 32;
/** From one tick to the next. */
export const tickMs = 1_000;
/** Different pages that are asked for in one tick: each takes the daemon about 2 ms. */
export const pagesPerTick = 4;
/** Refusals that are told one by one in a tick; of the others their number is. */
export const refusalsPerTick = 20;
/** Some proxies cut a stream that is silent for half a minute. */
export const keepAliveMs = 15_000;
/** How long a browser waits before it connects again. */
export const retryMs = 2_000;
