import t from "tap";
import {
  aliasByBeginning,
  aliasNamed,
  buildCatalog,
  type Catalog,
  listModels,
  modelAliases,
  modelNames,
  requestedName,
  resolveModel,
  type VirtualRoute,
} from "../../../proxy/routing/resolve-model.js";
import { subjectBytesMax } from "../../../shared/bounds.js";
import type {
  AliasConfig,
  ProviderConfig,
  VirtualModelConfig,
} from "../../../shared/config/config.js";
import { providerConfig } from "../../support/provider-config.js";

function provider(name: string, models: readonly string[] | null): ProviderConfig {
  return providerConfig({ name, models });
}

const smart: VirtualModelConfig = {
  source: "Smart",
  strategy: "failover",
  targets: [{ provider: "openai", model: "gpt-4o", weight: 1 }],
};
const shouting: VirtualModelConfig = { ...smart, source: "SMART", strategy: "cost" };
const shadowing: VirtualModelConfig = { ...smart, source: "openai/gpt-4o-mini" };

const catalog = buildCatalog(
  [
    provider("openai", ["gpt-4o", "gpt-4o-mini", "both"]),
    provider("OpenRouter", null),
    provider("later", ["both", "meta/llama-3"]),
  ],
  [smart, shouting, shadowing],
  new Map([
    ["OpenRouter", ["openai/gpt-4o", "learned", "", "x".repeat(subjectBytesMax + 1)]],
    ["openai", ["not-asked"]],
    ["gone", ["of-gone"]],
  ]),
);

/** `provider/model`, `virtual source`, or null. */
function resolved(from: Catalog, name: string): string | null {
  const route = resolveModel(from, name);
  if (route === null) return null;
  return route.kind === "virtual"
    ? `virtual ${route.source}`
    : route.targets.map((target) => `${target.provider} ${target.model}`).join();
}

t.test("a provider's name may be one letter, and isn't empty", async (t) => {
  const short = buildCatalog([provider("a", ["m"])], [], new Map());
  t.equal(resolved(short, "a/x"), "a x");
  t.equal(resolved(short, "/m"), null);
  t.equal(resolved(short, "ab"), null, "nor is a name that only begins like one at it");
});

t.test("a name is resolved in the documented order", async (t) => {
  const cases: readonly (readonly [string, string | null, string])[] = [
    ["Smart", "virtual Smart", "a virtual model"],
    ["SMART", "virtual SMART", "the exact source before the first in any case"],
    ["sMaRt", "virtual Smart", "a source in another case: the first"],
    ["openai/gpt-4o-mini", "virtual openai/gpt-4o-mini", "a virtual model before a qualified id"],
    ["openai/gpt-4o", "openai gpt-4o", "a qualified id before the same bare id elsewhere"],
    ["OPENAI/gpt-4o", "openai gpt-4o", "the provider in any case"],
    ["openai/GPT-4o", "openai gpt-4o", "the id as the provider lists it"],
    ["openai/unlisted", "openai unlisted", "an id that the provider doesn't list"],
    ["openrouter/meta/llama-3", "OpenRouter meta/llama-3", "an id with slashes"],
    ["openrouter/openai/gpt-4o", "OpenRouter openai/gpt-4o", "an id that looks qualified"],
    ["gpt-4o", "openai gpt-4o", "a bare id"],
    ["both", "openai both", "the first provider that lists it"],
    ["learned", "OpenRouter learned", "a learned id"],
    ["meta/llama-3", "later meta/llama-3", "a bare id with a slash"],
    [" gpt-4o\n", "openai gpt-4o", "white space around it"],
    ["GPT-4o", "openai gpt-4o", "a bare id in another case"],
    ["not-asked", null, "learned from a provider that has a configured list"],
    ["of-gone", null, "learned from a provider that isn't configured"],
    ["unknown", null, "unknown"],
    ["unknown/gpt-4o", null, "of an unknown provider"],
    ["openai/", null, "a provider without an id"],
    ["/gpt-4o", null, "no provider before the slash"],
    ["", null, "nothing"],
    [" ", null, "blank"],
    ["__proto__", null, "a name that plain objects have"],
    ["*", null, "the wild card itself"],
  ];
  for (const [name, expected, why] of cases)
    t.equal(resolved(catalog, name), expected, `${JSON.stringify(name)}: ${why}`);
});

t.test("a provider with any id takes the ids that no provider lists", async (t) => {
  const open = buildCatalog(
    [provider("openai", ["gpt-4o"]), provider("local", ["listed", "*"]), provider("other", ["*"])],
    [],
    new Map(),
  );
  t.equal(resolved(open, "gpt-4o"), "openai gpt-4o");
  t.equal(resolved(open, "anything"), "local anything");
  t.equal(resolved(open, "unknown/anything"), "local unknown/anything");
  t.equal(resolved(open, "other/anything"), "other anything");
  t.equal(resolved(open, "openai/"), null);
  t.equal(resolved(open, "x".repeat(subjectBytesMax)), `local ${"x".repeat(subjectBytesMax)}`);
  t.equal(resolved(open, "x".repeat(subjectBytesMax + 1)), null, "too long for the wire");
  t.equal(resolved(open, "é".repeat(subjectBytesMax / 2 + 1)), null, "too long in bytes");
});

t.test("an empty configuration resolves nothing", async (t) => {
  t.equal(resolved(buildCatalog([], [], new Map()), "gpt-4o"), null);
});

t.test("a virtual route carries its targets and its strategy", async (t) => {
  t.same(resolveModel(catalog, "Smart"), { kind: "virtual", ...smart });
});

t.test("virtual models are listed first, then each provider's known ids", async (t) => {
  t.same(
    listModels(catalog).map(({ id, owned_by: ownedBy }) => `${id} ${ownedBy}`),
    [
      "Smart sluice",
      "SMART sluice",
      "openai/gpt-4o-mini sluice",
      "openai/gpt-4o openai",
      "openai/gpt-4o-mini openai",
      "openai/both openai",
      "OpenRouter/openai/gpt-4o OpenRouter",
      "OpenRouter/learned OpenRouter",
      "later/both later",
      "later/meta/llama-3 later",
    ],
  );
  t.same(listModels(buildCatalog([provider("local", ["*", "a", "a"])], [], new Map())), [
    { id: "local/a", object: "model", created: 0, owned_by: "local" },
  ]);
});

t.test("every listed name resolves", async (t) => {
  for (const { id } of listModels(catalog)) t.not(resolveModel(catalog, id), null, id);
});

t.test("aliases are listed where the operator put them", async (t) => {
  const target = (provider: string, model: string | null): AliasConfig["to"] => ({
    kind: "target",
    provider,
    model,
  });
  const aliases: readonly AliasConfig[] = [
    { name: "Best", to: { kind: "virtual", source: "Smart" } },
    { name: "turbo", to: target("openai", "gpt-4o") },
    { name: "openai/old", to: target("later", "new") },
    { name: "gpt-*", to: target("later", null) },
    { name: "gpt-5*", to: target("openai", null) },
    { name: "*", to: target("later", "rest") },
  ];
  const providers = [provider("openai", ["gpt-4o", "both"]), provider("later", ["gpt-4o", "*"])];
  const from = buildCatalog(providers, [smart], new Map(), { aliases });
  const cases: readonly (readonly [name: string, route: string, requested: string])[] = [
    ["best", "virtual Smart", "Best"],
    ["smart", "virtual Smart", "Smart"],
    ["TURBO", "openai gpt-4o", "turbo"],
    ["openai/old", "later new", "openai/old"],
    ["openai/gpt-4o", "openai gpt-4o", ""],
    ["gpt-4o", "later gpt-4o", ""],
    ["GPT-5-mini", "openai GPT-5-mini", ""],
    ["both", "openai both", ""],
    ["whatever", "later rest", "*"],
  ];
  for (const [name, route, requested] of cases) {
    t.equal(resolved(from, name), route, name);
    t.equal(requestedName(resolveModel(from, name)!), requested, name);
  }
  t.equal(
    (resolveModel(from, "best") as VirtualRoute).targets,
    (resolveModel(from, "smart") as VirtualRoute).targets,
    "both take turns together",
  );
  t.same(
    listModels(from).map(({ id }) => id),
    ["Smart", "Best", "turbo", "openai/old", "openai/gpt-4o", "openai/both", "later/gpt-4o"],
  );
  t.same(modelNames(from, 5), ["Smart", "Best", "turbo", "openai/old", "gpt-4o"]);
});

t.test(
  "a bare id is at the first provider that lists it as written, before any case",
  async (t) => {
    const providers = [provider("one", ["GPT-4o", "o3"]), provider("two", ["gpt-4o", "O3"])];
    const two = buildCatalog([...providers, provider("unlearned", null)], [], new Map());
    for (const [name, expected] of [
      ["gpt-4o", "two gpt-4o"],
      ["GPT-4o", "one GPT-4o"],
      ["GPT-4O", "one GPT-4o"],
      ["o3", "one o3"],
      ["O3", "two O3"],
    ] as const)
      t.equal(resolved(two, name), expected, name);
  },
);

t.test("a name that nothing knows waits for every list but the catch-all's own", async (t) => {
  const providers = [provider("backup", null), provider("other", null)];
  const toBackup: AliasConfig = {
    name: "*",
    to: { kind: "target", provider: "backup", model: null },
  };
  const toModel: AliasConfig = {
    name: "*",
    to: { kind: "target", provider: "backup", model: "m" },
  };
  for (const [alias, unlearned, expected] of [
    [toBackup, [], "backup x"],
    [toBackup, ["backup"], "backup x"],
    [toBackup, ["other"], null],
    [toBackup, ["backup", "other"], null],
    [toModel, [], "backup m"],
    [toModel, ["backup"], null],
  ] as const) {
    const built = buildCatalog(providers, [], new Map(), { aliases: [alias] });
    t.equal(resolved({ ...built, unlearned }, "x"), expected, JSON.stringify([alias, unlearned]));
  }
});

const to = { kind: "target", provider: "p", model: null } as const;
const aliasesOf = (...names: readonly string[]) =>
  modelAliases(names.map((name): AliasConfig => ({ name, to })));

/** The alias by which a name is found: as a whole, and by how it begins. */
function found(names: readonly string[], asked: string): readonly (string | undefined)[] {
  const aliases = aliasesOf(...names);
  return [aliasNamed(aliases, asked)?.name, aliasByBeginning(aliases, asked)?.name];
}

t.test("an alias is found by its name, or by how a name begins, in any case", async (t) => {
  const none = [undefined, undefined];
  for (const [names, asked, expected] of [
    [[], "best", none],
    [["Best"], "bEST", ["Best", undefined]],
    [["Best"], "best-2", none],
    [["Best", "fast"], "FAST", ["fast", undefined]],
    [["GPT-*"], "gpt-4o", [undefined, "GPT-*"]],
    [["GPT-*"], "gpt-", [undefined, "GPT-*"]],
    [["GPT-*"], "gpt", none],
    [["g*"], "gpt-4o", [undefined, "g*"]],
    [["g*", "gpt-4*", "gpt-*"], "gpt-4o", [undefined, "gpt-4*"]],
    [["g*", "gpt-4*", "gpt-*"], "gpt-3", [undefined, "gpt-*"]],
    [["gpt-4o", "gpt-*"], "gpt-4o", ["gpt-4o", "gpt-*"]],
    [["*"], "gpt-4o", none],
    [["*"], "*", none],
  ] as const)
    t.same(found(names, asked), expected, `${asked} of ${names.join()}`);
});

t.test("the alias for any name is distinguished from those with a prefix", async (t) => {
  t.equal(aliasesOf("g*", "best").rest, null);
  t.equal(aliasesOf("g*", "*").rest?.name, "*");
});
