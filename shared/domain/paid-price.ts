/** The price that a request was charged, from its usage record. Pure. */

/** The average price in US dollars per million tokens; null without tokens or without a cost. */
export function usdPerMillion(usd: number | null, tokens: number): number | null {
  // Rates have six decimals.
  return usd === null || tokens === 0 ? null : Math.round((usd / tokens) * 1e12) / 1e6;
}

interface Costs {
  readonly input_cost: number | null;
  readonly output_cost: number | null;
  readonly total_cost: number | null;
}

/** The cost of the request and its tool calls in addition to the tokens, in US dollars. */
export function feesOf({ input_cost, output_cost, total_cost }: Costs): number {
  const fees = (total_cost ?? 0) - (input_cost ?? 0) - (output_cost ?? 0);
  return Math.max(0, Math.round(fees * 1e12) / 1e12);
}
