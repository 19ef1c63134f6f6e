import t from "tap";
import { priceAt } from "../../../../shared/config/price-at.js";
import { evenFactors, type Price } from "../../../../shared/domain/price.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { accepted, refused } from "../resolve-sample.js";

const pricesOf = (text: string, nowMs = 0, base: Price | null = null): readonly (Price | null)[] =>
  accepted(text).config.prices.map((entry) => priceAt(entry, base, nowMs));
const noOthers = { perUnit: {}, perImage: {}, serviceTiers: {}, regions: {} };

const kinds = {};
const none = { cachedInput: null, cacheWrite: null, kinds };
const noFees = { perRequest: 0, ...noOthers, reportedFactor: 1000, ignoresReported: true };

t.test("prices become integer rates; tiers inherit the rates they leave out", async (t) => {
  const { config, warnings } = accepted(
    `
providers:
  openai: { api_key: none }
  local: { base_url: "http://127.0.0.1:9/v1", api_key: none }
prices:
  openai/gpt-4o: { input: 2.5, output: "10", cached_input: 1.25, cache_write: 0, per_request: 0.005, tiers: [{ above_input_tokens: 200000, input: 5 }, { above_input_tokens: 400000, output: 20, cached_input: 3 }] }
  openai/meta/llama-3: { input: 0.0375, output: "\${OUT}" }
  local/*: { input: 0, output: 0 }
`,
    { env: { OUT: "0.000001" } },
  );
  t.same(warnings, []);
  const prices = config.prices.map((entry) => ({
    provider: entry.provider,
    model: entry.model,
    price: priceAt(entry, null, 0),
  }));
  t.same(prices, [
    {
      provider: "openai",
      model: "gpt-4o",
      price: {
        rates: {
          input: 2_500_000,
          output: 10_000_000,
          cachedInput: 1_250_000,
          cacheWrite: 0,
          kinds,
        },
        ...noFees,
        perRequest: 5_000_000_000,
        tiers: [
          {
            aboveInputTokens: 200_000,
            rates: {
              input: 5_000_000,
              output: 10_000_000,
              cachedInput: 1_250_000,
              cacheWrite: 0,
              kinds,
            },
          },
          {
            aboveInputTokens: 400_000,
            rates: {
              input: 2_500_000,
              output: 20_000_000,
              cachedInput: 3_000_000,
              cacheWrite: 0,
              kinds,
            },
          },
        ],
      },
    },
    {
      provider: "openai",
      model: "meta/llama-3",
      price: { rates: { input: 37_500, output: 1, ...none }, ...noFees, tiers: [] },
    },
    {
      provider: "local",
      model: null,
      price: { rates: { input: 0, output: 0, ...none }, ...noFees, tiers: [] },
    },
  ]);
  t.same(accepted("prices:\n").config.prices, []);
});

t.test("all problems of prices are reported together, each with its place", async (t) => {
  const text = `
prices:
  gpt-4o: { input: 1, output: 1 }
  "simulator/": { input: 1, output: 1 }
  simulator/a: { input: -1, output: dear, cached: 1 }
  simulator/b: { input: 1 }
  simulator/c: 5
  simulator/d: { input: 0.0000001, output: 1, per_request: -0.1, tiers: 3 }
  simulator/e: { input: 1, output: 1, tiers: [{ input: 2 }, { above_input_tokens: 5 }, { above_input_tokens: 5, input: 2, outptu: 1 }, { above_input_tokens: 0.5, input: 1 }] }
  simulator/f: { input: 1, tiers: [{ above_input_tokens: 9, input: 1 }, { above_input_tokens: 8, input: 1 }] }
  simulator/A: { input: 1, output: 1 }
  simulator/g: { extends: gpt-4o }
  simulator/h: { extends: simulator/i }
  simulator/i: { extends: simulator/h }
  simulator/j: { per_minute: 0.006, changes: [{ input: 1 }, { from: 2026-12-01 }, { from: 2026-12-01 }, { from: soon }] }
  simulator/k: { extends: list, factor: -1, reported: never, hours: { "25:00-26:00": 1 } }
`;
  const rates =
    "input, output, cached_input, cache_write, cache_write_1h, cache_write_12h, audio_input, cached_audio_input, image_input, cached_image_input, reasoning, audio_output, image_output";
  const naming =
    "must be named provider/model, provider/* for all of a provider's models, or */* for all models without a price";
  const units =
    "per_request, per_second, per_minute, per_character, per_image, images, per_page, per_search_unit, per_web_search, per_searched_request, per_file_search, per_maps_search, per_container";
  const fields = `extends, ${rates}, ${units}, service_tiers, regions, hours, factor, reported, tiers, changes`;
  const rate =
    "must be a number of US dollars per million tokens from 0 to 1000000, with at most six decimals";
  t.same(
    [...refused(text)].sort(),
    [
      `prices.gpt-4o ${naming}`,
      `prices["simulator/"] ${naming}`,
      'prices["simulator/g"].extends must be list or provider/model, not "gpt-4o"',
      'prices["simulator/h"].extends must not lead back to it',
      'prices["simulator/i"].extends must not lead back to it',
      'prices["simulator/j"].changes[0].from is required',
      'prices["simulator/j"].changes[2].from must be later than that of the change before it',
      'prices["simulator/j"].changes[3].from must be a date such as 2026-12-01, or a time such as 2026-12-01T09:00:00Z, not "soon"',
      'prices["simulator/k"].factor must be a number from 0 to 100, with at most three decimals, not -1',
      'prices["simulator/k"].hours must be a mapping of times such as 16:30-00:30 in UTC to numbers from 0 to 100, with at most three decimals, not a mapping',
      'prices["simulator/k"].reported must be prefer or ignore, not "never"',
      `prices["simulator/a"].cached is not a known key: expected ${fields}`,
      `prices["simulator/a"].input ${rate}, not -1`,
      `prices["simulator/a"].output ${rate}, not "dear"`,
      'prices["simulator/b"].output is required',
      `prices["simulator/c"] must be a mapping of ${fields}, not 5`,
      `prices["simulator/d"].input ${rate}, not 1e-7`,
      'prices["simulator/f"].output is required',
      'prices["simulator/f"].tiers[1].above_input_tokens must be greater than 9, the tier before it, not 8',
      'prices["simulator/d"].per_request must be a number of US dollars from 0 to 1000, with at most nine decimals, not -0.1',
      'prices["simulator/d"].tiers must be a list of tiers, not 3',
      'prices["simulator/e"].tiers[0].above_input_tokens is required',
      `prices["simulator/e"].tiers[1] needs a rate: ${rates}`,
      'prices["simulator/e"].tiers[2].outptu is not a known key; did you mean output?',
      'prices["simulator/e"].tiers[2].above_input_tokens must be greater than 5, the tier before it, not 5',
      'prices["simulator/e"].tiers[3].above_input_tokens must be an integer from 1 to 1000000000, not 0.5',
      'prices["simulator/A"] prices the same model as prices["simulator/a"]: keep one of them',
    ].sort(),
  );
  t.match(refused("prices: [1]"), exactly(["prices must be a mapping of names, not a list"]));
});

t.test("kinds of tokens, searches and service tiers have prices of their own", async (t) => {
  const [price] = pricesOf(
    "prices: { simulator/a: { input: 1, output: 2, audio_input: 32, cache_write_1h: 2, reasoning: 3, per_web_search: 0.01, per_file_search: 0.0025, service_tiers: { flex: 0.5, priority: '1.75' }, tiers: [{ above_input_tokens: 5, audio_input: 64, image_output: 9 }] } }",
  );
  const base = { audioInput: 32_000_000, cacheWrite1h: 2_000_000, reasoning: 3_000_000 };
  t.match(
    price,
    exactly({
      rates: { kinds: base },
      perUnit: { webSearches: 10_000_000_000, fileSearches: 2_500_000_000 },
      serviceTiers: { flex: evenFactors(500), priority: evenFactors(1750) },
      tiers: [{ rates: { kinds: { ...base, audioInput: 64_000_000, imageOutput: 9_000_000 } } }],
    }),
  );
  const expected =
    "must be a mapping of names to numbers from 0 to 100, with at most three decimals, or to mappings of input, cached_input, cache_write, output to such numbers";
  for (const wrong of [
    "5",
    "{ 'a b': 1 }",
    "{ flex: { reasoning: 1 } }",
    "{ flex: -1 }",
    "{ flex: 101 }",
    "{ flex: 0.0001 }",
  ])
    t.match(
      refused(`prices: { simulator/a: { input: 1, output: 2, service_tiers: ${wrong} } }`)[0],
      `prices["simulator/a"].service_tiers ${expected}, not `,
      wrong,
    );
});

t.test("a price for a provider that isn't configured is a warning", async (t) => {
  t.same(accepted("prices: { simulatr/x: { input: 1, output: 1 } }").warnings, [
    "the prices for the provider simulatr price nothing: no such provider is configured; did you mean simulator?",
  ]);
});

t.test("a price extends another, and changes with dates and hours", async (t) => {
  const base: Price = {
    rates: { input: 1_000_000, output: 4_000_000, cachedInput: 100_000, cacheWrite: null },
    tiers: [
      {
        aboveInputTokens: 9,
        rates: { input: 2_000_000, output: 6_000_000, cachedInput: 200_000, cacheWrite: null },
      },
    ],
    perRequest: 7_000,
    perUnit: { webSearches: 10_000 },
    serviceTiers: { batch: evenFactors(500) },
  };
  const text = `
prices:
  simulator/a: { extends: list, factor: 0.9 }
  simulator/b: { extends: list, output: 8, per_image: 0.04, images: { hd: 0.08 }, service_tiers: { fast: 6 } }
  simulator/c: { extends: list, hours: { "23:00-01:00": 0.5 }, changes: [{ from: 1970-01-02, input: 3 }] }
`;
  const [a, b, c] = pricesOf(text, 0, base);
  t.match(
    a,
    exactly({
      rates: { input: 900_000, output: 3_600_000, cachedInput: 90_000 },
      tiers: [{ rates: { input: 1_800_000 } }],
      perRequest: 6_300,
      perUnit: { webSearches: 9_000 },
      reportedFactor: 900,
    }),
  );
  t.match(
    b,
    exactly({
      rates: { input: 1_000_000, output: 8_000_000 },
      tiers: [{ rates: { input: 2_000_000, output: 8_000_000 } }],
      perUnit: { webSearches: 10_000, images: 40_000_000_000 },
      perImage: { hd: 80_000_000_000 },
      serviceTiers: { batch: evenFactors(500), fast: evenFactors(6000) },
    }),
  );
  t.match(c, { rates: { input: 500_000 } }, "an hour after midnight");
  const dayMs = 86_400_000;
  t.match(pricesOf(text, dayMs / 2, base)[2], { rates: { input: 1_000_000 } });
  t.match(pricesOf(text, dayMs * 1.5, base)[2], { rates: { input: 3_000_000, output: 4_000_000 } });
  t.same(pricesOf(text, 0, null)[0], null, "nothing of it has a price");
  t.match(pricesOf("prices: { '*/*': { input: 1, output: 2, reported: prefer } }")[0], {
    ignoresReported: false,
  });
});
