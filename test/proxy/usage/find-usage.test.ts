import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { findUsage, mergeUsage, usageAtEnd } from "../../../proxy/usage/find-usage.js";
import { readUsage } from "../../../proxy/usage/read-usage.js";

t.test("usage is found at the top, and where streams put it", async (t) => {
  const inner = { total_tokens: 1 };
  for (const value of [
    { usage: inner },
    { usageMetadata: inner },
    { x_groq: { usage: inner } },
    { response: { usage: inner } },
    { message: { usage: inner } },
    { usage: null, x_groq: { usage: inner } },
  ])
    t.equal(findUsage(value), inner, JSON.stringify(value));
  t.equal(findUsage([{}, { usage: inner }]), inner, "the last of a list has the totals");
  for (const value of [
    null,
    [],
    [[{ usage: inner }]],
    [{ usage: inner }, {}],
    "usage",
    {},
    { usage: null },
    { x_groq: null },
    { response: {} },
  ])
    t.notOk(findUsage(value), JSON.stringify(value));
  t.equal(findUsage({ usage: 12 }), 12, "an invalid one is found too, to be refused");
});

/**
 * The usages of a stream's events, and what they add up to: input, output, cached, cache write.
 */
const usagesInParts: readonly (readonly [
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
    "embeddings and others that report a total alone",
    [{ total_tokens: 4 }, { total_tokens: 8 }],
    [8, 0, 0, 0],
  ],
];

t.test("only searches are counted as searches", async (t) => {
  const usage = { input_tokens: 1 };
  const searched = (output: unknown): unknown =>
    (findUsage({ output, usage }) as { server_tool_use?: unknown }).server_tool_use;
  for (const [output, expected] of [
    [[{ type: "message" }, { type: "function_call" }, null, "x"], undefined],
    [[{ type: "web_search_call" }], { web_search_requests: 1, file_search_requests: 0 }],
    [[{ type: "web_search_call", action: { type: "open_page" } }], undefined],
    [
      [{ type: "web_search_call", action: { type: "search" } }, { type: "file_search_call" }],
      { web_search_requests: 1, file_search_requests: 1 },
    ],
    ["none", undefined],
  ] as const)
    t.same(searched(output), expected, JSON.stringify(output));
});

t.test("a tier before the usage is found by parsing all of it", async (t) => {
  const usage = '"usage":{"prompt_tokens":3}';
  for (const [text, isEnough] of [
    [`{"service_tier":"flex",${usage}}`, false],
    [`{${usage},"service_tier":"flex"}`, true],
    [`{"service_tier":"flex","usage":{"prompt_tokens":3,"service_tier":"flex"}}`, true],
    [`{${usage}}`, true],
  ] as const)
    t.equal(usageAtEnd(text) !== null, isEnough, text);
});

t.test("the usage of several events is merged field by field", async (t) => {
  for (const [what, parts, sum] of usagesInParts) {
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
    "or is reported alone",
  );
  t.same(mergeUsage(null, { total_tokens: 4 }), { total_tokens: 4 });
  t.same(mergeUsage({ total_tokens: 4 }, undefined), { total_tokens: 4 });
  t.equal(mergeUsage({ total_tokens: 4 }, 12), 12, "and an invalid one isn't mended");
  t.match(readUsage(mergeUsage({ input_tokens: 3, output_tokens: 1 }, { output_tokens: -5 })), {
    kind: "invalid",
  });
});

t.test("a usage that has all fields of the earlier one is returned as it is", async (t) => {
  const later = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
  t.equal(mergeUsage({ prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }, later), later);
});

t.test(
  "the usage at the end of an answer is the one that parsing finds, or the caller has to parse",
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

t.test("fields beside the usage are read from their places", async (t) => {
  const usage = { total_tokens: 1 };
  const searched = [{ type: "web_search_call" }];
  for (const [value, expected] of [
    [[{ usage }], usage],
    [
      { usage, service_tier: "flex" },
      { ...usage, service_tier: "flex" },
    ],
    [
      { response: { usage, service_tier: "flex" }, service_tier: "default" },
      { ...usage, service_tier: "flex" },
    ],
    [{ response: { usage }, service_tier: "default" }, usage],
    [
      { x_groq: { usage, service_tier: "flex" }, service_tier: "default" },
      { ...usage, service_tier: "default" },
    ],
    [{ message: { usage, service_tier: "flex" } }, usage],
    [
      { usage: { ...usage, service_tier: "flex" }, output: searched },
      {
        ...usage,
        service_tier: "flex",
        server_tool_use: { web_search_requests: 1, file_search_requests: 0 },
      },
    ],
    [
      { usage: { ...usage, server_tool_use: { web_search_requests: 2 } }, service_tier: "flex" },
      { ...usage, server_tool_use: { web_search_requests: 2 }, service_tier: "flex" },
    ],
  ] as const)
    t.strictSame(findUsage(value), expected, JSON.stringify(value));
});

t.test("the end of an answer isn't enough where more than its usage counts", async (t) => {
  for (const [text, isEnough] of [
    ['{"id":"a","usage":{"input_tokens":1}}', true],
    ['{"output":[{"type":"web_search_call"}],"usage":{"input_tokens":1}}', false],
    ['{"text":"_search_call","usage":{"input_tokens":1}}', false],
    ['{"text":"_search_call","usage":{"prompt_tokens":1}}', true],
    ['{"x_groq":{"usage":{"total_tokens":1}},"usage":12}', false],
    ['{"x_groq":{"usage":{"total_tokens":1}},"usage":null}', false],
    ['{"error":{},"usage":{"input_tokens":1}}', false],
    ["{}", false],
  ] as const)
    t.equal(usageAtEnd(text) !== null, isEnough, text);
});
