/** The causes of a difference between a bill and our records, in the order of the report. */
export const causes = {
  past_sluice: "traffic that didn't pass through Sluice",
  tokens_not_read: "tokens or units recorded as others, or not at all",
  estimated: "estimates in place of usage that wasn't reported",
  not_billed: "recorded but not billed",
  batch: "batches that this host has not recorded",
  unpriced: "models without a price",
  stale_price: "another price than ours",
  tier: "another service tier than recorded",
  region: "another region than recorded",
  tool_fee: "fees of searches, containers and other tools",
  credits: "credits, discounts and taxes",
  rounding: "the bill's rounding",
  unclassified: "cause unknown",
} as const;
export type Cause = keyof typeof causes;
export const causeNames = Object.keys(causes) as readonly Cause[];
