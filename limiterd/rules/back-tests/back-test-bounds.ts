/** The bounds of back-tests, each with its reason; `docs/reference/bounds.md` lists them. */

/** Under way at once, of some 10 MB each; the one that was asked for longest ago makes room. */
export const backTestsMax = 2;
/** One that nobody asks for is forgotten. */
export const forgottenAfterMs = 60_000;
/** Of the range; each reads as many records as there are. */
export const backTestDaysMax = 31;
/** Records that one call reads or plays: they take about a tenth of a second. */
export const recordsPerCall = 20_000;
/** Records that are read and played in one go: they take about 3 ms. */
export const recordsPerStep = 500;
/**
 * Requests that are held until their turn, of some 200 bytes each: what ended while this many
 * others did is put in its place.
 */
export const heldMax = 50_000;
/** Paths of which it is known how many were refused; further ones aren't listed. */
export const pathsMax = 10_000;
