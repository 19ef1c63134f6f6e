import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { readUsage, type Usage, type UsageReading } from "../../../proxy/usage/read-usage.js";
import { costPicoUsdMax, tokensPerResponseMax } from "../../../shared/bounds.js";
import { reportedUsages } from "./reported-usage.js";

type Split = Partial<Usage> & { readonly note?: string };

function usage(inputTokens: number, outputTokens: number, more: Split = {}): UsageReading {
  return {
    kind: "usage",
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    reportedCost: null,
    details: null,
    note: null,
    ...more,
  };
}

t.test("each provider's form of usage is read", async (t) => {
  for (const { provider, usage: reported, input, output, cached, written } of reportedUsages)
    t.same(
      readUsage(reported),
      usage(input, output, {
        cachedInputTokens: cached ?? 0,
        cacheWriteInputTokens: written ?? 0,
        details: (readUsage(reported) as Usage).details,
      }),
      provider,
    );
});

t.test(
  "a missing or invalid count is what the total leaves for it; an impossible total is the sum",
  async (t) => {
    const cases: readonly (readonly [unknown, UsageReading])[] = [
      [{ prompt_tokens: 10, completion_tokens: 5 }, usage(10, 5)],
      [{ prompt_tokens: 10, completion_tokens: 5, total_tokens: null }, usage(10, 5)],
      [{ prompt_tokens: 7 }, usage(7, 0)],
      [{ promptTokenCount: 4, candidatesTokenCount: 5 }, usage(4, 5)],
      [{ input_tokens: 4, output_tokens: 5 }, usage(4, 5)],
      [{ completion_tokens: 3, prompt_tokens: null }, usage(0, 3)],
      [{ total_tokens: 12 }, usage(12, 0)],
      [{ total_tokens: 1 }, usage(1, 0)],
      [{ completion_tokens: 3, total_tokens: 12 }, usage(9, 3)],
      [{ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, usage(0, 0)],
      [{ total_tokens: 0 }, usage(0, 0)],
      [{ completion_tokens: 0 }, usage(0, 0)],
      [{ completion_tokens: 3 }, usage(0, 3)],
      [{ prompt_tokens: 4, completion_tokens: 5, total_tokens: 0 }, usage(4, 5)],
      [{ prompt_tokens: 4, completion_tokens: 5, total_tokens: 6 }, usage(4, 5)],
      [{ prompt_tokens: 10, completion_tokens: 5, total_tokens: 40 }, usage(10, 30)],
      [{ total_tokens: tokensPerResponseMax }, usage(tokensPerResponseMax, 0)],
      [{ prompt_tokens: 6e8, completion_tokens: 6e8 }, usage(6e8, 6e8)],
      [
        { prompt_tokens: tokensPerResponseMax, completion_tokens: tokensPerResponseMax },
        usage(tokensPerResponseMax, tokensPerResponseMax),
      ],
      [{ prompt_tokens: -4, completion_tokens: 5, total_tokens: 9 }, usage(4, 5)],
      [{ prompt_tokens: 4, completion_tokens: 2 ** 60, total_tokens: 9 }, usage(4, 5)],
      [{ prompt_tokens: 4, completion_tokens: 5, total_tokens: -9 }, usage(4, 5)],
      [{ prompt_tokens: 4, completion_tokens: 5, total_tokens: "9" }, usage(4, 5)],
      [{ prompt_tokens: 4, completion_tokens: 5, total_tokens: 2 ** 60 }, usage(4, 5)],
    ];
    for (const [value, expected] of cases)
      t.same(readUsage(value), expected, JSON.stringify(value));
  },
);

t.test("impossible details count as 0 or are cut, and the note says so", async (t) => {
  const of = (details: object, more: object = {}): UsageReading =>
    readUsage({ prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: details, ...more });
  t.match(of({ cached_tokens: 11 }), {
    ...usage(10, 5, { cachedInputTokens: 10 }),
    note: /^cached tokens cut to the 10 of the input: 11 read, 0 written$/,
  });
  t.match(of({ cached_tokens: 8, cache_write_tokens: 8 }), {
    ...usage(10, 5, { cachedInputTokens: 8, cacheWriteInputTokens: 2 }),
    note: /8 read, 8 written/,
  });
  for (const wrong of [-1, 1.5, "many", tokensPerResponseMax + 1, {}])
    t.match(
      of({ cached_tokens: wrong }),
      { ...usage(10, 5), note: /^cached tokens must be an integer .*: taken as 0$/ },
      JSON.stringify(wrong),
    );
  t.same(of({ cached_tokens: null, cache_write_tokens: null }), usage(10, 5));
  t.same(of({ cache_creation_tokens: 4 }), usage(10, 5, { cacheWriteInputTokens: 4 }));
  t.same(
    readUsage({ prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: "none" }),
    usage(10, 5),
  );
  t.same(
    readUsage({ input_tokens: 1, output_tokens: 1, cache_read_input_tokens: tokensPerResponseMax }),
    {
      kind: "invalid",
      reason:
        "the sum of input and cached tokens must be an integer " +
        `from 0 to ${tokensPerResponseMax}, not ${tokensPerResponseMax + 1}`,
    },
  );
});

t.test("a reported cost is read in its unit; an invalid one is ignored with a note", async (t) => {
  const of = (more: object): UsageReading =>
    readUsage({ prompt_tokens: 10, completion_tokens: 5, ...more });
  const cases: readonly (readonly [object, number])[] = [
    [{ cost: 0.00014 }, 140_000_000],
    [{ cost: 0 }, 0],
    [{ cost: 0.95, cost_details: { upstream_inference_cost: 19 } }, 950_000_000_000],
    [
      { cost: 0.95, is_byok: false, cost_details: { upstream_inference_cost: 19 } },
      950_000_000_000,
    ],
    [
      { cost: 0.95, is_byok: true, cost_details: { upstream_inference_cost: 19 } },
      19_950_000_000_000,
    ],
    [
      { cost: 0.95, is_byok: true, cost_details: { upstream_inference_cost: null } },
      950_000_000_000,
    ],
    [
      { cost: { input_tokens_cost: 0.001, output_tokens_cost: 0.002, total_cost: 0.008 } },
      8_000_000_000,
    ],
    [{ cost_in_usd_ticks: 37_756_000 }, 3_775_600_000],
  ];
  for (const [more, reportedCost] of cases)
    t.same(of(more), usage(10, 5, { reportedCost }), JSON.stringify(more));
  for (const [more, shown] of [
    [{ cost: -1 }, "-1"],
    [{ cost: "0.1" }, '"0.1"'],
    [{ cost: 9001 }, "9001"],
    [{ cost: { total_cost: -1 } }, "-1"],
    [{ cost: 1, is_byok: true, cost_details: { upstream_inference_cost: -1 } }, "1"],
    [{ cost: 5000, is_byok: true, cost_details: { upstream_inference_cost: 5000 } }, "5000"],
    [{ cost_in_usd_ticks: 1.5 }, "1.5"],
    [{ cost_in_usd_ticks: costPicoUsdMax }, String(costPicoUsdMax)],
  ] as const) {
    const note = `the reported cost is ignored: ${shown}`;
    t.same(of(more), usage(10, 5, { note }), JSON.stringify(more));
  }
  t.same(of({ cost: null, cost_in_usd_ticks: null }), usage(10, 5));
  t.same(of({ cost: {} }), usage(10, 5));
});

t.test("no usage, null and an object without counts are absent", async (t) => {
  for (const value of [undefined, null, {}, { prompt_tokens: null }, { cost: 0.1 }])
    t.same(readUsage(value), { kind: "absent" }, JSON.stringify(value));
});

t.test("an invalid usage has a reason and isn't charged", async (t) => {
  const range = `must be an integer from 0 to ${tokensPerResponseMax}`;
  const cases: readonly (readonly [unknown, string])[] = [
    [{ total_tokens: -1 }, `total_tokens ${range}, not -1`],
    [{ total_tokens: 1.5 }, `total_tokens ${range}, not 1.5`],
    [{ total_tokens: "12" }, `total_tokens ${range}, not "12"`],
    [
      { total_tokens: tokensPerResponseMax + 1 },
      `total_tokens ${range}, not ${tokensPerResponseMax + 1}`,
    ],
    [{ total_tokens: Infinity }, `total_tokens ${range}, not Infinity`],
    [{ prompt_tokens: -5, completion_tokens: 7 }, `prompt_tokens ${range}, not -5`],
    [{ prompt_tokens: 5, completion_tokens: 0.5 }, `completion_tokens ${range}, not 0.5`],
    [{ prompt_tokens: 5, completion_tokens: {} }, `completion_tokens ${range}, not {}`],
    [
      { prompt_tokens: -5, completion_tokens: 7, total_tokens: 2 ** 60 },
      `prompt_tokens ${range}, not -5`,
    ],
    [
      { prompt_tokens: -5, completion_tokens: 7, total_tokens: 0 },
      `prompt_tokens ${range}, not -5`,
    ],
    [[1, 2], `usage ${range}, not [1,2]`],
    [12, `usage ${range}, not 12`],
  ];
  for (const [value, reason] of cases)
    t.same(readUsage(value), { kind: "invalid", reason }, JSON.stringify(value));
});

const anything = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.constant(null),
  fc.constant(undefined),
  fc.string({ maxLength: 3 }),
  fc.integer({ min: 0, max: 2 ** 53 - 1 }),
  fc.nat(1000),
  fc.dictionary(
    fc.constantFrom("total_cost", "cached_tokens", "upstream_inference_cost"),
    fc.oneof(fc.nat(), fc.double()),
  ),
);
const names = [
  "prompt_tokens",
  "input_tokens",
  "completion_tokens",
  "output_tokens",
  "total_tokens",
  "prompt_tokens_details",
  "input_tokens_details",
  "cache_read_input_tokens",
  "cache_creation_input_tokens",
  "prompt_cache_hit_tokens",
  "cost",
  "cost_in_usd_ticks",
  "cost_details",
  "is_byok",
];

t.test("whatever an upstream sends, a reading adds up and stays in its bounds", async () => {
  fc.assert(
    fc.property(
      fc.record(Object.fromEntries(names.map((name) => [name, anything])), { requiredKeys: [] }),
      (fields) => {
        const reading = readUsage(fields);
        if (reading.kind !== "usage") return;
        const {
          inputTokens,
          outputTokens,
          totalTokens,
          cachedInputTokens,
          cacheWriteInputTokens,
          reportedCost,
        } = reading;
        for (const count of [inputTokens, outputTokens, cachedInputTokens, cacheWriteInputTokens])
          assert.ok(Number.isSafeInteger(count) && count >= 0 && count <= tokensPerResponseMax);
        assert.equal(inputTokens + outputTokens, totalTokens);
        assert.ok(cachedInputTokens + cacheWriteInputTokens <= inputTokens);
        assert.ok(
          reportedCost === null ||
            (Number.isSafeInteger(reportedCost) &&
              reportedCost >= 0 &&
              reportedCost <= costPicoUsdMax),
        );
      },
    ),
    { numRuns: 500 },
  );
});

t.test(
  "what a cache read or wrote is beside the input where Anthropic's fields say it",
  async (t) => {
    const counts = { input_tokens: 10, output_tokens: 5 };
    const table: readonly (readonly [object, Split & { readonly input: number }])[] = [
      [{ cache_read_input_tokens: 3 }, { input: 13, cachedInputTokens: 3 }],
      [{ cache_creation_input_tokens: 2 }, { input: 12, cacheWriteInputTokens: 2 }],
      [
        { cache_read_input_tokens: 3, cache_creation_input_tokens: 2 },
        { input: 15, cachedInputTokens: 3, cacheWriteInputTokens: 2 },
      ],
      [{ prompt_cache_hit_tokens: 3 }, { input: 10, cachedInputTokens: 3 }],
      [
        { input_tokens_details: { cached_tokens: 4 }, cache_read_input_tokens: 3 },
        { input: 10, cachedInputTokens: 4 },
      ],
      [{}, { input: 10 }],
    ];
    for (const [more, { input, ...rest }] of table)
      t.same(readUsage({ ...counts, ...more }), usage(input, 5, rest), JSON.stringify(more));
    t.same(
      readUsage({ prompt_tokens: 10, completion_tokens: 5, cache_read_input_tokens: 3 }),
      usage(10, 5, { cachedInputTokens: 3 }),
      "beside Anthropic's own name of the input alone",
    );
  },
);

t.test("what Gemini's tools put into the prompt is input", (t) => {
  const told = {
    promptTokenCount: 100,
    toolUsePromptTokenCount: 10_000,
    candidatesTokenCount: 50,
    thoughtsTokenCount: 20,
    totalTokenCount: 10_170,
  };
  t.match(readUsage(told), { inputTokens: 10_100, outputTokens: 70, totalTokens: 10_170 });
  t.end();
});
