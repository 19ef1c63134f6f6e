import t from "tap";
import { createTargetPrices } from "../../../proxy/prices/target-prices.js";
import { createUnpricedNotice, unpricedModels } from "../../../proxy/prices/unpriced-models.js";
import { providerConfig } from "../../support/provider-config.js";
import { fakeGateway } from "../fake-gateway.js";

t.test("each model without a price is named once, and a simulator's never", async (t) => {
  const named: unknown[] = [];
  const notice = createUnpricedNotice(
    [providerConfig({ name: "demo", type: "simulator" }), providerConfig({ name: "openai" })],
    { warn: (fields: object) => named.push(fields) },
  );
  for (const provider of ["demo", "openai", "openai"]) notice({ provider, model: "new-model" });
  t.same(named, [{ target: "openai/new-model" }]);
});

t.test("the configured models without a price are known before their first use", async (t) => {
  const { config } = fakeGateway(`
providers:
  demo: { type: simulator, models: [new] }
  local: { type: vllm, base_url: "http://127.0.0.1:9/v1", models: ["*", priced, listed, both] }
prices:
  local/priced: { input: 1, output: 1 }
aliases: { short: local/aliased, "all-*": "local/*", free: demo/new }
virtual_models:
  smart: { targets: [{ model: local/target }, { model: local/both }, { model: local/priced }] }
`).gateway;
  const prices = createTargetPrices(config, { list: null, nowMs: () => 0 });
  t.same(unpricedModels(config, prices), [
    "local/listed",
    "local/both",
    "local/aliased",
    "local/target",
  ]);
  const ofKeys = ["local/keyed", "local/priced", "local/family-*", "demo/new"];
  t.equal(unpricedModels(config, prices, ofKeys).at(-1), "local/keyed", "and those of keys");
  const bare = ["keyed", "priced", "family-*", "SMART", "short", "all-of-it", "new", "meta/llama"];
  t.same(
    unpricedModels(config, prices, bare).slice(4),
    ["keyed", "meta/llama"],
    "a name without a provider has no price at any of them",
  );
  const free = { ...config, providers: config.providers.slice(0, 1) };
  t.same(unpricedModels(free, prices, ["keyed"]), [], "a simulator costs nothing");
});
