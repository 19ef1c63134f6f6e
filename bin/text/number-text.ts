/** Formats counts and money for people, rounded. Pure. Exact numbers for programs aren't here. */

/** `1,234,567`. */
export function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}

/** `12.3 MiB`. */
export function formatBytes(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${(bytes / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}

/**
 * The decimals for amounts of US dollars of which this is the largest. A column has one number of
 * decimals, so that its points are aligned.
 */
export function usdDecimals(largest: number): number {
  if (largest === 0 || largest >= 1) return 2;
  return largest >= 0.01 ? 4 : 6;
}

/** The message of a refusal with a currency sign, which the API's fixed text lacks. */
export function withCurrency(message: string): string {
  return message.replace(/: spent (\d\S*) of (\d\S*)$/, ": spent $$$1 of $$$2");
}

/** `$1,234.50`. An amount that would be rounded to zero is `<$0.01`. */
export function formatUsd(usd: number, decimals: number): string {
  const least = 10 ** -decimals;
  if (usd > 0 && usd < least / 2) return `<$${least.toFixed(decimals)}`;
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return `$${usd.toLocaleString("en-US", digits)}`;
}

/** US dollars with two decimals, or with as many as the amount has; `-` for no number. */
export function plainUsd(usd: unknown): string {
  if (typeof usd !== "number") return "-";
  const twoDecimals = usd.toFixed(2);
  return `$${Number(twoDecimals) === usd ? twoDecimals : String(usd)}`;
}
