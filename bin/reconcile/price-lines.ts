/** Ready-made lines for `prices`, from the rates that a bill implies. Pure. */
import { plainRate } from "./amount.js";
import { isTokens, kinds } from "./bill.js";
import { noModel } from "./cells.js";
import type { Reconciliation } from "./reconcile.js";

/**
 * A line for each model whose price is missing or other than the bill's. A model with a list price
 * extends it, so that its tiers and other rates stay.
 */
export function priceLines(
  provider: string,
  { cells, rates, lineTolerance }: Reconciliation,
): readonly string[] {
  const stale = new Set<string>();
  const missing = new Set<string>();
  for (const { model, causes } of cells) {
    if ((causes.stale_price ?? 0n) !== 0n) stale.add(model);
    if ((causes.unpriced ?? 0n) !== 0n) missing.add(model);
  }
  const lines = [...new Set([...missing, ...stale])]
    .filter((model) => model !== noModel && rates.has(model))
    .sort()
    .map((model) => {
      // Several lines of a bill, each rounded, make a rate.
      const days = BigInt(new Set(cells.map(({ day }) => day)).size);
      const fields = [...rates.get(model)!].map(
        ([kind, rate]) =>
          `${kinds[kind].setting}: ${plainRate(rate, isTokens(kind) ? 1_000_000n : 1n, lineTolerance * days)}`,
      );
      const extending = missing.has(model) ? [] : ["extends: list"];
      return `  ${JSON.stringify(`${provider}/${model}`)}: { ${[...extending, ...fields].join(", ")} }`;
    });
  return lines.length === 0 ? [] : ["prices:", ...lines];
}
