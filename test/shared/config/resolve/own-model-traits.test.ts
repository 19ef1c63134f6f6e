import t from "tap";
import { exactly } from "../../../support/patterns/exactly.js";
import { accepted, refused } from "../resolve-sample.js";

const provider = (entries: string): string =>
  `providers: { a: { base_url: "http://a", model_traits: ${entries} } }\n`;

t.test("what the operator says of a provider's models", async (t) => {
  const text = provider(
    "[{ models: Prod-*, like: gpt-5.4 }, { models: [x, y], max_output_tokens: 5, efforts: [low], reasoning_with_tools: none, sampling: one_of, thinking: budget, output_schema: no, images: false, forced_calls: true }]",
  );
  const nothing = {
    like: null,
    outputTokensMax: null,
    efforts: null,
    reasoningWithTools: null,
    sampling: null,
    thinking: null,
    takesOutputSchema: null,
    takesImages: null,
    takesForcedCalls: null,
  };
  t.same(accepted(text).config.providers[0]?.modelTraits, [
    { ...nothing, models: ["prod-*"], like: "gpt-5.4" },
    {
      models: ["x", "y"],
      like: null,
      outputTokensMax: 5,
      efforts: ["low"],
      reasoningWithTools: "none",
      sampling: "one_of",
      thinking: "budget",
      takesOutputSchema: false,
      takesImages: false,
      takesForcedCalls: true,
    },
  ]);
});

t.test("the Responses API can't be said of models at a provider without it", async (t) => {
  const entries = "[{ models: x }, { models: m, reasoning_with_tools: responses }]";
  const at = (fields: string): string =>
    `providers: { a: { model_traits: ${entries}, ${fields} } }\n`;
  const problem =
    "providers.a.model_traits[1].reasoning_with_tools must not be responses: the provider's operations are without responses";
  t.same(refused(at('base_url: "http://a", operations: [chat_completions]')), [problem]);
  t.same(refused(at("type: anthropic")), [problem]);
  t.match(
    accepted(at('base_url: "http://a", operations: [chat_completions, responses]')),
    exactly({
      config: { providers: [{ modelTraits: [{}, { reasoningWithTools: "responses" }] }] },
    }),
  );
});

t.test("a wrong entry is reported with its place", async (t) => {
  const at = "providers.a.model_traits";
  const cases: readonly (readonly [string, string])[] = [
    ["{}", `${at} must be a list of entries, not {}`],
    ["[x]", `${at}[0] must be a mapping of models`],
    ["[{}]", `${at}[0].models is required`],
    ["[{ models: [] }]", `${at}[0].models must be a list of model ids`],
    ["[{ models: ['a b'] }]", `${at}[0].models must be a list of model ids`],
    ["[{ models: m, efforts: [huge] }]", `${at}[0].efforts must be a list that holds nothing but`],
    [
      "[{ models: m, reasoning_with_tools: yes }]",
      `${at}[0].reasoning_with_tools must be chat, responses or none`,
    ],
    ["[{ models: m, max_output_tokens: 0 }]", `${at}[0].max_output_tokens must be an integer`],
    ["[{ models: m, vision: true }]", `${at}[0].vision`],
  ];
  for (const [entries, problem] of cases) {
    const problems = refused(provider(entries)).map((each) => String(each));
    t.ok(
      problems.some((each) => each.startsWith(problem)),
      `${entries}: ${problems.join("; ")}`,
    );
  }
});
