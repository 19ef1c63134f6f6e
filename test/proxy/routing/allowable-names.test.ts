import t from "tap";
import {
  allowableNames,
  buildCatalog,
  resolveModel,
} from "../../../proxy/routing/resolve-model.js";
import { accepted } from "../../shared/config/resolve-sample.js";

const { config } = accepted(`
providers:
  openai: {type: openai, api_key: k, models: [gpt-4o]}
  reseller: {type: openai, base_url: "https://r.test/v1", api_key: k, models: [openai/gpt-4o, meta/llama]}
virtual_models:
  fast: {targets: [{model: openai/gpt-4o}, {model: reseller/meta/llama}]}
aliases:
  smart: fast
  best: openai/gpt-4o
  my-*: reseller/*
  old-*: openai/gpt-4o
  quick-*: fast
  "*": openai/gpt-4o
`);

t.test("what a list of models is compared with is what the request asks for", (t) => {
  const catalog = buildCatalog(config.providers, config.virtualModels, new Map(), config);
  const table: Readonly<Record<string, readonly string[]>> = {
    "gpt-4o": ["openai/gpt-4o", "gpt-4o"],
    "OpenAI/GPT-4o ": ["openai/gpt-4o", "gpt-4o"],
    "reseller/meta/llama": ["reseller/meta/llama", "meta/llama"],
    // Not openai's own, though it bears the name.
    "reseller/openai/gpt-4o": ["reseller/openai/gpt-4o"],
    fast: ["fast"],
    FAST: ["fast"],
    smart: ["smart", "fast"],
    best: ["best", "openai/gpt-4o", "gpt-4o"],
    "my-own": ["reseller/my-own", "my-own"],
    " BEST": ["best", "openai/gpt-4o", "gpt-4o"],
    // Whatever follows is the client's to invent: it could be what a list's `old-cheap*` allows.
    "old-3": ["old-*", "openai/gpt-4o", "gpt-4o"],
    "quick-3": ["quick-*", "fast"],
    "cheap-invented": ["*", "openai/gpt-4o", "gpt-4o"],
  };
  for (const [asked, names] of Object.entries(table))
    t.same(allowableNames(catalog, resolveModel(catalog, asked)!), names, asked);
  t.end();
});

t.test("a provider's name is what precedes a slash, not a prefix of a name", (t) => {
  const { config } = accepted(`
providers:
  openai: {type: openai, api_key: k, models: [gpt-4o, g/4o]}
  g: {type: openai, base_url: "https://g.test/v1", api_key: k, models: [llama]}
`);
  const catalog = buildCatalog(config.providers, [], new Map());
  const names = (asked: string) => allowableNames(catalog, resolveModel(catalog, asked)!);
  t.same(names("openai/gpt-4o"), ["openai/gpt-4o", "gpt-4o"]);
  t.same(names("openai/g/4o"), ["openai/g/4o"]);
  t.same(names("g/llama"), ["g/llama", "llama"]);
  t.end();
});

t.test("a name that is longer than any pattern is no name of the wire's that it refuses", (t) => {
  const catalog = buildCatalog(config.providers, [], new Map());
  const asked = `openai/${"x".repeat(500)}`;
  for (const name of allowableNames(catalog, resolveModel(catalog, asked)!))
    t.equal(name.length, 257);
  t.end();
});
