import t from "tap";
import type { PriceList } from "../../../proxy/prices/price-list.js";
import { createTargetPrices, needsPriceList } from "../../../proxy/prices/target-prices.js";
import { createTargetOrder } from "../../../proxy/routing/order-targets.js";
import { pricedTargetsMax } from "../../../shared/bounds.js";
import type { Price } from "../../../shared/domain/price.js";
import { accepted } from "../../shared/config/resolve-sample.js";

const priced = (input: number): Price => ({
  rates: { input, output: null, cachedInput: null, cacheWrite: null },
  tiers: [],
  perRequest: 0,
});

/** A list that knows `cheap` (1) and `dear` (9) of OpenAI and of `sim`, and counts look-ups. */
function makeList(): Pick<PriceList, "providerId" | "price"> & { lookUps: number } {
  const list = {
    lookUps: 0,
    providerId: (baseUrl: string, name: string) =>
      baseUrl.includes("openai") || name === "sim" ? "openai" : null,
    price(_provider: string, model: string, nowMs: number) {
      list.lookUps++;
      if (model === "hourly") return priced(nowMs / 60_000);
      return model === "cheap" ? priced(1) : model === "dear" ? priced(9) : null;
    },
  };
  return list;
}

const { config } = accepted(`
providers:
  openai: { api_key: none }
  local: { base_url: "http://127.0.0.1:9/v1", api_key: none }
  sim: { type: simulator }
prices:
  openai/dear: { input: 4, output: 4 }
  local/*: { input: 0, output: 0 }
  local/Big-1: { input: 5, output: 5 }
  local/null: { input: 6, output: 6 }
`);

t.test("an answer is parsed for its model only if a price may be found for that", async (t) => {
  const unpriced = accepted(`
providers: { openai: { api_key: none }, local: { base_url: "http://127.0.0.1:9/v1", api_key: none } }
`).config;
  const all = accepted(`
providers: { local: { base_url: "http://127.0.0.1:9/v1", api_key: none } }
prices: { "*/big": { input: 1, output: 1 } }
`).config;
  const asks = (from: typeof config, provider: string, model: string): boolean =>
    createTargetPrices(from, { list: makeList(), nowMs: () => 0 }).mayBePricedByAnswer({
      provider,
      model,
    });
  t.equal(asks(config, "openai", "unknown"), true);
  t.equal(asks(config, "openai", "cheap"), false, "it has a price");
  t.equal(asks(config, "sim", "unknown"), false);
  t.equal(asks(unpriced, "local", "big"), false, "no model of it has a price");
  t.equal(asks(all, "local", "small"), true);
});

t.test(
  "the operator's price wins, the model's before the provider's; then the list's; then there is none",
  async (t) => {
    const { priceOf } = createTargetPrices(config, { list: makeList(), nowMs: () => 0 });
    const table: readonly (readonly [
      provider: string,
      model: string,
      input: number | undefined,
    ])[] = [
      ["openai", "dear", 4_000_000],
      ["openai", "DEAR", 4_000_000],
      ["openai", "cheap", 1],
      ["openai", "unknown", undefined],
      ["local", "anything", 0],
      ["local", "cheap", 0],
      ["local", "big-1", 5_000_000],
      ["local", "null", 6_000_000],
      ["sim", "cheap", undefined],
      ["nobody", "cheap", undefined],
    ];
    for (const again of [false, true])
      for (const [provider, model, input] of table)
        t.equal(
          priceOf({ provider, model })?.rates.input ?? undefined,
          input,
          `${provider}/${model} ${again ? "again" : ""}`,
        );
  },
);

t.test("the list is lookUps once per target and minute", async (t) => {
  const list = makeList();
  let nowMs = 60_000;
  const { priceOf } = createTargetPrices(config, { list, nowMs: () => nowMs });
  const ask = (): unknown => priceOf({ provider: "openai", model: "hourly" })?.rates.input;
  t.same([ask(), ask(), list.lookUps], [1, 1, 1]);
  nowMs = 119_999;
  t.same([ask(), list.lookUps], [1, 1]);
  nowMs = 120_000;
  t.same([ask(), list.lookUps], [2, 2]);
});

t.test("names that callers make up don't fill the memory", async (t) => {
  const list = makeList();
  const { priceOf } = createTargetPrices(config, { list, nowMs: () => 0 });
  for (let i = 0; i < pricedTargetsMax; i++) priceOf({ provider: "openai", model: `made-up-${i}` });
  t.equal(list.lookUps, pricedTargetsMax);
  priceOf({ provider: "openai", model: "made-up-0" });
  t.equal(list.lookUps, pricedTargetsMax, "all of them are remembered");
  priceOf({ provider: "openai", model: "one more" });
  priceOf({ provider: "openai", model: "made-up-0" });
  t.equal(list.lookUps, pricedTargetsMax + 2, "one more and they are dropped");
  for (let i = 1; i < pricedTargetsMax - 1; i++)
    priceOf({ provider: "openai", model: `made-up-${i}` });
  t.equal(list.lookUps, 2 * pricedTargetsMax);
  priceOf({ provider: "openai", model: "one more" });
  t.equal(list.lookUps, 2 * pricedTargetsMax, "as many as before are remembered again");
});

t.test(
  "without a list there are only the operator's prices; a simulator alone needs no list",
  async (t) => {
    const { priceOf, costOf } = createTargetPrices(config, { list: null, nowMs: () => 0 });
    t.equal(priceOf({ provider: "openai", model: "cheap" }), null);
    t.equal(costOf({ provider: "openai", model: "cheap" }), null);
    t.equal(costOf({ provider: "openai", model: "dear" }), 4);
    t.ok(needsPriceList(config));
    t.notOk(needsPriceList(accepted(null).config));
  },
);

t.test(
  "the strategy cost puts the cheapest first, equals in the configured order, unpriced last",
  async (t) => {
    const { costOf } = createTargetPrices(config, { list: makeList(), nowMs: () => 0 });
    const targets = [
      ["openai", "unknown"],
      ["local", "big-1"],
      ["openai", "dear"],
      ["sim", "x"],
      ["local", "a"],
      ["local", "b"],
    ].map(([provider = "", model = ""]) => ({ provider, model, weight: 1 }));
    const order = createTargetOrder(costOf).order({
      kind: "virtual",
      source: "smart",
      strategy: "cost",
      targets,
    });
    t.same(
      order.map(({ provider, model }) => `${provider}/${model}`),
      ["local/a", "local/b", "openai/dear", "local/big-1", "openai/unknown", "sim/x"],
    );
  },
);

t.test("the price of */* is for models without any other, behind the list", async (t) => {
  const { config: all } = accepted(`
providers:
  openai: { api_key: none }
  local: { base_url: "http://127.0.0.1:9/v1", api_key: none }
prices:
  openai/dear: { input: 4, output: 4 }
  "*/*": { input: 7, output: 7 }
`);
  const { priceOf, sourceOf } = createTargetPrices(all, { list: makeList(), nowMs: () => 0 });
  const found = (provider: string, model: string) => [
    priceOf({ provider, model })?.rates.input,
    sourceOf({ provider, model })?.kind,
  ];
  t.same(found("openai", "dear"), [4_000_000, "operator"]);
  t.same(found("openai", "cheap"), [1, "list"]);
  t.same(found("openai", "unknown"), [7_000_000, "operator"]);
  t.same(found("local", "anything"), [7_000_000, "operator"]);
  const none = createTargetPrices(config, { list: makeList(), nowMs: () => 0 });
  t.equal(none.sourceOf({ provider: "openai", model: "unknown" }), null);
});
