/**
 * How much of each provider's models has a price: the ids in the types of the providers' own SDKs,
 * and those of both lists. `npm run prices` prints the ids that LiteLLM's list has per token.
 */
import { throws } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type MatchLogic, waitForUpdate } from "@pydantic/genai-prices";
import fc from "fast-check";
import t from "tap";
import { loadPriceList } from "../../../proxy/prices/price-list.js";
import {
  checkPriceFile,
  futureProblem,
  parsePriceFile,
} from "../../../proxy/prices/prices-json.js";

const list = await loadPriceList(null);
const file = parsePriceFile(readFileSync("docs/prices.json", "utf8"));
const nowMs = Date.parse(file.date);

function idsIn(path: string, type: string): string[] {
  const text = readFileSync(`node_modules/${path}`, "utf8");
  const line = new RegExp(`export type ${type} = ([^;]*);`).exec(text)?.[1] ?? "";
  return [...line.matchAll(/'([^']+)'/g)].map(([, id]) => id!);
}

/** The ids that the package names in full. */
function namesIn(match: MatchLogic): string[] | null {
  if ("equals" in match) return [match.equals];
  const found = "or" in match ? match.or.flatMap((one) => namesIn(one) ?? []) : [];
  return found.length > 0 ? found : null;
}

const share = (ids: readonly string[], providerId: string): number =>
  ids.filter((id) => list.price(providerId, id, nowMs) !== null).length / ids.length;

t.test("at least 98% of each provider's models have a price", async (t) => {
  const packaged = new Map((await waitForUpdate())?.map(({ id, models }) => [id, models]));
  for (const [providerId, atLeast] of [
    ["openai", 110],
    ["anthropic", 20],
    ["google", 60],
    ["azure", 200],
    ["aws", 300],
    ["mistral", 50],
    ["x-ai", 40],
    ["groq", 6],
    ["fireworks", 290],
    ["together", 40],
    ["deepinfra", 130],
    ["nebius", 60],
    ["sambanova", 7],
    ["scaleway", 12],
  ] as const) {
    const filed = Object.keys(file.providers[providerId] ?? {});
    t.ok(filed.length >= atLeast, `${filed.length} of ${providerId}`);
    const others = (packaged.get(providerId) ?? [])
      .flatMap(({ id, match }) => namesIn(match) ?? [id])
      // Not ids, but what several have in common.
      .filter((id) => !/^regional\.|^ft:/.test(id));
    const covered = share([...new Set([...filed, ...others])], providerId);
    const figure = `${providerId}: ${(100 * covered).toFixed(1)}%`;
    t.comment(`${figure} of the ids in both lists, ${filed.length} with an entry of their own`);
    t.ok(covered >= 0.98, figure);
  }
});

/** Models by invitation, or newer than the pages of prices. */
const withoutPages = {
  openai: ["gpt-6.2-astra", "gpt-6.2-sol"],
  anthropic: ["claude-mythos-preview"],
};

t.test("the models in the types of SDKs have prices, if a page has them", async (t) => {
  const openai = idsIn("openai/resources/shared.d.ts", "ChatModel");
  const anthropic = idsIn("@anthropic-ai/sdk/resources/messages/messages.d.ts", "Model");
  t.ok(openai.length > 50 && anthropic.length > 15);
  for (const [providerId, ids] of [
    ["openai", openai],
    ["anthropic", anthropic],
  ] as const) {
    const unpriced = ids.filter((id) => list.price(providerId, id, nowMs) === null);
    t.same(unpriced, withoutPages[providerId]);
  }
});

t.test("rates in the file are whole numbers of pico-dollars, each with its page", async (t) => {
  for (const [provider, models] of Object.entries(file.providers))
    for (const [model, { rates, tiers = [], perUnit = {}, page }] of Object.entries(models)) {
      const { kinds = {}, ...main } = rates;
      const amounts = [
        ...Object.values(main),
        ...Object.values(kinds),
        ...Object.values(perUnit),
        ...tiers.flatMap((tier) => [tier.rates.input, tier.rates.output]),
      ].filter((amount) => amount !== null);
      if (amounts.length === 0 || !amounts.every((one) => Number.isSafeInteger(one) && one >= 0))
        t.fail(`${provider}/${model}`);
      if (page !== undefined && file.pages[page] === undefined) t.fail(`${provider}/${model}`);
    }
});

t.test("no model takes the price of one whose name it begins with", async (t) => {
  for (const [providerId, model] of [
    ["anthropic", "claude-sonnet-5-9"],
    ["openai", "gpt-5-nano-ultra"],
    ["openai", "gpt-4o-2"],
    ["google", "gemini-2.5-pro-next"],
    ["mistral", "mistral-medium-9"],
    ["groq", "openai/gpt-oss-guard-7b"],
  ] as const)
    t.equal(list.price(providerId, model, nowMs), null, model);
  for (const [providerId, model, of] of [
    ["anthropic", "claude-sonnet-5-20270101", "claude-sonnet-5"],
    ["openai", "gpt-5-2027-01-01", "gpt-5"],
    ["openai", "ft:gpt-4.1-2025-04-14:acme::1", "ft:gpt-4.1-2025-04-14"],
    ["openai", "ft:gpt-4o-2024-08-06:acme::1", "ft:gpt-4o-2024-08-06"],
  ] as const)
    t.same(list.price(providerId, model, nowMs), list.price(providerId, of, nowMs), model);
});

t.test("no amount that isn't one is accepted, wherever it is", async (t) => {
  const valid = (): Record<string, unknown> => ({
    date: "2026-11-28",
    lists: ["one"],
    pages: ["https://example.com"],
    providers: {
      openai: {
        "gpt-x": {
          rates: { input: 1, output: 2, cachedInput: null, cacheWrite: 3, kinds: { reasoning: 4 } },
          tiers: [
            {
              aboveInputTokens: 200_000,
              rates: { input: 1, output: 2, cachedInput: null, cacheWrite: null },
            },
          ],
          perRequest: 5,
          perUnit: { webSearches: 6 },
          perImage: { "hd/1024x1024": 7 },
          serviceTiers: { batch: { input: 500 } },
          regions: { us: { output: 1100 } },
          contextTokens: 8,
          page: 0,
        },
      },
    },
  });
  t.doesNotThrow(() => checkPriceFile(valid()));
  /** The places of all numbers. */
  const numbers = (value: unknown, place: readonly string[] = []): (readonly string[])[] =>
    typeof value === "number"
      ? [place]
      : typeof value === "object" && value !== null
        ? Object.entries(value).flatMap(([name, item]) => numbers(item, [...place, name]))
        : [];
  const places = numbers(valid());
  t.equal(places.length, 14);
  const wrong = fc.oneof(
    fc.integer({ max: -1 }),
    fc.double({ min: 0, noInteger: true }),
    fc.constantFrom(NaN, Infinity, -Infinity, 2 ** 60, "1", true, [], {}),
  );
  fc.assert(
    fc.property(fc.constantFrom(...places), wrong, (place, value) => {
      const file = valid();
      let at = file;
      for (const name of place.slice(0, -1)) at = at[name] as Record<string, unknown>;
      at[place.at(-1)!] = value;
      throws(() => checkPriceFile(file), /gpt-x/);
    }),
  );
  const { providers, ...rest } = valid();
  for (const [file, message] of [
    [rest, /providers must be/],
    [{ ...rest, providers: {} }, /providers must be/],
    [{ ...rest, providers, date: "today" }, /date must be YYYY-MM-DD/],
    [{ ...rest, providers, date: "2026-02-30" }, /date must be YYYY-MM-DD/],
    [{ ...rest, providers: { openai: { "GPT-X": {} } } }, /lower case.*rates must be/],
    [{ ...rest, providers: { openai: { x: { rates: {}, newer: 1 } } } }, /newer must be absent/],
    [[], /must be an object/],
  ] as const)
    t.throws(() => checkPriceFile(file), { message });
});

t.test(
  "a list of the day after tomorrow is a mistake; one of tomorrow is another zone's",
  async (t) => {
    const atMs = Date.parse("2026-11-29T23:00:00Z");
    for (const date of ["2020-01-01", "2026-11-29", "2026-11-30"])
      t.equal(futureProblem(date, atMs), null, date);
    t.match(futureProblem("2026-12-01", atMs), /^is of 2026-12-01, which is in the future/);
  },
);
