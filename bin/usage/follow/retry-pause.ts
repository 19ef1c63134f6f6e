/** How long a follower waits before it tries again. Pure. */

const firstMs = 1000;
const longestMs = 60_000;
/** What a destination may ask for at the most. */
const askedMaxMs = 600_000;

/**
 * Doubles with each failure in a row, from the first on (`failures` is 1), and is at least as long
 * as the destination asked for. `spread`, from 0 to 1, keeps many hosts from coming at once.
 */
export function retryPauseMs(failures: number, askedMs: number | null, spread: number): number {
  const longest = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 10));
  return Math.max(longest * (0.5 + spread / 2), Math.min(askedMs ?? 0, askedMaxMs));
}
