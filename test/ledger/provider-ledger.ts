/**
 * What a provider bills, in exact integers of 10^-12 dollars. It shares no code with Sluice's
 * prices: the rates are decimals that both read.
 */

/** What a provider did for one request. */
export interface Work {
  /** All input: plain, read from the cache, and written to it. */
  readonly input: number;
  readonly cached: number;
  readonly written: number;
  /** Of the written: for an hour. */
  readonly writtenLong: number;
  /** All output, with reasoning. */
  readonly output: number;
  readonly reasoning: number;
  readonly searches: number;
  /** The name of a service tier or of a speed; empty for the usual one. */
  readonly tier: string;
  readonly region: string;
}

/** US dollars as decimals: for a million tokens, or for one search or request. */
interface Rates {
  readonly input: string;
  readonly cached_input: string;
  readonly cache_write: string;
  readonly cache_write_1h: string;
  readonly output: string;
  readonly reasoning: string;
}

export interface ProviderPrice {
  readonly rates: Rates;
  /** For all tokens of a request with more input than this. */
  readonly long: { readonly above: number; readonly rates: Rates } | null;
  readonly perSearch: string;
  readonly perRequest: string;
  readonly tiers: Readonly<Record<string, string>>;
  readonly regions: Readonly<Record<string, string>>;
}

/** A decimal times a power of ten, as an integer. */
function shifted(decimal: string, places: number): bigint {
  const [whole = "", part = ""] = decimal.split(".");
  if (part.length > places) throw new Error(`${decimal} has more than ${places} places`);
  return BigInt(whole + part.padEnd(places, "0"));
}

/** The bill times 10^6, since two factors have three places each. */
function microBill(work: Work, price: ProviderPrice): bigint {
  const { rates } = price.long !== null && work.input > price.long.above ? price.long : price;
  const tokens: readonly (readonly [keyof Rates, number])[] = [
    ["input", work.input - work.cached - work.written],
    ["cached_input", work.cached],
    ["cache_write", work.written - work.writtenLong],
    ["cache_write_1h", work.writtenLong],
    ["output", work.output - work.reasoning],
    ["reasoning", work.reasoning],
  ];
  let sum = 0n;
  for (const [kind, count] of tokens) sum += BigInt(count) * shifted(rates[kind], 6);
  sum *= shifted(price.tiers[work.tier] ?? "1", 3) * shifted(price.regions[work.region] ?? "1", 3);
  const others = BigInt(work.searches) * shifted(price.perSearch, 12);
  return sum + (others + shifted(price.perRequest, 12)) * 1_000_000n;
}

/** Rounded up to a whole 10^-12 dollars. */
export function billOf(work: Work, price: ProviderPrice): bigint {
  return (microBill(work, price) + 999_999n) / 1_000_000n;
}

/** The price as an entry of Sluice's `prices`. */
export function priceEntry(price: ProviderPrice): object {
  const { long, perSearch, perRequest, tiers, regions } = price;
  const numbers = (texts: object): object =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Number(text)]));
  return {
    ...numbers(price.rates),
    ...(long === null
      ? {}
      : { tiers: [{ above_input_tokens: long.above, ...numbers(long.rates) }] }),
    per_web_search: Number(perSearch),
    per_request: Number(perRequest),
    service_tiers: numbers(tiers),
    regions: numbers(regions),
  };
}
