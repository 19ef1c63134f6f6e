/**
 * The causes of a difference between a bill and our records, in the order of the report, and what
 * an operator does about each (docs/reconcile.md). For the command line and the dashboard.
 */
export const billCauses = {
  past_sluice: {
    meaning: "traffic that didn't pass through Sluice",
    advice: "find it: another key or project",
  },
  tokens_not_read: {
    meaning: "tokens or units recorded as others, or not at all",
    advice: "report a bug",
  },
  estimated: {
    meaning: "estimates in place of usage that wasn't reported",
    advice: "nothing",
  },
  not_billed: { meaning: "recorded but not billed", advice: "nothing" },
  batch: { meaning: "batches that this host has not recorded", advice: "nothing" },
  unpriced: { meaning: "models without a price", advice: "copy the lines for prices" },
  stale_price: { meaning: "another price than ours", advice: "copy the lines for prices" },
  tier: {
    meaning: "another service tier than recorded",
    advice: "set service_tiers of the price",
  },
  region: { meaning: "another region than recorded", advice: "set regions of the price" },
  tool_fee: { meaning: "fees of searches, containers and other tools", advice: "set their prices" },
  credits: { meaning: "credits, discounts and taxes", advice: "nothing" },
  rounding: { meaning: "the bill's rounding", advice: "nothing" },
  unclassified: {
    meaning: "cause unknown",
    advice: "read the lines that aren't understood",
  },
} as const satisfies Readonly<
  Record<string, { readonly meaning: string; readonly advice: string }>
>;
export type Cause = keyof typeof billCauses;
export const causeNames = Object.keys(billCauses) as readonly Cause[];
