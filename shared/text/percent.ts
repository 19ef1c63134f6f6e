/** Percentages for people, in one style: `82%`, `2.4%`. Pure. */

/** A share, rounded to `decimals`, of which the last are left out while zero: `least` stay. */
export function formatPercent(share: number, decimals = 0, least = decimals): string {
  const digits = { minimumFractionDigits: least, maximumFractionDigits: decimals };
  return `${(share * 100).toLocaleString("en-US", digits)}%`;
}

/** 0.824 → `82%`, rounded down, so that `100%` is all of it; `0%` is exact too. */
export function formatShare(share: number): string {
  if (share > 0 && share < 0.01) return "<1%";
  if (share < 1 && share > 0.99) return "99%";
  return formatPercent(Math.floor(share * 100 + 1e-9) / 100);
}
