import t from "tap";
import { exactly } from "../../../support/patterns/exactly.js";
import { accepted, refused } from "../resolve-sample.js";

const kinds = {};
const none = { cachedInput: null, cacheWrite: null, kinds };
const noFees = { perRequest: 0, perWebSearch: 0, perFileSearch: 0, serviceTiers: {} };

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
  t.same(config.prices, [
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

t.test("everything wrong with prices is reported at once, each with its place", async (t) => {
  const text = `
prices:
  gpt-4o: { input: 1, output: 1 }
  "simulator/": { input: 1, output: 1 }
  simulator/sim*: { input: 1, output: 1 }
  simulator/a: { input: -1, output: dear, cached: 1 }
  simulator/b: { input: 1 }
  simulator/c: 5
  simulator/d: { input: 0.0000001, output: 1, per_request: -0.1, tiers: 3 }
  simulator/e: { input: 1, output: 1, tiers: [{ input: 2 }, { above_input_tokens: 5 }, { above_input_tokens: 5, input: 2, outptu: 1 }, { above_input_tokens: 0.5, input: 1 }] }
  simulator/f: { input: 1, tiers: [{ above_input_tokens: 9, input: 1 }, { above_input_tokens: 8, input: 1 }] }
  simulator/A: { input: 1, output: 1 }
`;
  const rates =
    "input, output, cached_input, cache_write, cache_write_1h, audio_input, cached_audio_input, image_input, cached_image_input, reasoning, audio_output, image_output";
  const fields = `${rates}, per_request, per_web_search, per_file_search, service_tiers, tiers`;
  const rate =
    "must be a number of US dollars per million tokens from 0 to 1000000, with at most six decimals";
  t.same(
    [...refused(text)].sort(),
    [
      "prices.gpt-4o must be named provider/model, or provider/* for all of a provider's models",
      `prices["simulator/"] must be named provider/model, or provider/* for all of a provider's models`,
      `prices["simulator/sim*"] must be named provider/model, or provider/* for all of a provider's models`,
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
  const { config } = accepted(
    "prices: { simulator/a: { input: 1, output: 2, audio_input: 32, cache_write_1h: 2, reasoning: 3, per_web_search: 0.01, per_file_search: 0.0025, service_tiers: { flex: 0.5, priority: '1.75' }, tiers: [{ above_input_tokens: 5, audio_input: 64, image_output: 9 }] } }",
  );
  const base = { audioInput: 32_000_000, cacheWrite1h: 2_000_000, reasoning: 3_000_000 };
  t.match(
    config.prices[0]?.price,
    exactly({
      rates: { kinds: base },
      perWebSearch: 10_000_000_000,
      perFileSearch: 2_500_000_000,
      serviceTiers: { flex: 500, priority: 1750 },
      tiers: [{ rates: { kinds: { ...base, audioInput: 64_000_000, imageOutput: 9_000_000 } } }],
    }),
  );
  const expected =
    "must be a mapping of standard, flex, priority, batch, scale, fast, offpeak, provisioned to numbers from 0 to 100, with at most three decimals";
  for (const wrong of ["5", "{ cheap: 1 }", "{ flex: -1 }", "{ flex: 101 }", "{ flex: 0.0001 }"])
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
