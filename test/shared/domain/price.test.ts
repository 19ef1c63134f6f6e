import t from "tap";
import {
  blendedUsdPerMillion,
  evenFactors,
  kindRate,
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

const tierOf = (serviceTier: string | null, region: string | null = null) => ({
  serviceTier,
  region,
});

t.test("a service tier multiplies every rate that there is, rounded to integers", async (t) => {
  const base: TokenRates = {
    input: 1001,
    output: null,
    cachedInput: 10,
    cacheWrite: null,
    kinds: { reasoning: 30, audioInput: 0 },
  };
  const tiered = {
    ...price(base),
    serviceTiers: { flex: evenFactors(500), priority: evenFactors(1000) },
  };
  t.same(ratesFor(tiered, 0, tierOf("flex")), {
    input: 501,
    output: null,
    cachedInput: 5,
    cacheWrite: null,
    kinds: { reasoning: 15, audioInput: 0 },
  });
  for (const tier of ["priority", "batch", null] as const)
    t.equal(ratesFor(tiered, 0, tierOf(tier)), base, `${tier}: as it is`);
  t.equal(ratesFor(price(base), 0, tierOf("flex")), base, "none is told");
  t.same(ratesFor({ ...tiered, rates: rates(7, 9) }, 0, tierOf("flex")), {
    ...rates(4, 5),
    kinds: {},
  });
});

t.test("factors by kind, by region and by both", async (t) => {
  const base: TokenRates = { input: 1000, output: 4000, cachedInput: null, cacheWrite: 1250 };
  const priced: Price = {
    ...price(base),
    serviceTiers: { flex: { input: 500, output: 500 } },
    regions: { us: evenFactors(1100) },
  };
  t.match(ratesFor(priced, 0, tierOf("flex")), {
    input: 500,
    output: 2000,
    cachedInput: 1000,
    cacheWrite: 1250,
  });
  t.match(ratesFor(priced, 0, tierOf(null, "us")), {
    input: 1100,
    output: 4400,
    cachedInput: null,
  });
  t.match(ratesFor(priced, 0, tierOf("flex", "us")), {
    input: 550,
    output: 2200,
    cachedInput: 1100,
  });
  t.equal(ratesFor(priced, 0, tierOf(null, "eu")), base);
});

t.test("a kind of tokens costs its own rate, or that of what it is a part of", async (t) => {
  const bare: TokenRates = { input: 1, output: 2, cachedInput: null, cacheWrite: null };
  const table = [
    ["cacheWrite1h", 1, { cacheWrite: 5 }, 5],
    ["cacheWrite12h", 1, { cacheWrite: 5 }, 5],
    ["cachedAudioInput", 1, { cachedInput: 6 }, 6],
    ["cachedImageInput", 1, { cachedInput: 6 }, 6],
    ["audioInput", 1, { cachedInput: 6 }, 1],
    ["imageInput", 1, { cacheWrite: 5 }, 1],
    ["reasoning", 2, { cachedInput: 6 }, 2],
    ["audioOutput", 2, {}, 2],
    ["imageOutput", 2, {}, 2],
  ] as const;
  for (const [kind, ofBare, more, ofMore] of table) {
    t.equal(kindRate(bare, kind), ofBare, kind);
    t.equal(kindRate({ ...bare, ...more }, kind), ofMore, kind);
    t.equal(kindRate({ ...bare, ...more, kinds: { [kind]: 0 } }, kind), 0, "a price of nothing");
  }
  t.equal(kindRate({ ...bare, kinds: { audioInput: 8 } }, "cachedAudioInput"), 8);
  t.equal(kindRate({ ...bare, kinds: { imageInput: 9 } }, "cachedImageInput"), 9);
});
