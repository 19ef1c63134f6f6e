import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { priceSavedTokens, priceUsage } from "../../../proxy/usage/price-usage.js";
import type { Usage } from "../../../proxy/usage/usage.js";
import { costPicoUsdMax, tokensPerResponseMax } from "../../../shared/bounds.js";
import {
  blendedUsdPerMillion,
  evenFactors,
  type Price,
  rateFromUsdPerMillion,
} from "../../../shared/domain/price.js";
import {
  callsPerResponseMax,
  detailsOf,
  type UsageDetails,
} from "../../../shared/usage/usage-details.js";

const none = { cachedInput: null, cacheWrite: null };
const plain: Price = {
  rates: { input: 2_500_000, output: 10_000_000, cachedInput: 1_250_000, cacheWrite: 3_125_000 },
  tiers: [],
  perRequest: 0,
};
const tiered: Price = {
  rates: { input: 1_250_000, output: 10_000_000, ...none },
  perRequest: 0,
  tiers: [
    { aboveInputTokens: 200_000, rates: { input: 2_500_000, output: 15_000_000, ...none } },
    { aboveInputTokens: 500_000, rates: { input: 5_000_000, output: 20_000_000, ...none } },
  ],
};

function usage(inputTokens: number, outputTokens: number, more: Partial<Usage> = {}): Usage {
  return {
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    reportedCost: null,
    details: null,
    ...more,
  };
}

t.test("tokens are priced by their kind, tier and fee", async (t) => {
  const cases: readonly (readonly [
    name: string,
    Usage,
    Price,
    input: number,
    output: number,
    total: number,
  ])[] = [
    ["plain", usage(1000, 100), plain, 2_500_000_000, 1_000_000_000, 3_500_000_000],
    [
      "cached",
      usage(1000, 0, { cachedInputTokens: 400 }),
      plain,
      600 * 2_500_000 + 400 * 1_250_000,
      0,
      2_000_000_000,
    ],
    [
      "cache write",
      usage(1000, 0, { cachedInputTokens: 400, cacheWriteInputTokens: 500 }),
      plain,
      100 * 2_500_000 + 400 * 1_250_000 + 500 * 3_125_000,
      0,
      2_312_500_000,
    ],
    [
      "cached tokens without a rate cost what input costs",
      usage(10, 0, { cachedInputTokens: 4, cacheWriteInputTokens: 3 }),
      tiered,
      12_500_000,
      0,
      12_500_000,
    ],
    [
      "at the edge of a tier",
      usage(200_000, 1),
      tiered,
      250_000_000_000,
      10_000_000,
      250_010_000_000,
    ],
    [
      "above it",
      usage(200_001, 1),
      tiered,
      200_001 * 2_500_000,
      15_000_000,
      200_001 * 2_500_000 + 15_000_000,
    ],
    [
      "the highest tier",
      usage(600_000, 2),
      tiered,
      3_000_000_000_000,
      40_000_000,
      3_000_040_000_000,
    ],
    [
      "a fee",
      usage(1, 1),
      { ...plain, perRequest: 5_000_000_000 },
      2_500_000,
      10_000_000,
      5_012_500_000,
    ],
    [
      "an explicit 0 is a price",
      usage(5, 5),
      { rates: { input: 0, output: 0, ...none }, tiers: [], perRequest: 0 },
      0,
      0,
      0,
    ],
    ["nothing used", usage(0, 0), plain, 0, 0, 0],
    [
      "a kind without a rate that wasn't used",
      usage(8, 0),
      { rates: { input: 20_000, output: null, ...none }, tiers: [], perRequest: 0 },
      160_000,
      0,
      160_000,
    ],
  ];
  for (const [name, used, price, inputCost, outputCost, totalCost] of cases)
    t.same(priceUsage(used, price), { inputCost, outputCost, totalCost, source: "price" }, name);
});

t.test("what answers tell beside their tokens is priced by its kind, tier and call", async (t) => {
  const speaking: Price = {
    rates: {
      ...plain.rates,
      kinds: {
        cacheWrite1h: 5_000_000,
        cacheWrite12h: 6_000_000,
        audioInput: 40_000_000,
        cachedAudioInput: 400_000,
        imageInput: 5_000_000,
        reasoning: 3_000_000,
        audioOutput: 80_000_000,
      },
    },
    tiers: [],
    perRequest: 7,
    perUnit: { webSearches: 10_000_000_000, fileSearches: 2_500_000_000 },
    serviceTiers: { flex: evenFactors(500), priority: evenFactors(1700) },
  };
  const detailed = (
    counts: Parameters<typeof detailsOf>[1],
    tier: string | null = null,
  ): UsageDetails | null => detailsOf(tier, counts);
  const cases: readonly (readonly [string, Usage, input: number, output: number, fees: number])[] =
    [
      [
        "audio",
        usage(100, 50, { details: detailed({ audioInputTokens: 60, audioOutputTokens: 20 }) }),
        40 * 2_500_000 + 60 * 40_000_000,
        30 * 10_000_000 + 20 * 80_000_000,
        7,
      ],
      [
        "audio from a cache",
        usage(100, 0, {
          cachedInputTokens: 50,
          details: detailed({ audioInputTokens: 60, cachedAudioInputTokens: 20 }),
        }),
        10 * 2_500_000 + 40 * 40_000_000 + 30 * 1_250_000 + 20 * 400_000,
        0,
        7,
      ],
      [
        "images, whose output has no rate of its own",
        usage(100, 9, { details: detailed({ imageInputTokens: 30, imageOutputTokens: 9 }) }),
        70 * 2_500_000 + 30 * 5_000_000,
        90_000_000,
        7,
      ],
      [
        "images, of which some were in a cache",
        usage(100, 0, {
          cachedInputTokens: 20,
          details: detailed({ imageInputTokens: 30, cachedImageInputTokens: 10 }),
        }),
        60 * 2_500_000 + 20 * 5_000_000 + 20 * 1_250_000,
        0,
        7,
      ],
      [
        "images from a cache, without a rate of their own",
        usage(100, 0, {
          cachedInputTokens: 100,
          details: detailed({ imageInputTokens: 30, cachedImageInputTokens: 30 }),
        }),
        125_000_000,
        0,
        7,
      ],
      [
        "reasoning",
        usage(0, 50, { details: detailed({ reasoningTokens: 20 }) }),
        0,
        30 * 10_000_000 + 20 * 3_000_000,
        7,
      ],
      [
        "cache writes by lifetime",
        usage(100, 0, { cacheWriteInputTokens: 90, details: detailed({ cacheWrite1hTokens: 40 }) }),
        10 * 2_500_000 + 50 * 3_125_000 + 40 * 5_000_000,
        0,
        7,
      ],
      [
        "cache writes for twelve hours",
        usage(100, 0, {
          cacheWriteInputTokens: 90,
          details: detailed({ cacheWrite12hTokens: 40 }),
        }),
        10 * 2_500_000 + 50 * 3_125_000 + 40 * 6_000_000,
        0,
        7,
      ],
      [
        "searches",
        usage(0, 0, { details: detailed({ webSearches: 3, fileSearches: 2 }) }),
        0,
        0,
        35_000_000_007,
      ],
      [
        "a tier, which halves no fee",
        usage(10, 5, { details: detailed({ audioInputTokens: 4, webSearches: 1 }, "flex") }),
        6 * 1_250_000 + 4 * 20_000_000,
        5 * 5_000_000,
        10_000_000_007,
      ],
      ["a dearer tier", usage(10, 0, { details: detailed({}, "priority") }), 10 * 4_250_000, 0, 7],
      [
        "a tier without a factor",
        usage(10, 0, { details: detailed({}, "batch") }),
        25_000_000,
        0,
        7,
      ],
      [
        "parts that are more than the whole: no token is paid twice",
        usage(10, 10, { details: detailed({ audioOutputTokens: 8, reasoningTokens: 10 }) }),
        25_000_000,
        8 * 80_000_000 + 2 * 3_000_000,
        7,
      ],
    ];
  for (const [name, used, inputCost, outputCost, fees] of cases)
    t.same(
      priceUsage(used, speaking),
      { inputCost, outputCost, totalCost: inputCost + outputCost + fees, source: "price" },
      name,
    );
  t.equal(
    priceUsage(usage(5, 0, { details: detailed({ webSearches: callsPerResponseMax }) }), {
      ...speaking,
      perUnit: { webSearches: 1_000_000_000_000_000 },
    }),
    null,
    "more than one response can cost",
  );
});

t.test("what has no price is unpriced, never 0", async (t) => {
  t.equal(priceUsage(usage(10, 5), null), null);
  t.equal(priceUsage(usage(0, 0), null), null);
  t.equal(
    priceUsage(usage(10, 5), { ...plain, rates: { ...plain.rates, output: null } }),
    null,
    "output without a rate",
  );
  t.equal(
    priceUsage(usage(10, 0, { cachedInputTokens: 10 }), {
      ...plain,
      rates: { input: null, output: 1, ...none },
    }),
    null,
    "cached input without any rate",
  );
  t.equal(
    priceUsage(usage(tokensPerResponseMax, tokensPerResponseMax), plain),
    null,
    "more than one response can cost",
  );
});

t.test("a reported cost wins, and its two parts add up to it", async (t) => {
  t.same(
    priceUsage(usage(1000, 100, { reportedCost: 700 }), plain),
    { inputCost: 500, outputCost: 200, totalCost: 700, source: "reported" },
    "split as the price would",
  );
  t.same(
    priceUsage(usage(30, 10, { reportedCost: 1000 }), null),
    { inputCost: 750, outputCost: 250, totalCost: 1000, source: "reported" },
    "split by tokens",
  );
  t.same(
    priceUsage(usage(30, 10, { reportedCost: 0 }), plain),
    { inputCost: 0, outputCost: 0, totalCost: 0, source: "reported" },
    "reported to be free",
  );
  t.same(
    priceUsage(usage(0, 0, { reportedCost: 9 }), plain),
    { inputCost: 9, outputCost: 0, totalCost: 9, source: "reported" },
    "no tokens, such as a search",
  );
});

const rate = fc.option(fc.integer({ min: 0, max: 1_000_000_000_000 }), { nil: null });
t.test("costs are exact integers in their bounds, or null", async () => {
  const rates = fc.record({ input: rate, output: rate, cachedInput: rate, cacheWrite: rate });
  const used = fc.tuple(
    fc.nat(2_000_000),
    fc.nat(2_000_000),
    fc.nat(),
    fc.nat(),
    fc.option(fc.integer({ min: 0, max: costPicoUsdMax }), { nil: null }),
  );
  fc.assert(
    fc.property(rates, used, (ofRates, [input, output, a, b, reportedCost]) => {
      const cachedInputTokens = a % (input + 1);
      const cacheWriteInputTokens = b % (input - cachedInputTokens + 1);
      const costs = priceUsage(
        usage(input, output, { cachedInputTokens, cacheWriteInputTokens, reportedCost }),
        { rates: ofRates, tiers: [], perRequest: 0 },
      );
      const times = (tokens: number, by: number | null): bigint | null =>
        tokens === 0 ? 0n : by === null ? null : BigInt(tokens) * BigInt(by);
      const parts = [
        times(input - cachedInputTokens - cacheWriteInputTokens, ofRates.input),
        times(cachedInputTokens, ofRates.cachedInput ?? ofRates.input),
        times(cacheWriteInputTokens, ofRates.cacheWrite ?? ofRates.input),
        times(output, ofRates.output),
      ];
      const exact = parts.some((part) => part === null)
        ? null
        : parts.reduce<bigint>((sum, part) => sum + part!, 0n);
      if (reportedCost !== null) {
        assert.equal(costs?.totalCost, reportedCost);
        assert.equal(costs.inputCost + costs.outputCost, reportedCost);
        assert.ok(costs.inputCost >= 0 && costs.outputCost >= 0);
      } else if (exact === null || exact > BigInt(costPicoUsdMax)) assert.equal(costs, null);
      else assert.equal(BigInt(costs!.totalCost), exact);
    }),
  );
});

t.test(
  "a price per million tokens is an integer rate; one too small is refused, not rounded to 0",
  async (t) => {
    for (const [usd, expected] of [
      [0, 0],
      [0.0375, 37_500],
      [2.5, 2_500_000],
      [0.000001, 1],
      [1_000_000, 1e12],
    ] as const)
      t.equal(rateFromUsdPerMillion(usd), expected, `${usd}`);
    for (const usd of [-1, 0.0000001, 1.0000001, NaN, Infinity, 1_000_001])
      t.equal(rateFromUsdPerMillion(usd), undefined, `${usd}`);
  },
);

t.test("the blended figure is three parts input and one part output", async (t) => {
  t.equal(blendedUsdPerMillion(plain), (3 * 2.5 + 10) / 4);
  t.equal(
    blendedUsdPerMillion({ ...plain, rates: { input: 20_000, output: null, ...none } }),
    0.015,
  );
  t.equal(blendedUsdPerMillion({ ...plain, rates: { input: null, output: 1, ...none } }), null);
});

t.test("searches for which nothing is listed cost nothing of their own", async (t) => {
  const details = detailsOf(null, { webSearches: 2, fileSearches: 3 });
  t.match(priceUsage(usage(10, 0, { details }), plain), { totalCost: 25_000_000 });
});

t.test("a reported cost is split by the smallest price, and the smallest usage", async (t) => {
  const tiny: Price = { ...plain, rates: { input: 1, output: 0, ...none } };
  for (const [used, price, inputCost, outputCost] of [
    [usage(1, 9), tiny, 1000, 0],
    [usage(1, 9), null, 100, 900],
    [usage(0, 1), null, 0, 1000],
    [usage(1, 0), null, 1000, 0],
    [usage(0, 0), null, 1000, 0],
  ] as const)
    t.same(
      priceUsage({ ...used, reportedCost: 1000 }, price),
      { inputCost, outputCost, totalCost: 1000, source: "reported" },
      JSON.stringify([used, price]),
    );
});

t.test("tokens that weren't sent are priced as input, within what may be recorded", async (t) => {
  for (const [tokens, price, expected] of [
    [10, plain, 25_000_000],
    [0, plain, null],
    [10, null, null],
    [10, { ...plain, rates: { ...plain.rates, input: null } }, null],
    [1, { ...plain, rates: { ...plain.rates, input: costPicoUsdMax } }, costPicoUsdMax],
    [2, { ...plain, rates: { ...plain.rates, input: costPicoUsdMax } }, null],
  ] as const)
    t.equal(
      priceSavedTokens(tokens, usage(5, 5), price),
      expected,
      JSON.stringify([tokens, price]),
    );
  t.equal(priceSavedTokens(1, usage(200_001, 5), tiered), 2_500_000, "in the request's tier");
});
