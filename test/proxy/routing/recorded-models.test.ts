import fc from "fast-check";
import t from "tap";
import type { ModelCatalog } from "../../../proxy/routing/model-catalog.js";
import { createRecordedModels } from "../../../proxy/routing/recorded-models.js";
import { buildCatalog } from "../../../proxy/routing/resolve-model.js";
import { unlistedModelsMax } from "../../../shared/bounds.js";
import type { Config } from "../../../shared/config/config.js";
import { unknownModelName } from "../../../shared/domain/target-name.js";
import { dayMs } from "../../../shared/time.js";
import { providerConfig } from "../../support/provider-config.js";

function begin() {
  const config = {
    providers: [
      providerConfig({ name: "local", models: ["llama-3", "*"] }),
      providerConfig({ name: "openai", models: null }),
    ],
    virtualModels: [
      {
        source: "smart",
        strategy: "failover",
        targets: [{ provider: "local", model: "secret", weight: 1 }],
      },
    ],
    prices: [{ provider: "openai", model: "gpt-Priced", price: {} }],
    aliases: [
      { name: "mine", to: { kind: "target", provider: "openai", model: "o-Aliased" } },
      { name: "wise", to: { kind: "virtual", source: "smart" } },
    ],
  } as unknown as Pick<Config, "providers" | "virtualModels" | "prices" | "aliases">;
  const learned = new Map([["openai", ["gpt-4o"]]]);
  const catalog = buildCatalog(config.providers, config.virtualModels, learned);
  const clock = { nowMs: 5 * dayMs };
  const recorded = createRecordedModels(config, {
    models: { current: () => catalog } as ModelCatalog,
    nowMs: () => clock.nowMs,
  });
  return { recorded, clock };
}

t.test("a model is recorded by its name if anybody vouches for it", async (t) => {
  const { recorded } = begin();
  for (const [provider, model, answered, vouched] of [
    ["local", "llama-3", false, true],
    ["openai", "gpt-4o", false, true],
    ["openai", "GPT-4o", false, true],
    ["local", "secret", false, true],
    ["openai", "gpt-priced", false, true],
    ["openai", "O-aliased", false, true],
    ["local", "o-aliased", false, false],
    ["openai", "secret", false, false],
    ["local", "gpt-4o", false, false],
    ["openai", "new", false, false],
    ["openai", "new", true, true],
    ["openai", "new", false, true],
    ["local", "new", false, false],
    ["openai", "", false, true],
    ["local", "*", false, false],
  ] as const)
    t.equal(
      recorded.nameOf({ provider, model }, answered),
      vouched ? model : unknownModelName,
      `${provider}/${model}, ${answered ? "answered" : "refused"}`,
    );
});

t.test("however many names are made up, few are recorded, and listed ones always", async (t) => {
  const { recorded, clock } = begin();
  const call = fc.record({
    model: fc.oneof(fc.string({ minLength: 1, maxLength: 3 }), fc.constant("gpt-4o")),
    answered: fc.boolean(),
    laterMs: fc.nat({ max: 5 }),
  });
  const names = new Map<number, Set<string>>();
  fc.assert(
    fc.property(fc.array(call, { maxLength: 100 }), (calls) => {
      for (const { model, answered, laterMs } of calls) {
        clock.nowMs += laterMs;
        const name = recorded.nameOf({ provider: "openai", model }, answered);
        if (name !== model && name !== unknownModelName) return false;
        if (model === "gpt-4o" && name !== model) return false;
        const day = Math.floor(clock.nowMs / dayMs);
        names.set(day, (names.get(day) ?? new Set()).add(name));
      }
      return true;
    }),
    { numRuns: 200 },
  );
  for (let i = 0; i < 2 * unlistedModelsMax; i++)
    names.get(5)!.add(recorded.nameOf({ provider: "openai", model: `made-up-${i}` }, true));
  // Those that were answered, the listed one, the priced one, and all others together.
  t.ok(names.get(5)!.size <= unlistedModelsMax + 3, `${names.get(5)!.size} names`);
  t.equal(recorded.nameOf({ provider: "local", model: "own" }, true), "own", "elsewhere is room");
  clock.nowMs += dayMs;
  t.equal(recorded.nameOf({ provider: "openai", model: "tomorrow" }, true), "tomorrow");
});

t.test("of a provider so many names are recorded that it doesn't list", async (t) => {
  const { recorded } = begin();
  const nameOf = (i: number): string =>
    recorded.nameOf({ provider: "openai", model: `made-up-${i}` }, true);
  for (let i = 0; i < unlistedModelsMax; i++) t.equal(nameOf(i), `made-up-${i}`);
  t.equal(nameOf(unlistedModelsMax), unknownModelName);
  t.equal(nameOf(0), "made-up-0", "those that were recorded are so still");
});
