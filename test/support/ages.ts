/**
 * The seconds of a window or period for tests that count in it: the present one ends in 2065, so
 * that none ends amid a test, whenever that runs and however long it takes.
 */
export const agesSeconds = 3_000_000_000;
