/**
 * The published error: what Sluice counts, with what it marks as unknown, is at least the bill, and
 * the bill at least what Sluice counts as known, but for rounding.
 */
import type { Entry, Played } from "./play.js";

/** Two factors on the rate of a token are rounded up to 10^-12 dollars each. */
const roundingPerToken = 3n;

/** What a charge says, in 10^-12 dollars. */
export interface Charge {
  readonly record: {
    readonly totalCost: number | null;
    readonly atMost: { readonly cost: number | null } | null;
  } | null;
  readonly estimated: boolean;
  readonly tokens: number;
}

/** Null if it holds. `isWhole` false: charges may be missing. */
export function problemOf(
  { entries, records }: { readonly entries: readonly Entry[]; readonly records: readonly Charge[] },
  isWhole = true,
): string | null {
  const bill = entries.reduce((sum, entry) => sum + entry.bill, 0n);
  let known = 0n;
  let atMost = 0n;
  let rounding = 1n;
  let charged = 0;
  for (const { record, estimated, tokens } of records) {
    if (record === null) continue;
    if (record.totalCost === null) return "unpriced";
    const cost = BigInt(record.totalCost);
    rounding += BigInt(tokens) * roundingPerToken;
    if (tokens > 0) charged++;
    if (!estimated) known += cost;
    if (record.atMost === null) {
      if (estimated) return "an estimate without a bound";
      atMost += cost;
      continue;
    }
    if (record.atMost.cost === null) return "a bound without a price";
    const bound = BigInt(record.atMost.cost);
    if (bound < cost) return "a bound below its estimate";
    atMost += bound;
  }
  if (isWhole && atMost < bill) return `${atMost} at most is less than the bill, ${bill}`;
  if (bill < known - rounding) return `${known} is more than the bill, ${bill}`;
  const worked = entries.filter(({ received }) => received).length;
  return charged > worked ? `${charged} charges for ${worked} requests` : null;
}

/** For a reader: what happened, and what was charged. */
export function describeHistory({ ask, entries, records }: Played): string {
  const attempts = entries.map(({ label, bill }: Entry) => `  ${label}: billed ${bill}`);
  const charges = records.map(({ record, estimated }) =>
    record === null
      ? "  no record"
      : `  ${record.provider} ${record.status}: ${record.inputTokens}+${record.outputTokens} tokens, ${record.totalCost}${estimated ? `, estimated, at most ${record.atMost?.cost}` : ""}`,
  );
  return [`${ask.path} ${ask.body.slice(0, 300)}`, ...attempts, ...charges].join("\n");
}
