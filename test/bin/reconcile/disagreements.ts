/**
 * Bills that disagreed with what a gateway or a program had counted, as people have reported it in
 * public. Figures are theirs where they gave them; where they gave only a ratio or a rate, the
 * quantities are chosen to have it.
 */
import type { BillRow } from "../../../bin/reconcile/bill.js";
import type { UsageRow } from "../../../bin/reconcile/our-usage.js";
import type { Cause } from "../../../shared/api/bill-causes.js";
import { billOf, usageOf } from "./made-bill.js";

interface Disagreement {
  readonly name: string;
  readonly source: string;
  readonly usage: readonly UsageRow[];
  readonly bill: readonly BillRow[];
  /** US dollars to four places, without rounding. */
  readonly causes: Readonly<Partial<Record<Cause, string>>>;
}

const issue = (repository: string, number: number): string =>
  `https://github.com/${repository}/issues/${number}`;
const litellm = (number: number): string => issue("BerriAI/litellm", number);

export const disagreements: readonly Disagreement[] = [
  {
    name: "cached tokens are recorded as fresh ones: 49,563 of 65,304",
    source: litellm(34801),
    usage: [
      usageOf({
        requests: 40,
        quantities: { input: 73_550 - 49_563, cached_input: 49_563, output: 20_480 },
        costs: { input: "0.148993", output: "0.790494" },
      }),
    ],
    bill: billOf({
      requests: [40, null],
      input: [73_550 - 65_304, "0.0427"],
      cached_input: [65_304, "0.032652"],
      output: [20_480, "0.790494"],
    }),
    causes: { tokens_not_read: "-0.0736" },
  },
  {
    name: "tokens of caches aren't recorded: $26.74 against $770",
    source: litellm(8514),
    usage: [
      usageOf({
        requests: 900,
        quantities: { input: 5_846_667, output: 613_333 },
        costs: { input: "17.540001", output: "9.199995" },
      }),
    ],
    bill: billOf({
      requests: [900, null],
      input: [5_846_667, "17.540001"],
      cache_write: [150_000_000, "562.5"],
      cached_input: [602_533_333, "180.76"],
      output: [613_333, "9.199995"],
    }),
    causes: { tokens_not_read: "743.2600" },
  },
  {
    name: "reads from a cache are priced as fresh input: three times the bill",
    source: litellm(12313),
    usage: [
      usageOf({
        requests: 120,
        quantities: { input: 10_000_000, output: 200_000 },
        costs: { input: "30", output: "3" },
      }),
    ],
    bill: billOf({
      requests: [120, null],
      input: [2_000_000, "6"],
      cached_input: [8_000_000, "2.4"],
      output: [200_000, "3"],
    }),
    causes: { tokens_not_read: "-21.6000" },
  },
  {
    name: "grounding queries and tax aren't recorded: a quarter of $8,389",
    source: issue("Embassy-of-the-Free-Mind/sourcelibrary-v2", 4599),
    usage: [
      usageOf({
        quantities: { input: 2_000_000_000, output: 100_000_000 },
        costs: { input: "600", output: "250" },
      }),
    ],
    bill: [
      ...billOf({
        input: [2_000_000_000, "600"],
        output: [100_000_000, "250"],
        credit: [null, "546.02"],
      }),
      ...billOf({ web_searches: [151_154, "2116.15"] }, { model: null }),
    ],
    causes: { tool_fee: "2116.1500", credits: "546.0200" },
  },
  {
    name: "searches of Gemini 3: $3.56 against $10.34, of which 521 queries are $7.29",
    source: "https://github.com/besidka/besidka/pull/385",
    usage: [
      usageOf({
        quantities: { input: 4_000_000, output: 500_000 },
        costs: { input: "2", output: "1.56" },
      }),
    ],
    bill: billOf({
      input: [4_000_000, "2"],
      output: [500_000, "1.56"],
      web_searches: [521, "7.294"],
    }),
    causes: { tool_fee: "7.2940" },
  },
  {
    name: "a search that is repeated is billed once: three are recorded, two billed",
    source: "https://github.com/BerriAI/litellm/pull/36397",
    usage: [usageOf({ quantities: { web_searches: 3 }, costs: { tools: "0.042" } })],
    bill: billOf({ web_searches: [2, "0.028"] }),
    causes: { tool_fee: "-0.0140" },
  },
  {
    name: "flex is recorded as standard: double the bill",
    source: litellm(13810),
    usage: [
      usageOf({
        quantities: { input: 1_000_000, output: 1_000_000 },
        costs: { input: "0.05", output: "0.4" },
      }),
    ],
    bill: billOf(
      { requests: [1, null], input: [1_000_000, "0.025"], output: [1_000_000, "0.2"] },
      { tier: "flex" },
    ),
    causes: { tier: "-0.2250" },
  },
  {
    name: "a batch leaves no usage: 1,800 and 1,000 tokens for $0",
    source: litellm(35358),
    usage: [
      usageOf({
        requests: 3,
        quantities: { input: 900, output: 300 },
        costs: { input: "0.0027", output: "0.0045" },
      }),
    ],
    bill: [
      ...billOf({ requests: [3, null], input: [900, "0.0027"], output: [300, "0.0045"] }),
      ...billOf(
        { requests: [1, null], input: [1_800, "0.0027"], output: [1_000, "0.0075"] },
        { tier: "batch" },
      ),
    ],
    causes: { batch: "0.0102" },
  },
  {
    name: "a workspace in the US pays a tenth more",
    source: issue("anthropics/claude-code", 60641),
    usage: [
      usageOf({
        quantities: { input: 1_000_000, output: 200_000 },
        costs: { input: "5", output: "5" },
      }),
    ],
    bill: billOf({ input: [1_000_000, "5.5"], output: [200_000, "5.5"] }, { region: "us" }),
    causes: { region: "1.0000" },
  },
  {
    name: "one region's traffic has the global price, the other's too",
    source: issue("PostHog/posthog", 74366),
    usage: [
      usageOf({
        requests: 30,
        quantities: { input: 3_000_000, output: 300_000 },
        costs: { input: "9", output: "4.5" },
      }),
    ],
    bill: [
      ...billOf({ input: [1_000_000, "3"], output: [100_000, "1.5"] }),
      ...billOf({ input: [2_000_000, "6.6"], output: [200_000, "3.3"] }, { region: "us" }),
    ],
    causes: { region: "0.9000" },
  },
  {
    name: "nine requests are billed, and eight recorded",
    source: litellm(13280),
    usage: [
      usageOf({
        requests: 8,
        quantities: { input: 194_864, output: 280 },
        costs: { input: "0.584592", output: "0.0042" },
      }),
    ],
    bill: billOf({
      requests: [9, null],
      input: [194_864 + 24_358, "0.657666"],
      output: [280 + 35, "0.004725"],
    }),
    causes: { past_sluice: "0.0736" },
  },
  {
    name: "clients left their streams early, and their usage is an estimate",
    source: "https://github.com/BerriAI/litellm/pull/33736",
    usage: [
      usageOf({
        requests: 20,
        quantities: { input: 40_000, output: 6_000 },
        estimated: { input: 2_000, output: 900 },
        estimateRoom: 30_000,
        costs: { input: "0.05", output: "0.06" },
      }),
    ],
    bill: billOf({
      requests: [20, null],
      input: [40_000, "0.05"],
      output: [9_500, "0.095"],
    }),
    causes: { estimated: "0.0350" },
  },
  {
    name: "answers that were lost, but billed, have only an upper bound",
    source: litellm(13245),
    usage: [
      usageOf({
        requests: 20,
        lostRequests: 2,
        quantities: { input: 40_000, output: 6_000 },
        estimateRoom: 30_000,
        costs: { input: "0.05", output: "0.06" },
      }),
    ],
    bill: billOf({
      requests: [22, null],
      input: [40_000, "0.05"],
      output: [9_500, "0.095"],
    }),
    causes: { estimated: "0.0350" },
  },
  {
    name: "a model that isn't in the price list costs nothing",
    source: litellm(35691),
    usage: [
      usageOf({
        requests: 5,
        quantities: { input: 1_000_000, output: 100_000 },
        unpriced: { input: 1_000_000, output: 100_000 },
      }),
    ],
    bill: billOf({
      requests: [5, null],
      input: [1_000_000, "0.14"],
      output: [100_000, "0.028"],
    }),
    causes: { unpriced: "0.1680" },
  },
  {
    name: "some requests of a model have a cost, and others none",
    source: litellm(21023),
    usage: [
      usageOf({
        requests: 4,
        quantities: { input: 400_000, output: 40_000 },
        unpriced: { input: 100_000, output: 10_000 },
        costs: { input: "1.5", output: "0.75" },
      }),
    ],
    bill: billOf({ requests: [4, null], input: [400_000, "2"], output: [40_000, "1"] }),
    causes: { unpriced: "0.7500" },
  },
  {
    name: "reasoning isn't in the completion tokens: 17% more, in one amount",
    source: issue("civitai/civitai", 3815),
    usage: [
      usageOf({
        requests: 4_228,
        quantities: { input: 16_676_859, output: 1_159_903 },
        costs: { input: "1.667686", output: "0.695942" },
      }),
    ],
    bill: billOf({
      requests: [4_228, null],
      input: [16_676_859, null],
      output: [1_159_903 + 682_820, null],
      total: [null, "2.7733"],
    }),
    causes: { tokens_not_read: "0.4097", stale_price: "0.0000" },
  },
  {
    name: "cached tokens are counted twice: as input and as cached",
    source: issue("langwatch/langwatch", 7018),
    usage: [
      usageOf({
        requests: 10,
        quantities: { input: 1_000_000, cached_input: 900_000 },
        costs: { input: "2.18" },
      }),
    ],
    bill: billOf({
      requests: [10, null],
      input: [100_000, "0.2"],
      cached_input: [900_000, "0.18"],
    }),
    causes: { not_billed: "-1.8000" },
  },
  {
    name: "the price of the list is that of last year",
    source: "https://github.com/BerriAI/litellm/pull/39441",
    usage: [
      usageOf({
        quantities: { input: 2_000_000, output: 100_000 },
        costs: { input: "6", output: "1.5" },
      }),
    ],
    bill: billOf({ requests: [1, null], input: [2_000_000, "4"], output: [100_000, "1"] }),
    causes: { stale_price: "-2.5000" },
  },
];
