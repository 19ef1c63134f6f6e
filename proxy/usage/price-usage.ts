/**
 * The cost of a response: its usage at its target's price, or the cost that the provider reports.
 * Also the cost of the tokens that rewriters removed. All amounts are integers in the units of
 * `shared/domain/money.ts`.
 */
import { isPicoUsd, type PicoUsd } from "../../shared/domain/money.js";
import {
  kindRate,
  type Price,
  ratesFor,
  scaled,
  type TokenKind,
  type TokenRates,
  type UnitName,
  unitNames,
} from "../../shared/domain/price.js";
import { noDetailCounts, type UsageDetails } from "../../shared/usage/usage-details.js";
import { noUsage, type Usage, type UsagePart } from "./usage.js";

/**
 * `totalCost` is the sum of `inputCost`, `outputCost` and the fees per request and per tool call.
 */
export interface Costs {
  readonly inputCost: PicoUsd;
  readonly outputCost: PicoUsd;
  readonly totalCost: PicoUsd;
  /** `none`: nothing was charged. */
  readonly source: "reported" | "price" | "none";
}

/** The price of another model of the same provider; null if it has none. */
export type PriceOfModel = (model: string) => Price | null;

/**
 * The cost of one response, or null if it is unpriced, which is recorded as such and is not 0. It
 * is unpriced if the target has no price, if a kind of token or the unit that it used has none, or
 * if the cost exceeds the most that a response can cost.
 *
 * A cost that the provider reported takes precedence, unless the operator set the price. The
 * provider doesn't split it into input and output, so Sluice splits it in proportion to the costs
 * at the target's price, or to the tokens if there is no price. The two parts always add up to the
 * reported cost.
 */
export function priceUsage(
  usage: Usage,
  price: Price | null,
  priceOf: PriceOfModel = noOtherModel,
): Costs | null {
  const priced = costsAtPrice(usage, price, priceOf);
  if (usage.reportedCost === null || (priced !== null && price?.ignoresReported === true))
    return priced;
  const totalCost = scaled(usage.reportedCost, price?.reportedFactor ?? 1000);
  if (!isPicoUsd(totalCost)) return null;
  const tokenCost = priced === null ? 0 : priced.inputCost + priced.outputCost;
  const inputRatio =
    priced !== null && tokenCost > 0
      ? priced.inputCost / tokenCost
      : usage.totalTokens > 0
        ? usage.inputTokens / usage.totalTokens
        : 1;
  const inputCost = Math.round(totalCost * inputRatio);
  return { inputCost, outputCost: totalCost - inputCost, totalCost, source: "reported" };
}

const noOtherModel: PriceOfModel = () => null;

/** The cost of a part of a request: another record has the fee per request. */
export function withoutFee(costs: Costs | null, price: Price | null): Costs | null {
  if (costs === null || price === null || costs.source !== "price") return costs;
  return { ...costs, totalCost: costs.totalCost - price.perRequest };
}

function costsAtPrice(usage: Usage, price: Price | null, priceOf: PriceOfModel): Costs | null {
  const cost =
    usage.parts === undefined
      ? costOfPart(usage, price)
      : costOfAll(usage.parts, (model) => (model === null ? price : priceOf(model)));
  if (cost === null) return null;
  const { inputCost, outputCost, fees } = cost;
  const totalCost = inputCost + outputCost + fees + (price?.perRequest ?? 0);
  // Each product is exact up to 2^53. A larger product exceeds the bound however it was rounded.
  return isPicoUsd(totalCost) ? { inputCost, outputCost, totalCost, source: "price" } : null;
}

interface PartCost {
  readonly inputCost: number;
  readonly outputCost: number;
  /** The cost of units other than tokens. */
  readonly fees: number;
}

function costOfAll(
  parts: readonly UsagePart[],
  priceOf: (model: string | null) => Price | null,
): PartCost | null {
  const sum = { inputCost: 0, outputCost: 0, fees: 0 };
  for (const { model, usage } of parts) {
    const cost = costOfPart(usage, priceOf(model));
    if (cost === null) return null;
    sum.inputCost += cost.inputCost;
    sum.outputCost += cost.outputCost;
    sum.fees += cost.fees;
  }
  return sum;
}

function costOfPart(usage: Usage, price: Price | null): PartCost | null {
  if (price === null) return null;
  const fees = feesOf(usage, price);
  if (fees === null) return null;
  // Sold by the unit: tokens cost nothing.
  if (price.rates.input === null && price.rates.output === null)
    return fees > 0 || price.perRequest > 0 ? { inputCost: 0, outputCost: 0, fees } : null;
  const rates = ratesFor(price, usage.inputTokens, usage.details);
  const inputCost = costOfInput(usage, rates, price.perUnit?.audioMs !== undefined);
  const outputCost = costOfOutput(usage, rates);
  return inputCost === null || outputCost === null ? null : { inputCost, outputCost, fees };
}

/**
 * The most that a usage with unknown kinds of tokens can cost: each token at the highest rate of
 * input or output, including surcharges of tier and region. Null if it is unpriced.
 */
export function priceAtMost(usage: Usage, price: Price): PicoUsd | null {
  const dearest = dearestPrice(price);
  const inTier = costsAtPrice(usage, dearest, noOtherModel);
  const usual = costsAtPrice(usage, { ...dearest, serviceTiers: {}, regions: {} }, noOtherModel);
  return inTier === null || usual === null ? null : Math.max(inTier.totalCost, usual.totalCost);
}

function dearestPrice(price: Price): Price {
  const tiers = price.tiers.map((tier) => ({ ...tier, rates: dearestRates(tier.rates) }));
  return { ...price, rates: dearestRates(price.rates), tiers };
}

function dearestRates(rates: TokenRates): TokenRates {
  const { input, output, cacheWrite, kinds = {} } = rates;
  const dearer = (rate: number | null, kind: TokenKind): number | null =>
    rate === null ? null : Math.max(rate, kinds[kind] ?? 0);
  const inputKinds = ["cacheWrite1h", "cacheWrite12h", "audioInput", "imageInput"] as const;
  const outputKinds = ["reasoning", "audioOutput", "imageOutput"] as const;
  const writeRate = input === null ? null : Math.max(input, cacheWrite ?? 0);
  return {
    input: inputKinds.reduce(dearer, writeRate),
    output: outputKinds.reduce(dearer, output),
    cachedInput: null,
    cacheWrite: null,
  };
}

/**
 * The cost of input tokens that a rewriter removed, at the rates of the request; null if there were
 * none, or if they have no price.
 */
export function priceSavedTokens(
  tokens: number,
  { inputTokens, details }: Usage,
  price: Price | null,
): PicoUsd | null {
  if (tokens === 0 || price === null) return null;
  const cost = costOf(tokens, ratesFor(price, inputTokens, details).input);
  return isPicoUsd(cost) ? cost : null;
}

/**
 * The cost of an answer with completely unknown usage: of a model that is sold per request, or is
 * free.
 */
export function priceUnknownUsage(price: Price | null): Costs | null {
  if (price === null) return null;
  const isKnown = price.perRequest > 0 || (price.rates.input === 0 && price.rates.output === 0);
  return isKnown ? costsAtPrice(noUsage, price, noOtherModel) : null;
}

/** The units by which answers without tokens are sold. */
const soldBy = ["searchUnits", "audioMs", "characters", "images", "pages"] as const;

/** The cost of units other than tokens. Null if the answer has no tokens, and its unit no price. */
function feesOf({ details, totalTokens, imageKind }: Usage, price: Price): number | null {
  if (details === null || details.counts === noDetailCounts) return 0;
  const { perUnit = noUnits, perImage, audioMsMin = 0 } = price;
  const { counts } = details;
  let fees = 0;
  for (const name of unitNames) {
    const rate = name === "images" ? imageRate(price, imageKind) : perUnit[name];
    if (rate !== undefined) fees += costOfUnits(name, unitsIn(details, name, audioMsMin), rate);
  }
  if (totalTokens > 0 || price.perRequest > 0 || price.rates.input === 0) return fees;
  const isPriced = (name: (typeof soldBy)[number]): boolean =>
    counts[name] === 0 ||
    perUnit[name] !== undefined ||
    (name === "images" && perImage !== undefined);
  return soldBy.every(isPriced) ? fees : null;
}

const noUnits: NonNullable<Price["perUnit"]> = {};

function unitsIn({ counts }: UsageDetails, name: UnitName, audioMsMin: number): number {
  if (name === "audioMs" && counts.audioMs > 0) return Math.max(audioMsMin, counts.audioMs);
  return name === "searchedRequests" ? Math.min(1, counts.webSearches) : counts[name];
}

/** Whole seconds and the rest of one, so that products stay exact. */
function costOfUnits(name: UnitName, units: number, rate: number): number {
  if (name !== "audioMs") return units * rate;
  return Math.floor(units / 1000) * rate + Math.ceil(((units % 1000) * rate) / 1000);
}

/** The rate for the quality and size, else for one of them, else for any picture. */
function imageRate({ perImage = {}, perUnit = noUnits }: Price, kind = ""): number | undefined {
  const pricedName = [kind, ...kind.split("/")].find((name) => Object.hasOwn(perImage, name));
  return pricedName === undefined ? perUnit.images : perImage[pricedName];
}

/** `soundIsTimed`: tokens of sound cost nothing, since the price is for its seconds. */
function costOfInput(usage: Usage, rates: TokenRates, soundIsTimed: boolean): number | null {
  const { inputTokens, cachedInputTokens, cacheWriteInputTokens, details } = usage;
  const plainTokens = inputTokens - cachedInputTokens - cacheWriteInputTokens;
  const cachedRate = rates.cachedInput ?? rates.input;
  const writeRate = rates.cacheWrite ?? rates.input;
  if (details === null || details.counts === noDetailCounts)
    return sumOf(
      costOf(plainTokens, rates.input),
      costOf(cachedInputTokens, cachedRate),
      costOf(cacheWriteInputTokens, writeRate),
    );
  const { cachedAudioInputTokens, cachedImageInputTokens } = details.counts;
  const { cacheWrite1hTokens, cacheWrite12hTokens } = details.counts;
  const audio = details.counts.audioInputTokens - cachedAudioInputTokens;
  const image = details.counts.imageInputTokens - cachedImageInputTokens;
  return sumOf(
    costOfParts(plainTokens, rates.input, [
      [audio, soundIsTimed ? 0 : kindRate(rates, "audioInput")],
      [image, kindRate(rates, "imageInput")],
    ]),
    costOfParts(cachedInputTokens, cachedRate, [
      [cachedAudioInputTokens, kindRate(rates, "cachedAudioInput")],
      [cachedImageInputTokens, kindRate(rates, "cachedImageInput")],
    ]),
    costOfParts(cacheWriteInputTokens, writeRate, [
      [cacheWrite1hTokens, kindRate(rates, "cacheWrite1h")],
      [cacheWrite12hTokens, kindRate(rates, "cacheWrite12h")],
    ]),
  );
}

function costOfOutput({ outputTokens, details }: Usage, rates: TokenRates): number | null {
  if (details === null || details.counts === noDetailCounts)
    return costOf(outputTokens, rates.output);
  const { audioOutputTokens, imageOutputTokens, reasoningTokens } = details.counts;
  return costOfParts(outputTokens, rates.output, [
    [audioOutputTokens, kindRate(rates, "audioOutput")],
    [imageOutputTokens, kindRate(rates, "imageOutput")],
    [reasoningTokens, kindRate(rates, "reasoning")],
  ]);
}

/**
 * The cost of tokens of which some parts have their own rates. Parts that exceed the whole are cut
 * to it, in order, so that each token is charged once.
 */
function costOfParts(
  tokens: number,
  rate: number | null,
  parts: readonly (readonly [tokens: number, rate: number | null])[],
): number | null {
  let rest = tokens;
  let sum: number | null = 0;
  for (const [partTokens, partRate] of parts) {
    const part = Math.min(Math.max(partTokens, 0), rest);
    rest -= part;
    sum = sumOf(sum, costOf(part, partRate));
  }
  return sumOf(sum, costOf(rest, rate));
}

function sumOf(...costs: readonly (number | null)[]): number | null {
  let sum = 0;
  for (const cost of costs) {
    if (cost === null) return null;
    sum += cost;
  }
  return sum;
}

function costOf(tokens: number, rate: number | null): number | null {
  if (tokens === 0) return 0;
  return rate === null ? null : tokens * rate;
}
