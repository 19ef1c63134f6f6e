/**
 * The price list against the package that it comes from: what our integers make of a price, the
 * package's own arithmetic makes too.
 */

import { createRequire } from "node:module";
import { calcPrice, findProvider, waitForUpdate } from "@pydantic/genai-prices";
import t from "tap";
import { genaiPriceAt, loadGenaiPrices, packageName } from "../../../proxy/prices/genai-prices.js";
import { createPriceList, loadPriceList, usdAt } from "../../../proxy/prices/price-list.js";
import { emptyPriceFile } from "../../../proxy/prices/prices-json.js";
import { priceUsage } from "../../../proxy/usage/price-usage.js";
import { noUsage } from "../../../proxy/usage/usage.js";
import { presets } from "../../../shared/config/presets.js";
import { evenFactors } from "../../../shared/domain/price.js";
import { detailsOf } from "../../../shared/usage/usage-details.js";
import { exactly } from "../../support/patterns/exactly.js";

const list = await loadPriceList(null);
const packaged = await createPriceList({ file: emptyPriceFile, from: "" });
const nowMs = Date.UTC(2026, 10, 21, 12);

t.test(
  "every preset that has a name in the list is found by its address, and by its name behind a relay",
  async (t) => {
    for (const { name, baseUrl, priceListName } of presets) {
      if (priceListName === null) {
        t.equal(list.providerId(baseUrl ?? "", name), null, name);
        continue;
      }
      const id = list.providerId(baseUrl ?? "", baseUrl === null ? name : "mine");
      t.type(id, "string", name);
      t.equal(list.providerId("http://127.0.0.1:9/v1", name), id, name);
    }
    for (const [baseUrl, name] of [
      ["http://127.0.0.1:9/v1", "local"],
      ["http://127.0.0.1:9/v1", "my-openai-mock"],
      ["https://example.com/?https://api.openai.com", "x"],
      ["", "simulator"],
    ] as const)
      t.equal(list.providerId(baseUrl, name), null, `${name} ${baseUrl}`);
  },
);

t.test("models are priced by their ids; unknown ones aren't", async (t) => {
  const rates = (provider: string, model: string): unknown =>
    list.price(provider, model, nowMs)?.rates;
  t.same(rates("openai", "gpt-4o"), {
    input: 2_500_000,
    output: 10_000_000,
    cachedInput: 1_250_000,
    cacheWrite: null,
  });
  t.same(
    rates("openai", "gpt-4o-2024-11-20"),
    rates("openai", "gpt-4o"),
    "a dated one is the same model",
  );
  t.same(rates("anthropic", "claude-sonnet-4-20250514"), {
    input: 3_000_000,
    output: 15_000_000,
    cachedInput: 300_000,
    cacheWrite: 3_750_000,
    kinds: { cacheWrite1h: 6_000_000 },
  });
  t.match(list.price("anthropic", "claude-sonnet-4-20250514", nowMs), {
    perUnit: { webSearches: 10_000_000_000 },
    serviceTiers: { batch: evenFactors(500), flex: undefined },
  });
  t.match(list.price("groq", "llama-3.3-70b-versatile", nowMs), {
    perRequest: 0,
    perUnit: { webSearches: undefined },
    serviceTiers: { flex: undefined },
  });
  t.match(list.price("openai", "gpt-4o", nowMs), {
    serviceTiers: { flex: undefined, batch: evenFactors(500), priority: evenFactors(1700) },
  });
  t.match(
    list.price("google", "gemini-2.5-pro", nowMs),
    exactly({
      rates: { input: 1_250_000 },
      tiers: [
        {
          aboveInputTokens: 200_000,
          rates: { input: 2_500_000, output: 15_000_000, cachedInput: 250_000 },
        },
      ],
    }),
  );
  t.same(rates("google", "google/gemini-2.5-pro"), rates("google", "gemini-2.5-pro"));
  t.type(list.price("aws", "qwen.qwen3-32b", nowMs), "object");
  for (const size of ["20b", "120b"])
    t.same(
      list.price("aws", `openai.gpt-oss-${size}`, nowMs)?.rates.output,
      list.price("aws", `openai.gpt-oss-${size}-1:0`, nowMs)?.rates.output,
    );
  t.equal(list.price("aws", "openai.gpt-oss-120b", nowMs)?.rates.output, 600_000);
  for (const [provider, model] of [
    ["openai", "gpt-nope"],
    ["google", "meta/gemini-2.5-pro"],
    ["nobody", "gpt-4o"],
    ["openai", ""],
  ] as const)
    t.equal(list.price(provider, model, nowMs), null, `${provider}/${model}`);
});

t.test("a price that changes by the hour is the one of that time", async (t) => {
  const at = (hour: number): unknown =>
    list.price("deepseek", "deepseek-chat", Date.UTC(2026, 10, 21, hour))?.rates;
  t.not(JSON.stringify(at(12)), JSON.stringify(at(20)));
});

t.test("the package's providers and models are found as the package finds them", async (t) => {
  const packagedPrices = await loadGenaiPrices();
  const providers = (await waitForUpdate()) ?? [];
  const spellings = (id: string): readonly string[] => [
    ...[id, ` ${id.toUpperCase()}`, `${id}x`, `${id}-20260704`],
    id.replace(/(\d{4})-(\d\d)-(\d\d)/, "$1$2$3"),
  ];
  const times = [0, 3, 12, 17].flatMap((hour) => [
    Date.UTC(2026, 6, 1, hour, 30),
    Date.UTC(2026, 10, 21, hour),
  ]);
  let compared = 0;
  for (const { id: providerId, api_pattern, models } of providers) {
    t.ok(packagedPrices.has(providerId), providerId);
    const address = api_pattern.replaceAll(/\\|\(.*?\)\??|\[.*?\][*+]?|\|.*/g, "");
    for (const baseUrl of [address, `${address}/v1`, `x${address}`])
      t.equal(
        packagedPrices.providerAt(baseUrl),
        findProvider({ providerApiUrl: baseUrl })?.id,
        baseUrl,
      );
    for (const name of models.flatMap(({ id }) => spellings(id))) {
      const found = packagedPrices.model(providerId, name);
      const theirs = calcPrice({}, name, { providerId, timestamp: new Date(times[0]!) });
      if (found?.id !== theirs?.model.id)
        t.fail(`${providerId}/${name}: ${found?.id} against ${theirs?.model.id}`);
      compared++;
      if (found === undefined || !Array.isArray(theirs!.model.prices)) continue;
      for (const atMs of times) {
        const timed = calcPrice({}, name, { providerId, timestamp: new Date(atMs) })!;
        t.same(genaiPriceAt(found, atMs), timed.model_price, `${providerId}/${name} ${atMs}`);
      }
    }
  }
  t.ok(compared > 8000, `${compared} compared`);
  const { version } = createRequire(import.meta.url)(
    "../../../../node_modules/@pydantic/genai-prices/package.json",
  ) as { readonly version: string };
  t.match(packageName, ` ${version} (`);
});

/**
 * The units that are in the usage. Models that are sold by other units too come out cheaper here,
 * which `docs/reference/usage-record.md` says.
 */
const ours = new Set([
  "input_mtok",
  "output_mtok",
  "cache_read_mtok",
  "cache_write_mtok",
  "requests_kcount",
  "web_searches_kcount",
  "storage_searches_kcount",
  "cache_write_1h_mtok",
  "input_audio_mtok",
  "output_audio_mtok",
  "cache_audio_read_mtok",
  "input_image_mtok",
  "output_image_mtok",
  "output_reasoning_mtok",
]);

/** Of the tokens below, as the package names them and as we do. */
const theirDetails = {
  input_audio_tokens: 60,
  cache_audio_read_tokens: 20,
  output_audio_tokens: 30,
  cache_write_1h_tokens: 17,
  web_searches: 3,
};
const details = {
  audioInputTokens: 60,
  cachedAudioInputTokens: 20,
  audioOutputTokens: 30,
  cacheWrite1hTokens: 17,
  webSearches: 3,
};

t.test(
  "costs agree with the package's own arithmetic, over every model of the presets",
  async (t) => {
    const providers = (await waitForUpdate()) ?? [];
    const ids = new Set(presets.map(({ baseUrl, name }) => list.providerId(baseUrl ?? "", name)));
    let compared = 0;
    for (const { id: providerId, models } of providers.filter(({ id }) => ids.has(id))) {
      for (const { id } of models) {
        for (const input_tokens of [1000, 250_000]) {
          const tokens = {
            input_tokens,
            output_tokens: 321,
            cache_read_tokens: 400,
            cache_write_tokens: 37,
            ...theirDetails,
          };
          const theirs = calcPrice(tokens, id, { providerId, timestamp: new Date(nowMs) });
          if (
            theirs === null ||
            Object.keys(theirs.model_price).some((key) => !ours.has(key)) ||
            theirs.model_price["output_mtok"] === undefined
          )
            continue;
          const price = packaged.price(providerId, id, nowMs);
          const costs = priceUsage(
            {
              inputTokens: input_tokens,
              outputTokens: 321,
              totalTokens: input_tokens + 321,
              cachedInputTokens: 400,
              cacheWriteInputTokens: 37,
              reportedCost: null,
              details: detailsOf(null, details),
            },
            price === null || "web_searches_kcount" in theirs.model_price
              ? price
              : { ...price, perUnit: {} },
          );
          const difference = Math.abs((costs?.totalCost ?? NaN) / 1e12 - theirs.total_price);
          // A few cache writes cost an endless fraction, cut here to six decimals per million.
          if (!(difference <= 1e-10))
            t.fail(`${providerId}/${id}: ${costs?.totalCost} against ${theirs.total_price}`);
          compared++;
        }
      }
    }
    t.ok(compared > 1000, `${compared} compared`);
  },
);

t.test("the highest tier that is reached counts, however the list orders them", async (t) => {
  const [low, high, top] = [
    { start: 1000, price: 2 },
    { start: 2000, price: 4 },
    { start: 3000, price: 3 },
  ] as const;
  const orders = [
    [low, high, top],
    [top, high, low],
    [high, low, top],
    [top, low, high],
  ];
  for (const tiers of orders)
    t.same(
      [0, 1000, 1001, 2000, 2001, 3001].map((tokens) => usdAt({ base: 1, tiers }, tokens)),
      [1, 1, 2, 2, 4, 3],
      tiers.map(({ start }) => start).join(", "),
    );
});

t.test(
  "a geographic profile of Bedrock's that the list lacks costs more than its model",
  async (t) => {
    const input = (model: string): number | null | undefined =>
      list.price("aws", model, nowMs)?.rates.input;
    const dated = "anthropic.claude-haiku-4-5-20251001-v1:0";
    for (const [profile, model, thousandths] of [
      ["apac", "anthropic.claude-sonnet-4-5-20250929-v1:0", 1100],
      ["eu", dated, 1100],
      ["jp", "anthropic.claude-opus-4-6-v1", 1100],
      ["jp", "anthropic.claude-3-5-haiku-20241022-v1:0", 1000],
      ["us", "amazon.nova-premier-v1:0", 1000],
    ] as const)
      t.equal(input(`${profile}.${model}`), (input(model)! * thousandths) / 1000, profile + model);
    t.equal(input("us.acme.unknown"), undefined);
  },
);

t.test("Groq bills ten seconds of a shorter recording, others its length", async (t) => {
  const cost = (provider: string, model: string, audioMs: number): number | undefined => {
    const usage = { ...noUsage, details: detailsOf(null, { audioMs }) };
    return priceUsage(usage, list.price(provider, model, nowMs))?.totalCost;
  };
  const groq = (audioMs: number): number | undefined => cost("groq", "whisper-large-v3", audioMs);
  t.ok(groq(10_000)! > 0);
  t.equal(groq(1000), groq(10_000));
  t.equal(groq(20_000), 2 * groq(10_000)!);
  t.equal(cost("openai", "whisper-1", 1000)! * 10, cost("openai", "whisper-1", 10_000));
});
