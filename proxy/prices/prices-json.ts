/**
 * The prices in `docs/prices.json`: by provider and by the exact id of a model. The file is made
 * from public lists (docs/contributing/decisions.md); this module checks it and finds models in it.
 */
import type { PriceListStatus } from "../../shared/api/gateway-status.js";
import { subjectBytesMax } from "../../shared/bounds.js";
import { isAbsent, isCount, isObject } from "../../shared/checked.js";
import { isPicoUsd } from "../../shared/domain/money.js";
import {
  factorKinds,
  type Price,
  priceScales,
  type TokenRates,
  tokenKinds,
  unitNames,
  usdPerMillionMax,
} from "../../shared/domain/price.js";
import { isPrintable } from "../../shared/domain/target-name.js";
import { dayMs, dayOf, parseDay } from "../../shared/time.js";

/** A price in the form of the file: without empty fields. */
export type FiledPrice = Pick<Price, "rates"> &
  Partial<Omit<Price, "rates">> & {
    readonly contextTokens?: number;
    /** Where the price is published: an index in `pages`. */
    readonly page?: number;
  };

export interface PriceFile {
  /** The date of the lists from which it was made. */
  readonly date: string;
  /** The public lists from which it was made, each with version and licence. */
  readonly lists: readonly string[];
  readonly pages: readonly string[];
  /** By provider and by the id of the model in lower case. */
  readonly providers: Readonly<Record<string, Readonly<Record<string, FiledPrice>>>>;
}

/** A list that was read, and its path. */
export interface ReadPriceFile {
  readonly file: PriceFile;
  readonly from: string;
}

/** For people; null if no provider can be in a list. */
export function priceListStatus(file: ReadPriceFile | null, nowMs: number): PriceListStatus | null {
  if (file === null) return null;
  const { date, lists } = file.file;
  const age_days = Math.max(0, Math.floor((nowMs - Date.parse(date)) / dayMs));
  return { date, age_days, lists, file: file.from };
}

export const emptyPriceFile: PriceFile = { date: "", lists: [], pages: [], providers: {} };

/** Public lists have about two million bytes. */
export const priceFileBytesMax = 32 * 1024 * 1024;
/** A factor in thousandths. */
const factorMax = 100_000;
const problemsShown = 5;

/** Throws an error that names the problem. */
export function parsePriceFile(text: string): PriceFile {
  return checkPriceFile(JSON.parse(text) as unknown);
}

/** Checks every part of a price list, so that no part of an invalid one counts. */
export function checkPriceFile(file: unknown): PriceFile {
  const problems: string[] = [];
  const note = (path: string, value: unknown, expected: string): void => {
    const text = typeof value === "number" ? String(value) : JSON.stringify(value);
    problems.push(`${path} must be ${expected}, not ${text ?? "missing"}`);
  };
  const isDate = (value: unknown) => typeof value === "string" && parseDay(value) !== null;
  if (!isObject(file)) throw new Error("a price list must be an object");
  const { date, lists, pages, providers } = file;
  if (!isDate(date)) note("date", date, "YYYY-MM-DD");
  if (!isTexts(lists)) note("lists", lists, "names");
  if (!isTexts(pages)) note("pages", pages, "addresses");
  if (!isObject(providers) || Object.keys(providers).length === 0)
    note("providers", providers, "an object with providers");
  const pagesCount = Array.isArray(pages) ? pages.length : 0;
  for (const [provider, models] of entriesOf(providers)) {
    if (!isObject(models)) note(`providers.${provider}`, models, "an object with models");
    for (const [model, price] of entriesOf(models)) {
      const modelPath = `${provider}/${model}`;
      if (!isId(model)) note(modelPath, model, "an id in lower case");
      checkPrice(price, pagesCount, (field, value, expected) =>
        note(`${modelPath}: ${field}`, value, expected),
      );
    }
  }
  if (problems.length > 0) {
    const more = problems.length - problemsShown;
    const text = problems.slice(0, problemsShown).join("; ");
    throw new Error(more > 0 ? `${text}; and ${more} more problems` : text);
  }
  return file as unknown as PriceFile;
}

type Note = (field: string, value: unknown, expected: string) => void;
type Check = (value: unknown, field: string, note: Note) => void;

/** Checks a value by `isValid`. */
function checkOf(isValid: (value: unknown) => boolean, expected: string): Check {
  return (value, field, note) => {
    if (!isValid(value)) note(field, value, expected);
  };
}

/** Checks an object with these fields, or with any fields if there are no names. */
function map(check: Check, names: readonly string[] | null = null): Check {
  return (value, field, note) => {
    if (!isObject(value)) return note(field, value, "an object");
    for (const [name, item] of Object.entries(value)) {
      const path = `${field}.${name}`;
      if (names !== null && !names.includes(name)) note(path, item, `one of ${names.join(", ")}`);
      else check(item, path, note);
    }
  };
}

const amount = checkOf(isPicoUsd, "pico-dollars");
const rate = checkOf(
  (value) => isCount(value) && value <= usdPerMillionMax * priceScales.usdPerMillion,
  `pico-dollars per token, at most ${usdPerMillionMax * priceScales.usdPerMillion}`,
);
const factors = map(
  map(
    checkOf((value) => isCount(value) && value <= factorMax, `thousandths, at most ${factorMax}`),
    [...factorKinds],
  ),
);
const mainRates = ["input", "output", "cachedInput", "cacheWrite"];
const kinds = map(rate, tokenKinds);
const rates: Check = (value, field, note) => {
  if (!isObject(value)) return note(field, value, "an object");
  for (const name of mainRates) {
    const main = value[name];
    if (main !== null) rate(main, `${field}.${name}`, note);
  }
  const { kinds: kindRates, ...others } = value;
  if (kindRates !== undefined) kinds(kindRates, `${field}.kinds`, note);
  for (const name of Object.keys(others))
    if (!mainRates.includes(name)) note(`${field}.${name}`, value[name], "absent");
};

const priceFields: Readonly<Record<keyof FiledPrice, Check>> = {
  rates,
  tiers(value, field, note) {
    if (!Array.isArray(value)) return note(field, value, "a list");
    let before = 0;
    for (const tier of value as readonly unknown[]) {
      const above = isObject(tier) ? tier["aboveInputTokens"] : undefined;
      if (!isCount(above) || above <= before)
        return note(`${field}.aboveInputTokens`, above, `more than ${before}`);
      before = above;
      rates((tier as { readonly rates?: unknown }).rates, `${field}.rates`, note);
    }
  },
  perRequest: amount,
  perUnit: map(amount, unitNames),
  perImage: map(amount),
  serviceTiers: factors,
  regions: factors,
  contextTokens: checkOf(isCount, "a number of tokens"),
  page: checkOf(isCount, "an index of pages"),
  audioMsMin: checkOf(() => false, "absent"),
  reportedFactor: checkOf(() => false, "absent"),
  ignoresReported: checkOf(() => false, "absent"),
};

function checkPrice(price: unknown, pages: number, note: Note): void {
  if (!isObject(price)) return note("price", price, "an object");
  if (price["rates"] === undefined) note("rates", undefined, "an object");
  for (const [name, value] of Object.entries(price)) {
    if (Object.hasOwn(priceFields, name)) priceFields[name as keyof FiledPrice](value, name, note);
    else note(name, value, "absent");
  }
  const { page } = price;
  if (typeof page === "number" && page >= pages) note("page", page, `less than ${pages}`);
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function isId(model: string): boolean {
  return (
    model !== "" &&
    model.length <= subjectBytesMax &&
    model === model.toLowerCase() &&
    isPrintable(model)
  );
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return isObject(value) ? Object.entries(value) : [];
}

/** A larger factor between two lists is more likely an error than a new price. */
const likelyFactorMax = 4;
/** The largest share of models that an update may plausibly remove. */
const goneMax = 0.1;

export interface PriceFileDifference {
  readonly models: number;
  readonly added: number;
  readonly changed: number;
  readonly gone: number;
  /** Why the newer list is likely wrong; empty if it isn't. */
  readonly doubts: readonly string[];
}

/** Compares the list in use with a newer one. */
export function comparePriceFiles(now: PriceFile, next: PriceFile): PriceFileDifference {
  const doubts: string[] = [];
  let [models, modelsNow, added, changed, gone] = [0, 0, 0, 0, 0];
  for (const [provider, prices] of Object.entries(next.providers))
    for (const [model, price] of Object.entries(prices)) {
      models++;
      const before = exactPrice(now, provider, model);
      if (before === null) added++;
      else if (JSON.stringify({ ...before, page: 0 }) !== JSON.stringify({ ...price, page: 0 })) {
        changed++;
        const doubt = whyUnlikely(before, price);
        if (doubt !== null) doubts.push(`${provider}/${model}: ${doubt}`);
      }
    }
  for (const [provider, prices] of Object.entries(now.providers))
    for (const model of Object.keys(prices)) {
      modelsNow++;
      if (exactPrice(next, provider, model) === null) gone++;
    }
  if (gone > modelsNow * goneMax) doubts.push(`${gone} of ${modelsNow} models are gone`);
  if (next.date < now.date) doubts.push(`it is of ${next.date}, the present one of ${now.date}`);
  return { models, added, changed, gone, doubts };
}

function exactPrice({ providers }: PriceFile, provider: string, model: string): FiledPrice | null {
  const models = Object.hasOwn(providers, provider) ? providers[provider]! : {};
  return Object.hasOwn(models, model) ? models[model]! : null;
}

/**
 * The name of an amount that has changed by more than `likelyFactorMax`, or to or from 0, or that
 * is missing now; null if there is none.
 */
function whyUnlikely(before: FiledPrice, after: FiledPrice): string | null {
  const [then, now] = [amountsOf(before, after), amountsOf(after, before)];
  for (const [name, old] of Object.entries(then)) {
    const current = now[name];
    if (typeof old === "number" && isAbsent(current) && (name === "input" || name === "output"))
      return `${name} was ${old} and has no price`;
    if (typeof old !== "number" || typeof current !== "number" || old === current) continue;
    if (Math.max(old, current) > likelyFactorMax * Math.min(old, current))
      return `${name} was ${old} and is ${current}`;
  }
  return null;
}

/**
 * The amounts, factors and thresholds of a price by name, to be compared with those of `other`. If
 * only `other` has a tier of long input, the tier has the rates that apply to such input here.
 */
function amountsOf(price: FiledPrice, compared: FiledPrice): Record<string, unknown> {
  const { rates, perUnit, perImage, perRequest, tiers = [], serviceTiers, regions } = price;
  const count = Math.max(tiers.length, compared.tiers?.length ?? 0);
  const ofTiers = Array.from({ length: count }, (_, i) => {
    const nameInTier = (name: string): string => `tier ${i + 1}: ${name}`;
    const { aboveInputTokens, rates: ofTier } = tiers[i] ?? { rates: tiers.at(-1)?.rates ?? rates };
    return {
      [nameInTier("threshold")]: aboveInputTokens,
      ...withNames(ratesByName(ofTier), nameInTier),
    };
  });
  const ofFactors = Object.entries({ ...serviceTiers, ...regions }).map(([tier, factors]) =>
    withNames(factors, (name) => `factor ${tier}: ${name}`),
  );
  const parts = [ratesByName(rates), perUnit, perImage, { perRequest }, ...ofTiers, ...ofFactors];
  return Object.fromEntries(parts.flatMap((part) => Object.entries(part ?? {})));
}

function ratesByName({ kinds, ...main }: TokenRates): Readonly<Record<string, unknown>> {
  return { ...main, ...kinds };
}

function withNames(
  amounts: Readonly<Record<string, unknown>>,
  name: (name: string) => string,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(amounts).map(([key, amount]) => [name(key), amount]));
}

/** Why a list from the future is a mistake; null for any other. */
export function futureProblem(date: string, nowMs: number): string | null {
  return date > dayOf(nowMs + dayMs)
    ? `is of ${date}, which is in the future: it would stay in force until then`
    : null;
}

/** The price of a model by its id, or of the model that the id is a dated snapshot of. */
export function filedPrice(
  { providers }: PriceFile,
  { providerId, model }: { readonly providerId: string; readonly model: string },
): FiledPrice | null {
  const models = Object.hasOwn(providers, providerId) ? providers[providerId] : undefined;
  if (models === undefined) return null;
  for (const name of sameModels(model)) if (Object.hasOwn(models, name)) return models[name]!;
  return null;
}

/**
 * The ids under which a list may have a model, in lower case: its own, and those of the model that
 * it is a dated or numbered snapshot of, or that it was tuned from.
 */
export function sameModels(model: string): readonly string[] {
  const name = model.toLowerCase();
  const tuned = name.replace(/^(ft:[^:]+):.*$/, "$1");
  const family = tuned.replace(/(?:[-@]\d{4}-?\d\d-?\d\d|-\d{3}|@[\w.-]+)$/, "");
  return family === name ? [name] : [name, tuned, family];
}
