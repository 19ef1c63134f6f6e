import t from "tap";
import { findUsage, mergeUsage, usageAtEnd } from "../../../proxy/usage/find-usage.js";
import { readUsageDetails } from "../../../proxy/usage/read-details.js";
import { readUsage } from "../../../proxy/usage/read-usage.js";
import { tokensPerResponseMax } from "../../../shared/bounds.js";
import {
  callsPerResponseMax,
  type DetailName,
  detailFields,
  detailNames,
  noDetailCounts,
} from "../../../shared/usage/usage-details.js";
import { reportedDetails } from "./reported-usage.js";

/** By the names of reports; counts of 0 are left out. */
function told(answer: unknown): Record<string, unknown> {
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
    t.same(told(answer), read, provider);
    // The end of an answer says the same, unless all of it must be read.
    const end = usageAtEnd(JSON.stringify(answer));
    if (end !== null) t.same(told(end), read, `the end: ${provider}`);
  }
});

t.test("a detail that is invalid counts as 0, one beyond its whole is cut to it", async (t) => {
  const of = (more: object): Record<string, unknown> =>
    told({ usage: { prompt_tokens: 10, completion_tokens: 5, ...more } });
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
  for (const tier of ["auto", "made-up", 7, null]) t.same(of({ service_tier: tier }), {});
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
    t.same(told({ usageMetadata: gemini }), {
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
    t.same(told({ usage: openai }), {
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
    const read = told(usageAtEnd(text) ?? JSON.parse(text));
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
  t.same(told({ usage: mergeUsage(begun, ended) }), { service_tier: "priority", web_searches: 2 });
});

const whole = {
  inputTokens: 10,
  outputTokens: 10,
  cachedInputTokens: 10,
  cacheWriteInputTokens: 10,
};
const counts = (usage: object) => readUsageDetails({ ...usage }, whole)?.counts ?? null;

t.test("each detail alone is something that was told, and any two are", async (t) => {
  const parts: readonly (readonly [DetailName, object])[] = [
    ["audioInputTokens", { prompt_tokens_details: { audio_tokens: 1 } }],
    ["imageInputTokens", { prompt_tokens_details: { image_tokens: 1 } }],
    ["audioOutputTokens", { completion_tokens_details: { audio_tokens: 1 } }],
    ["imageOutputTokens", { completion_tokens_details: { image_tokens: 1 } }],
    ["reasoningTokens", { thoughtsTokenCount: 1 }],
    ["cacheWrite1hTokens", { cache_creation: { ephemeral_1h_input_tokens: 1 } }],
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
  ] as const)
    t.same(readUsageDetails({ ...usage }, whole), {
      serviceTier: expected,
      counts: noDetailCounts,
    });
  for (const usage of [{}, { service_tier: "none of ours" }, { speed: "slow" }])
    t.equal(readUsageDetails({ ...usage }, whole), null);
});

t.test("as many calls of a tool are counted as an answer may have", async (t) => {
  const searches = (web_search_requests: number) => ({ server_tool_use: { web_search_requests } });
  t.match(counts(searches(callsPerResponseMax)), { webSearches: callsPerResponseMax });
  t.equal(counts(searches(callsPerResponseMax + 1)), null);
});
