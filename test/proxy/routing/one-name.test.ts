/**
 * One name for one model, however a request, a provider's list, the configuration or a rule spells
 * it: a table of spellings at each type of provider, and every place that a name comes in at.
 */
import t from "tap";
import { RuleBook } from "../../../limiterd/rules/rule-book.js";
import { chooseRewriters } from "../../../proxy/body/rewriters/rewrite-request.js";
import { passthroughTarget } from "../../../proxy/handlers/passthrough-request.js";
import { createTargetPrices } from "../../../proxy/prices/target-prices.js";
import type { RequestContext } from "../../../proxy/request-context.js";
import { buildCatalog, listModels, resolveModel } from "../../../proxy/routing/resolve-model.js";
import { createInertReason } from "../../../shared/config/inert-rule.js";
import { modelName, namingOf, namingsOf } from "../../../shared/config/model-name.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import { accepted } from "../../shared/config/resolve-sample.js";
import { exactly } from "../../support/patterns/exactly.js";

const table: readonly (readonly [
  provider: string,
  type: string,
  name: string,
  others: string[],
])[] = [
  ["google", "gemini", "gemini-2.5-flash", ["models/gemini-2.5-flash", "Models/Gemini-2.5-Flash"]],
  ["local", "ollama", "llama3", ["llama3:latest", "library/llama3", "LLAMA3:Latest"]],
  ["azure", "azure", "My-Deployment", ["my-deployment", "MY-DEPLOYMENT"]],
  ["hosted", "openai", "org/Model-A", ["org/model-a", "ORG/MODEL-A"]],
  ["own", "vllm", "served", ["Served"]],
  [
    "claude",
    "anthropic",
    "claude-sonnet-4-5",
    ["Claude-Sonnet-4-5", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5-latest"],
  ],
  ["openrouter", "openai", "openai/gpt-4o", ["openai/gpt-4o:nitro", "OpenAI/GPT-4o:FLOOR:online"]],
  [
    "bedrock",
    "openai",
    "anthropic.claude-x",
    ["us.anthropic.claude-x", "Global.Anthropic.Claude-X"],
  ],
];

for (const [provider, type, name, others] of table)
  t.test(`${type}: ${name} has one name`, async (t) => {
    for (const spelling of [name, ...others, ` ${name}\n`]) {
      const written = spelling.trim();
      const config = configOf(provider, type, written);
      const target = { provider, model: name };
      const catalogs = [
        buildCatalog(configOf(provider, type, name).providers, config.virtualModels, new Map()),
        buildCatalog(
          config.providers.map((each) => ({ ...each, models: null })),
          config.virtualModels,
          new Map([[provider, [name]]]),
        ),
      ];
      for (const catalog of catalogs) {
        for (const asked of [
          spelling,
          `${provider}/${spelling}`,
          `${provider.toUpperCase()}/${written}`,
        ])
          t.match(resolveModel(catalog, asked), exactly({ targets: [target] }), asked);
        const gateway = { models: { current: () => catalog } };
        t.match(
          passthroughTarget(
            { gateway } as unknown as RequestContext,
            { provider: config.providers[0]! },
            spelling,
          ),
          target,
          `/p ${spelling}`,
        );
      }
      // What the operator writes, in the configuration and in rules: letter case is no difference.
      const learned = new Map([[provider, [written]]]);
      const listed = buildCatalog([{ ...config.providers[0]!, models: null }], [], learned);
      const listedId = listModels(listed)[0]!.id.slice(provider.length + 1);
      t.match(modelName(namingOf(config.providers[0]!), listedId), new RegExp(`^${name}$`, "i"));
      t.match(
        resolveModel(catalogs[0]!, "virtual"),
        exactly({ targets: [{ provider, model: new RegExp(`^${name}$`, "i") }] }),
        "the target of a virtual model",
      );
      const prices = createTargetPrices(config, { list: null, nowMs: () => 0 });
      t.equal(prices.priceOf(target)?.rates.input, 1_000_000, "its price");
      t.same(chooseRewriters(config)("/", target), ["minify_tool_json"], "its rewriters");
      for (const subject of [`${provider}/${written}`, written]) {
        const book = new RuleBook([0, 0], namingsOf(config.providers));
        const definition = ruleOn(subject);
        const rule = book.put(definition, { source: "manual", nowMs: 0, lsn: 1 });
        t.same(book.matchTarget(target, "/", 0), [rule.own], `a rule on ${subject}`);
        t.equal(createInertReason(config)(definition), null, "which isn't inert");
        t.equal(book.matchTarget({ provider, model: `${name}-2` }, "/", 0).length, 0);
        book.delete(definition);
        t.equal(book.matchTarget(target, "/", 0).length, 0, "and is gone when it is removed");
      }
    }
  });

function ruleOn(subject: string): RuleDefinition {
  return {
    scope: "model",
    subject,
    periodSeconds: 60,
    maxRequests: 1,
    maxTokens: null,
    perChild: false,
  };
}

/** A configuration in which everything names the model in this way. */
function configOf(provider: string, type: string, written: string) {
  return accepted(`
providers:
  ${provider}: { type: ${type}, base_url: "http://127.0.0.1:1/v1", api_key: k, models: ["${written}"] }
virtual_models:
  virtual: { targets: [{ model: "${provider}/${written}" }] }
prices:
  "${provider}/${written}": { input: 1, output: 2 }
rewriters:
  - { name: minify_tool_json, models: ["${written}"] }
`).config;
}
