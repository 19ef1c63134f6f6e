/** Counts and money for people. Pure. What machines read is exact and isn't made here. */

/** `1,234,567`. */
export function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}

/**
 * How many decimals tell something about amounts of US dollars of which this is the largest. One
 * number for a whole column, so that its points stand below each other.
 */
export function usdDecimals(largest: number): number {
  if (largest === 0 || largest >= 1) return 2;
  return largest >= 0.01 ? 4 : 6;
}

/** `$1,234.50`. An amount that these decimals would show as nothing is `<$0.01`. */
export function formatUsd(usd: number, decimals: number): string {
  const least = 10 ** -decimals;
  if (usd > 0 && usd < least / 2) return `<$${least.toFixed(decimals)}`;
  return `$${usd.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })}`;
}
