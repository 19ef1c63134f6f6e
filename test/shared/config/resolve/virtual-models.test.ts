import t from "tap";
import { exactly } from "../../../support/patterns/exactly.js";
import { accepted, refused } from "../resolve-sample.js";

const providers =
  "providers: { openai: , local: { base_url: http://x }, broken: { base_url: 5 } }\n";
const goodProviders = "providers: { openai: , local: { base_url: http://x } }\n";

t.test(
  "a virtual model gets its defaults, and splits its targets at the first slash",
  async (t) => {
    const text = `${goodProviders}virtual_models:\n  smart: { targets: [ { model: openai/gpt-4o }, { model: local/meta/llama-3, weight: 1000 } ] }\n  team/best: { strategy: failover, targets: [ { model: local/x, weight: "2" } ] }\n`;
    t.same(accepted(text).config.virtualModels, [
      {
        source: "smart",
        strategy: "round_robin",
        targets: [
          { provider: "openai", model: "gpt-4o", weight: 1 },
          { provider: "local", model: "meta/llama-3", weight: 1000 },
        ],
      },
      {
        source: "team/best",
        strategy: "failover",
        targets: [{ provider: "local", model: "x", weight: 2 }],
      },
    ]);
  },
);

t.test(
  "targets may be at the implicit simulator and at providers from the environment",
  async (t) => {
    const text =
      "virtual_models: { smart: { strategy: cost, targets: [ { model: simulator/sim-fast }, { model: groq/x } ] } }\n";
    t.same(
      accepted(text, { env: { GROQ_API_KEY: "k" } }).config.virtualModels[0]?.targets.map(
        ({ provider }) => provider,
      ),
      ["simulator", "groq"],
    );
  },
);

t.test(
  "a source may be named like one of its own targets, which then is the provider's model",
  async (t) => {
    const text = `${goodProviders}virtual_models: { openai/gpt-4o: { targets: [ { model: openai/gpt-4o }, { model: local/gpt-4o } ] } }\n`;
    t.same(accepted(text).config.virtualModels[0]?.targets.length, 2);
  },
);

t.test("a wrong virtual model is reported with its place", async (t) => {
  const many = `[ ${Array.from({ length: 65 }, () => "{ model: openai/m }").join(", ")} ]`;
  for (const [body, problems] of [
    ["a: { targets: [] }", ["virtual_models.a.targets must hold from 1 to 64 targets, not 0"]],
    [
      `a: { targets: ${many} }`,
      ["virtual_models.a.targets must hold from 1 to 64 targets, not 65"],
    ],
    ["a: {}", ["virtual_models.a.targets is required"]],
    [
      "a: { targets: openai/m }",
      ['virtual_models.a.targets must be a list of targets, not "openai/m"'],
    ],
    [
      "a: { strategy: random, targets: [ { model: openai/m } ] }",
      [
        'virtual_models.a.strategy must be round_robin, cost, latency, least_busy or failover, not "random"',
      ],
    ],
    [
      "a: { targets: [ { model: openai/m, weight: 0 }, { model: openai/m, weight: 1.5 }, { model: openai/m, weight: 1001 } ] }",
      [0, 1.5, 1001].map((weight, i) => {
        const expected = "must be an integer from 1 to 1000";
        return `virtual_models.a.targets[${i}].weight ${expected}, not ${weight}`;
      }),
    ],
    [
      "a: { targets: [ { weight: 2 }, openai/m ] }",
      [
        "virtual_models.a.targets[0].model is required",
        "virtual_models.a.targets[1] must be a mapping: write model: openai/m",
      ],
    ],
    [
      "a: { targets: [ { model: gpt-4o }, { model: openai/ }, { model: /m } ] }",
      ["gpt-4o", "openai/", "/m"].map(
        (model, i) => `virtual_models.a.targets[${i}].model must be provider/model, not "${model}"`,
      ),
    ],
    [
      "a: { targets: [ { model: opanai/m }, { model: azure/m } ] }",
      [
        'virtual_models.a.targets[0].model names the provider "opanai", which isn\'t configured; did you mean openai?',
        'virtual_models.a.targets[1].model names the provider "azure", which isn\'t configured',
      ],
    ],
    [
      "a: { targets: [ { model: openai/b }, { model: a } ] }, openai/b: { targets: [ { model: openai/m } ] }",
      [
        'virtual_models.a.targets[0].model must be provider/model, not the virtual model "openai/b": a virtual model can\'t be a target',
        'virtual_models.a.targets[1].model must be provider/model, not the virtual model "a": a virtual model can\'t be a target',
      ],
    ],
    [
      "/a: { targets: [ { model: openai/m } ] }",
      [
        'virtual_models["/a"] must be named with a model id: without a leading or trailing slash or white space',
      ],
    ],
    [
      "a: { target: [] , targets: [ { model: openai/m, wieght: 1 } ] }",
      [
        "virtual_models.a.target is not a known key; did you mean targets?",
        "virtual_models.a.targets[0].wieght is not a known key; did you mean weight?",
      ],
    ],
  ] as const) {
    t.same(refused(`${goodProviders}virtual_models: { ${body} }\n`), problems, body.slice(0, 60));
  }
});

t.test("a target at a provider that is itself wrong makes no second problem", async (t) => {
  t.match(
    refused(`${providers}virtual_models: { a: { targets: [ { model: broken/m } ] } }\n`),
    exactly([/^providers\.broken\.base_url /]),
  );
  t.equal(
    refused(`${providers}virtual_models: { a: { targets: [ { model: broken/m } ] } }\n`).length,
    1,
  );
});

t.test("affinity is for the strategies that spread requests", async (t) => {
  const text = (fields: string): string =>
    `${goodProviders}virtual_models: { smart: { ${fields}, targets: [ { model: local/x } ] } }\n`;
  for (const strategy of ["round_robin", "latency", "least_busy"])
    t.equal(
      accepted(text(`strategy: ${strategy}, affinity: conversation`)).config.virtualModels[0]
        ?.affinity,
      "conversation",
    );
  const affinityOf = (fields: string) => accepted(text(fields)).config.virtualModels[0]?.affinity;
  t.equal(affinityOf("strategy: cost, affinity: none"), "none");
  t.equal(affinityOf("strategy: cost"), undefined);
  t.equal(affinityOf("affinity: session"), undefined, "the default");
  for (const strategy of ["failover", "cost"])
    t.same(refused(text(`strategy: ${strategy}, affinity: conversation`)), [
      `virtual_models.smart.affinity must not be conversation with the strategy ${strategy}, which has the same order for all conversations`,
    ]);
  t.same(refused(text("affinity: user")), [
    'virtual_models.smart.affinity must be none, session or conversation, not "user"',
  ]);
});
