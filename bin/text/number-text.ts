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
  return message.replace(
    /: spent (\d\S*) of (\d[^\s;]*)(?=$|; )/,
    (_, spent, amount) =>
      `: spent ${formatUsd(Number(spent), usdDecimals(Number(amount)))} of ${plainUsd(Number(amount))}`,
  );
}

/** `$1,234.50`, `-$3.00`. An amount that would be rounded to zero is `<$0.01`. */
export function formatUsd(usd: number, decimals: number): string {
  const least = 10 ** -decimals;
  if (usd > 0 && usd < least / 2) return `<$${least.toFixed(decimals)}`;
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return signedText(usd, digits);
}

function signedText(usd: number, digits: Intl.NumberFormatOptions): string {
  return `${usd < 0 ? "-" : ""}$${Math.abs(usd).toLocaleString("en-US", digits)}`;
}

/** `$5,000.00`: two decimals, or as many as the amount has; `-` for no number. */
export function plainUsd(usd: unknown): string {
  if (typeof usd !== "number") return "-";
  return signedText(usd, { minimumFractionDigits: 2, maximumFractionDigits: 20 });
}

/** `$21.98 / $5,000.00`, with what was carried over and what running requests hold. */
export function spentText({
  spent,
  amount,
  carriedOver,
  held,
}: Readonly<Record<"spent" | "amount", unknown>> &
  Partial<Readonly<Record<"carriedOver" | "held", unknown>>>): string {
  if (typeof amount !== "number") return "-";
  const decimals = usdDecimals(amount);
  const part = (usd: unknown, text: (formatted: string) => string): string =>
    typeof usd === "number" && usd > 0 ? text(formatUsd(usd, decimals)) : "";
  return [
    typeof spent === "number" ? formatUsd(spent, decimals) : "-",
    ` / ${plainUsd(amount)}`,
    part(carriedOver, (formatted) => ` + ${formatted}`),
    part(held, (formatted) => ` (${formatted} held)`),
  ].join("");
}
