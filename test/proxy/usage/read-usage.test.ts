import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { findUsage, mergeUsage, usageAtEnd } from "../../../proxy/usage/find-usage.js";
import { readUsage, readUsageDetails, type UsageReading } from "../../../proxy/usage/read-usage.js";
import type { Usage } from "../../../proxy/usage/usage.js";
import { costPicoUsdMax, tokensPerResponseMax } from "../../../shared/bounds.js";
import {
  callsPerResponseMax,
  type DetailName,
  detailFields,
  detailNames,
  noDetailCounts,
} from "../../../shared/usage/usage-details.js";
import { reportedDetails, reportedUsages } from "./reported-usage.js";

type Split = Partial<Usage> & { readonly note?: string };

function bareTotal(inputTokens: number, outputTokens: number): UsageReading {
  return Object.assign(usage(inputTokens, outputTokens), { isBareTotal: true });
}

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

t.test("a field without meaning beside the others changes nothing", async (t) => {
  const usages = [
    ...reportedUsages.map(({ usage: reported }) => reported),
    ...reportedDetails.map(({ answer }) => findUsage(answer)),
  ];
  for (const reported of usages)
    t.same(
      readUsage({ ...(reported as object), no_field: 1 }),
      readUsage(reported),
      JSON.stringify(reported),
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
      [{ total_tokens: 12 }, bareTotal(12, 0)],
      [{ total_tokens: 1 }, bareTotal(1, 0)],
      [{ completion_tokens: 3, total_tokens: 12 }, usage(9, 3)],
      [{ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, usage(0, 0)],
      [{ total_tokens: 0 }, usage(0, 0)],
      [{ completion_tokens: 0 }, usage(0, 0)],
      [{ completion_tokens: 3 }, usage(0, 3)],
      [{ prompt_tokens: 4, completion_tokens: 5, total_tokens: 0 }, usage(4, 5)],
      [{ prompt_tokens: 4, completion_tokens: 5, total_tokens: 6 }, usage(4, 5)],
      [{ prompt_tokens: 10, completion_tokens: 5, total_tokens: 40 }, usage(10, 30)],
      [{ total_tokens: tokensPerResponseMax }, bareTotal(tokensPerResponseMax, 0)],
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
  const recordedUsage = {
    promptTokenCount: 100,
    toolUsePromptTokenCount: 10_000,
    candidatesTokenCount: 50,
    thoughtsTokenCount: 20,
    totalTokenCount: 10_170,
  };
  t.match(readUsage(recordedUsage), { inputTokens: 10_100, outputTokens: 70, totalTokens: 10_170 });
  t.end();
});

/** By the names of reports; counts of 0 are left out. */
function recordedUsage(answer: unknown): Record<string, unknown> {
  const reading = readUsage(findUsage(answer));
  const details = reading.kind === "usage" ? reading.details : null;
  if (details === null) return {};
  return {
    ...(details.serviceTier === null ? {} : { service_tier: details.serviceTier }),
    ...Object.fromEntries(
      detailNames
        .filter((name) => details.counts[name] > 0)
        .map((name) => [detailFields[name], details.counts[name]]),
    ),
  };
}

t.test("what answers report beside their tokens is read", async (t) => {
  for (const { provider, answer, read } of reportedDetails) {
    t.same(recordedUsage(answer), read, provider);
    // The end of an answer says the same, unless all of it must be read.
    const end = usageAtEnd(JSON.stringify(answer));
    if (end !== null) t.same(recordedUsage(end), read, `the end: ${provider}`);
  }
});

t.test("a detail that is invalid counts as 0, one beyond its whole is cut to it", async (t) => {
  const of = (more: object): Record<string, unknown> =>
    recordedUsage({ usage: { prompt_tokens: 10, completion_tokens: 5, ...more } });
  for (const wrong of [-1, 0.5, "3", null, {}, callsPerResponseMax + 1])
    t.same(of({ server_tool_use: { web_search_requests: wrong } }), {}, String(wrong));
  t.same(of({ prompt_tokens_details: { audio_tokens: 99, image_tokens: 4 } }), {
    audio_input_tokens: 10,
  });
  t.same(of({ completion_tokens_details: { reasoning_tokens: 9 } }), { reasoning_tokens: 5 });
  for (const [tokens, counted] of [
    [tokensPerResponseMax, { audio_input_tokens: tokensPerResponseMax }],
    [tokensPerResponseMax + 1, {}],
  ] as const)
    t.same(
      of({
        prompt_tokens: tokensPerResponseMax,
        completion_tokens: 0,
        prompt_tokens_details: { audio_tokens: tokens },
      }),
      counted,
    );
  t.same(of({ cache_creation: { ephemeral_1h_input_tokens: 4 } }), {}, "nothing was written");
  for (const tier of ["auto", "made up", 7, null]) t.same(of({ service_tier: tier }), {});
  for (const details of ["no object", 5, []]) t.same(of({ prompt_tokens_details: details }), {});
  t.same(of({ promptTokensDetails: [null, 5, { modality: "AUDIO" }] }), {});
});

t.test(
  "each detail is read wherever a provider tells it, its own field before a list",
  async (t) => {
    const modalities = (audio: number, image: number): object[] => [
      { modality: "AUDIO", tokenCount: audio },
      { modality: "IMAGE", tokenCount: image },
    ];
    const gemini = {
      promptTokenCount: 20,
      candidatesTokenCount: 20,
      totalTokenCount: 40,
      cachedContentTokenCount: 9,
      promptTokensDetails: modalities(5, 6),
      candidatesTokensDetails: modalities(7, 8),
      cacheTokensDetails: modalities(2, 3),
    };
    t.same(recordedUsage({ usageMetadata: gemini }), {
      audio_input_tokens: 5,
      image_input_tokens: 6,
      cached_audio_input_tokens: 2,
      cached_image_input_tokens: 3,
      audio_output_tokens: 7,
      image_output_tokens: 8,
    });
    const openai = {
      input_tokens: 20,
      output_tokens: 20,
      input_tokens_details: { audio_tokens: 1, image_tokens: 2 },
      output_tokens_details: { audio_tokens: 3, image_tokens: 4 },
    };
    t.same(recordedUsage({ usage: openai }), {
      audio_input_tokens: 1,
      image_input_tokens: 2,
      audio_output_tokens: 3,
      image_output_tokens: 4,
    });
  },
);

t.test("a caller's own words about a tier change no price", async (t) => {
  const usage = { prompt_tokens: 10, completion_tokens: 5 };
  for (const answer of [
    { metadata: { service_tier: "flex" }, usage },
    { usage, metadata: { service_tier: "flex" } },
    { service_tier: "priority", metadata: { service_tier: "flex" }, usage },
    { output: [{ text: '"service_tier":"flex","usage":{}' }], usage },
  ]) {
    const text = JSON.stringify(answer);
    const read = recordedUsage(usageAtEnd(text) ?? JSON.parse(text));
    t.not(read["service_tier"], "flex", text);
  }
});

t.test("a stream tells its tier at the start and its searches at the end", async (t) => {
  const begun = findUsage({
    message: { usage: { input_tokens: 5, output_tokens: 1, service_tier: "priority" } },
  });
  const ended = findUsage({
    usage: { output_tokens: 9, server_tool_use: { web_search_requests: 2 } },
  });
  t.same(recordedUsage({ usage: mergeUsage(begun, ended) }), {
    service_tier: "priority",
    web_searches: 2,
  });
});

const whole = {
  inputTokens: 10,
  outputTokens: 10,
  cachedInputTokens: 10,
  cacheWriteInputTokens: 10,
};
const counts = (usage: object) => readUsageDetails({ ...usage }, whole)?.counts ?? null;

t.test("each detail alone counts as reported usage, and so do any two", async (t) => {
  const parts: readonly (readonly [DetailName, object])[] = [
    ["audioInputTokens", { prompt_tokens_details: { audio_tokens: 1 } }],
    ["imageInputTokens", { prompt_tokens_details: { image_tokens: 1 } }],
    ["audioOutputTokens", { completion_tokens_details: { audio_tokens: 1 } }],
    ["imageOutputTokens", { completion_tokens_details: { image_tokens: 1 } }],
    ["reasoningTokens", { thoughtsTokenCount: 1 }],
    ["cacheWrite1hTokens", { cache_creation: { ephemeral_1h_input_tokens: 1 } }],
    [
      "cacheWrite12hTokens",
      { prompt_tokens_details: { cache_write_tokens_details: { ttl_12h_tokens: 1 } } },
    ],
    ["webSearches", { server_tool_use: { web_search_requests: 1 } }],
    ["fileSearches", { server_tool_use: { file_search_requests: 1 } }],
  ];
  for (const [name, one] of parts) {
    t.same(counts(one), { ...noDetailCounts, [name]: 1 }, name);
    for (const [other, two] of parts)
      if (!Object.keys(one).some((field) => field in two))
        t.same(
          counts({ ...one, ...two }),
          { ...noDetailCounts, [name]: 1, [other]: 1 },
          `${name} ${other}`,
        );
  }
  t.same(counts({ prompt_tokens_details: { audio_tokens: 1, image_tokens: 1 } }), {
    ...noDetailCounts,
    audioInputTokens: 1,
    imageInputTokens: 1,
  });
  t.same(counts({ output_tokens_details: { audio_tokens: 1, image_tokens: 1 } }), {
    ...noDetailCounts,
    audioOutputTokens: 1,
    imageOutputTokens: 1,
  });
  t.equal(counts({}), null);
  t.equal(counts({ promptTokensDetails: {}, candidatesTokensDetails: "none" }), null);
});

t.test("what is a part of the same whole is cut to what is left of it", async (t) => {
  t.match(
    counts({
      prompt_tokens_details: {
        audio_tokens: 6,
        image_tokens: 9,
        cached_tokens_details: { audio_tokens: 6, image_tokens: 4 },
      },
      completion_tokens_details: { audio_tokens: 6, image_tokens: 8 },
    }),
    {
      audioInputTokens: 6,
      imageInputTokens: 4,
      cachedAudioInputTokens: 6,
      cachedImageInputTokens: 4,
      audioOutputTokens: 6,
      imageOutputTokens: 4,
    },
  );
  const cached = { audio_tokens: 5, image_tokens: 5 };
  t.match(
    readUsageDetails(
      { prompt_tokens_details: { ...cached, cached_tokens_details: cached } },
      { ...whole, cachedInputTokens: 7 },
    )?.counts,
    { cachedAudioInputTokens: 5, cachedImageInputTokens: 2 },
  );
});

t.test("the tier that served is read from each name of it", async (t) => {
  for (const [usage, expected] of [
    [{ service_tier: "flex" }, "flex"],
    [{ serviceTier: "flex" }, "flex"],
    [{ trafficType: "ON_DEMAND_FLEX" }, "flex"],
    [{ service_tier: "priority", serviceTier: "flex" }, "priority"],
    [{ speed: "fast", service_tier: "standard" }, "fast"],
    [{ speed: "standard", service_tier: "priority" }, "priority"],
    [{ serviceTier: { type: "flex" } }, "flex"],
    [{ service_tier: "UltraFast" }, "ultrafast"],
  ] as const)
    t.same(readUsageDetails({ ...usage }, whole), {
      serviceTier: expected,
      region: null,
      counts: noDetailCounts,
    });
  for (const usage of [{}, { service_tier: "no name" }, { inference_geo: "not_available" }])
    t.equal(readUsageDetails({ ...usage }, whole), null);
});

t.test("as many calls of a tool are counted as an answer may have", async (t) => {
  const searches = (web_search_requests: number) => ({ server_tool_use: { web_search_requests } });
  t.match(counts(searches(callsPerResponseMax)), { webSearches: callsPerResponseMax });
  t.equal(counts(searches(callsPerResponseMax + 1)), null);
});
