import t from "tap";
import {
  blendedUsdPerMillion,
  type Price,
  rateFromUsdPerMillion,
  ratesFor,
  type TokenRates,
} from "../../../shared/domain/price.js";

const rates = (input: number | null, output: number | null = null): TokenRates => ({
  input,
  output,
  cachedInput: null,
  cacheWrite: null,
});
const price = (base: TokenRates, ...tiers: readonly [number, TokenRates][]): Price => ({
  rates: base,
  tiers: tiers.map(([aboveInputTokens, rates]) => ({ aboveInputTokens, rates })),
  perRequest: 0,
});

t.test("a response is priced by the highest tier that its input is above", async (t) => {
  const [low, middle, high] = [rates(1), rates(2), rates(3)];
  const tiered = price(low, [1000, middle], [5000, high]);
  for (const [inputTokens, found] of [
    [0, low],
    [1000, low],
    [1001, middle],
    [5000, middle],
    [5001, high],
  ] as const)
    t.equal(ratesFor(tiered, inputTokens), found);
});

t.test("a rate is exact to six decimals, up to a million dollars", async (t) => {
  for (const [usd, rate] of [
    [0, 0],
    [0.0375, 37_500],
    [0.000001, 1],
    [1_000_000, 1e12],
    [1_000_000.000001, undefined],
    [0.0000015, undefined],
    [-1, undefined],
    [Number.NaN, undefined],
  ] as const)
    t.equal(rateFromUsdPerMillion(usd), rate, String(usd));
});

t.test("models are compared by three parts input and one part output", async (t) => {
  t.equal(blendedUsdPerMillion(price(rates(2_000_000, 6_000_000))), 3);
  t.equal(blendedUsdPerMillion(price(rates(4_000_000))), 3);
  t.equal(blendedUsdPerMillion(price(rates(null, 6_000_000))), null);
});
