import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import t from "tap";
import {
  findUsage,
  mergeUsage,
  readUsage,
  type Usage,
  type UsageReading,
  usageAtEnd,
} from "../../../proxy/usage/read-usage.js";
import { costPicoUsdMax, tokensPerResponseMax } from "../../../shared/bounds.js";
import { root } from "../../tidy/source-tree.js";

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
    note: null,
    ...more,
  };
}

t.test("each row of the page's table is what is read", async (t) => {
  const page = readFileSync(join(root, "docs/usage.md"), "utf8");
  const rows = [
    ...page.matchAll(
      /^\| ([^|]+) \| `(\{[^`]+\})` \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$/gm,
    ),
  ];
  t.equal(rows.length, 14);
  for (const [, provider = "", json = "", input, output, total, cached, written] of rows) {
    t.match(
      readUsage(JSON.parse(json)),
      {
        inputTokens: Number(input),
        outputTokens: Number(output),
        totalTokens: Number(total),
        cachedInputTokens: Number(cached),
        cacheWriteInputTokens: Number(written),
        note: null,
      },
      provider,
    );
  }
});

t.test(
  "a count that is missing or nonsense is what the total leaves for it; a total that can't be is the sum",
  async (t) => {
    const cases: readonly (readonly [unknown, UsageReading])[] = [
      [{ prompt_tokens: 10, completion_tokens: 5 }, usage(10, 5)],
      [{ prompt_tokens: 10, completion_tokens: 5, total_tokens: null }, usage(10, 5)],
      [{ prompt_tokens: 7 }, usage(7, 0)],
      [{ completion_tokens: 3, prompt_tokens: null }, usage(0, 3)],
      [{ total_tokens: 12 }, usage(12, 0)],
      [{ completion_tokens: 3, total_tokens: 12 }, usage(9, 3)],
      [{ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, usage(0, 0)],
      [{ total_tokens: 0 }, usage(0, 0)],
      [{ prompt_tokens: 4, completion_tokens: 5, total_tokens: 0 }, usage(4, 5)],
      [{ prompt_tokens: 4, completion_tokens: 5, total_tokens: 6 }, usage(4, 5)],
      [{ prompt_tokens: 10, completion_tokens: 5, total_tokens: 40 }, usage(10, 30)],
      [{ total_tokens: tokensPerResponseMax }, usage(tokensPerResponseMax, 0)],
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

t.test("details that can't be are taken as nothing or cut, and the note says so", async (t) => {
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
  t.same(
    readUsage({ prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: "none" }),
    usage(10, 5),
  );
  t.same(
    readUsage({ input_tokens: 1, output_tokens: 1, cache_read_input_tokens: tokensPerResponseMax }),
    {
      kind: "invalid",
      reason: `the sum of prompt_tokens and completion_tokens must be an integer from 0 to ${tokensPerResponseMax}, not ${tokensPerResponseMax + 2}`,
    },
  );
});

t.test(
  "the cost that a provider reports is read in its unit; nonsense is ignored with a note",
  async (t) => {
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
    for (const more of [
      { cost: -1 },
      { cost: "0.1" },
      { cost: 9001 },
      { cost: { total_cost: -1 } },
      { cost: 1, is_byok: true, cost_details: { upstream_inference_cost: -1 } },
      { cost_in_usd_ticks: 1.5 },
      { cost_in_usd_ticks: costPicoUsdMax },
    ]) {
      t.match(
        of(more),
        { ...usage(10, 5), note: /^the reported cost is ignored: / },
        JSON.stringify(more),
      );
    }
    t.same(of({ cost: null, cost_in_usd_ticks: null }), usage(10, 5));
    t.same(of({ cost: {} }), usage(10, 5));
  },
);

t.test("no usage, null and an object without counts are absent", async (t) => {
  for (const value of [undefined, null, {}, { prompt_tokens: null }, { cost: 0.1 }])
    t.same(readUsage(value), { kind: "absent" }, JSON.stringify(value));
});

t.test("nonsense is named and not charged", async (t) => {
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
      { prompt_tokens: tokensPerResponseMax, completion_tokens: 1 },
      `the sum of prompt_tokens and completion_tokens ${range}, not ${tokensPerResponseMax + 1}`,
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
        for (const count of [
          inputTokens,
          outputTokens,
          totalTokens,
          cachedInputTokens,
          cacheWriteInputTokens,
        ])
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

t.test("usage is found at the top, and where streams put it", async (t) => {
  const inner = { total_tokens: 1 };
  for (const value of [
    { usage: inner },
    { x_groq: { usage: inner } },
    { response: { usage: inner } },
    { message: { usage: inner } },
    { usage: null, x_groq: { usage: inner } },
  ])
    t.equal(findUsage(value), inner, JSON.stringify(value));
  for (const value of [null, [], "usage", {}, { usage: null }, { x_groq: null }, { response: {} }])
    t.notOk(findUsage(value), JSON.stringify(value));
  t.equal(findUsage({ usage: 12 }), 12, "nonsense is found too, to be refused");
});

/**
 * What a stream tells, event by event, and what it comes to: input, output, cached, cache write.
 */
const toldInParts: readonly (readonly [
  what: string,
  parts: readonly unknown[],
  sum: readonly [number, number, number, number],
])[] = [
  [
    "Anthropic: the input at the start, the output at the end",
    [
      {
        input_tokens: 100,
        cache_read_input_tokens: 600,
        cache_creation_input_tokens: 300,
        output_tokens: 1,
      },
      { output_tokens: 200 },
    ],
    [1000, 200, 600, 300],
  ],
  [
    "its newer versions: all of it again",
    [
      {
        input_tokens: 100,
        cache_read_input_tokens: 600,
        cache_creation_input_tokens: 300,
        output_tokens: 1,
      },
      {
        input_tokens: 100,
        cache_read_input_tokens: 600,
        cache_creation_input_tokens: 300,
        output_tokens: 200,
        server_tool_use: null,
      },
    ],
    [1000, 200, 600, 300],
  ],
  [
    "more input in the end, by what its tools found",
    [
      {
        input_tokens: 100,
        cache_read_input_tokens: 600,
        cache_creation_input_tokens: 300,
        output_tokens: 1,
      },
      {
        input_tokens: 5100,
        cache_read_input_tokens: 700,
        cache_creation_input_tokens: 300,
        output_tokens: 200,
      },
    ],
    [6100, 200, 700, 300],
  ],
  [
    "nulls",
    [
      { input_tokens: 100, cache_read_input_tokens: 600, output_tokens: 1 },
      {
        input_tokens: null,
        cache_read_input_tokens: null,
        cache_creation_input_tokens: null,
        output_tokens: 200,
      },
    ],
    [700, 200, 600, 0],
  ],
  [
    "zeros",
    [
      { input_tokens: 100, cache_read_input_tokens: 600, output_tokens: 1 },
      {
        input_tokens: 0,
        cache_read_input_tokens: 0,
        cache_creation_input_tokens: 0,
        output_tokens: 200,
      },
    ],
    [700, 200, 600, 0],
  ],
  [
    "a relay that repeats the input alone",
    [
      { input_tokens: 100, cache_read_input_tokens: 600, output_tokens: 1 },
      { input_tokens: 100, output_tokens: 200 },
    ],
    [700, 200, 600, 0],
  ],
  [
    "a relay that knows nothing at the start",
    [
      { input_tokens: 0, output_tokens: 0 },
      { input_tokens: 100, cache_read_input_tokens: 600, output_tokens: 200 },
    ],
    [700, 200, 600, 0],
  ],
  [
    "a relay that guesses at the start",
    [
      { input_tokens: 900, output_tokens: 1 },
      { input_tokens: 100, output_tokens: 200 },
    ],
    [100, 200, 0, 0],
  ],
  [
    "a relay with a total",
    [
      { input_tokens: 100, output_tokens: 1, total_tokens: 101 },
      { output_tokens: 200, total_tokens: 300 },
    ],
    [100, 200, 0, 0],
  ],
  [
    "the cache alone, in between",
    [
      { input_tokens: 100, output_tokens: 1 },
      { cache_read_input_tokens: 600 },
      { output_tokens: 200 },
    ],
    [700, 200, 600, 0],
  ],
  [
    "an end without a count of its own",
    [{ input_tokens: 100, output_tokens: 1 }, { output_tokens: 200 }, { output_tokens: null }, {}],
    [100, 200, 0, 0],
  ],
  [
    "OpenAI: once",
    [
      null,
      {
        prompt_tokens: 1000,
        completion_tokens: 200,
        total_tokens: 1200,
        prompt_tokens_details: { cached_tokens: 600 },
      },
    ],
    [1000, 200, 600, 0],
  ],
  [
    "running counts",
    [
      { prompt_tokens: 1000, completion_tokens: 1, total_tokens: 1001 },
      { prompt_tokens: 1000, completion_tokens: 150, total_tokens: 1150 },
      {
        prompt_tokens: 1000,
        completion_tokens: 200,
        total_tokens: 1200,
        prompt_tokens_details: { cached_tokens: 600 },
      },
    ],
    [1000, 200, 600, 0],
  ],
  [
    "the same, without details at the end",
    [
      {
        prompt_tokens: 1000,
        completion_tokens: 1,
        total_tokens: 1001,
        prompt_tokens_details: { cached_tokens: 600 },
      },
      {
        prompt_tokens: 1000,
        completion_tokens: 200,
        total_tokens: 1200,
        prompt_tokens_details: null,
      },
    ],
    [1000, 200, 600, 0],
  ],
  [
    "the same, with zeros at the end",
    [
      { prompt_tokens: 1000, completion_tokens: 50, total_tokens: 1200 },
      { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    ],
    [1000, 200, 0, 0],
  ],
  [
    "a total that is out of date",
    [
      { prompt_tokens: 1000, completion_tokens: 1, total_tokens: 1001 },
      { prompt_tokens: 10, completion_tokens: 5 },
    ],
    [10, 5, 0, 0],
  ],
  [
    "a prompt that turns out smaller",
    [
      { prompt_tokens: 1000, completion_tokens: 1, total_tokens: 1001 },
      { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    ],
    [10, 5, 0, 0],
  ],
  [
    "Gemini, OpenAI-compatible: thinking first, in the total alone",
    [
      { prompt_tokens: 1000, total_tokens: 1100 },
      { prompt_tokens: 1000, completion_tokens: 20, total_tokens: 1170 },
      { prompt_tokens: 1000, completion_tokens: 50, total_tokens: 1200 },
    ],
    [1000, 200, 0, 0],
  ],
  [
    "Gemini, its own API",
    [
      { promptTokenCount: 1000, totalTokenCount: 1100 },
      {
        promptTokenCount: 1000,
        candidatesTokenCount: 50,
        totalTokenCount: 1200,
        cachedContentTokenCount: 600,
      },
    ],
    [1000, 200, 600, 0],
  ],
  [
    "embeddings and others that tell a total alone",
    [{ total_tokens: 4 }, { total_tokens: 8 }],
    [8, 0, 0, 0],
  ],
];

t.test("what a stream tells of its usage is put together field by field", async (t) => {
  for (const [what, parts, sum] of toldInParts) {
    const reading = readUsage(
      parts.reduce((earlier: unknown, later) => mergeUsage(earlier, later), null),
    );
    assert(reading.kind === "usage", what);
    t.same(
      [
        reading.inputTokens,
        reading.outputTokens,
        reading.cachedInputTokens,
        reading.cacheWriteInputTokens,
      ],
      sum,
      what,
    );
  }
  t.same(
    mergeUsage({ prompt_tokens: 3, cost: 1 }, { prompt_tokens: 4 }),
    { prompt_tokens: 4 },
    "a cost goes with its counts",
  );
  t.same(
    mergeUsage({ prompt_tokens: 3 }, { cost: 1 }),
    { prompt_tokens: 3, cost: 1 },
    "or is told alone",
  );
  t.same(mergeUsage(null, { total_tokens: 4 }), { total_tokens: 4 });
  t.same(mergeUsage({ total_tokens: 4 }, undefined), { total_tokens: 4 });
  t.equal(mergeUsage({ total_tokens: 4 }, 12), 12, "and nonsense isn't mended");
  t.match(readUsage(mergeUsage({ input_tokens: 3, output_tokens: 1 }, { output_tokens: -5 })), {
    kind: "invalid",
  });
});

t.test("nothing is made for a usage that tells all that was told before", async (t) => {
  const later = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
  t.equal(mergeUsage({ prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }, later), later);
});

t.test(
  "the usage at the end of an answer is the one that parsing all of it finds, or parsing is left to the caller",
  async (t) => {
    t.same(
      usageAtEnd(
        '{"choices":[{"text":"say \\"usage\\": 7"}],"usage":{"total_tokens":3},"id":"x"} ',
      ),
      { usage: { total_tokens: 3 }, id: "x" },
    );
    for (const text of [
      "",
      "[]",
      '{"a":"usage"}',
      '{"a":"usage","b":1}',
      '{"a":{"usage":{"total_tokens":3}}}',
      '{"usage":{"total_tokens":3}',
      '{"error":{},"usage":{}}',
      '{"x_groq":{"usage":{}},"usage":null}',
    ])
      t.equal(usageAtEnd(text), null, text);
    const leaf = fc.oneof(
      fc.nat(9),
      fc.constantFrom("usage", '"usage":', "error", "}", "\\", ""),
      fc.constant(null),
    );
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc.array(tie("tree"), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom("usage", "error", "x_groq", "a", "b"), tie("tree"), {
          maxKeys: 4,
        }),
      ),
    }));
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("usage", "error", "x_groq", "a", "b"), tree, { maxKeys: 5 }),
        fc.constantFrom(undefined, 2),
        (answer, indent) => {
          const text = JSON.stringify(answer, null, indent);
          assert.deepEqual(
            findUsage(usageAtEnd(text) ?? JSON.parse(text)),
            findUsage(JSON.parse(text)),
            text,
          );
        },
      ),
      { numRuns: 1000 },
    );
  },
);
