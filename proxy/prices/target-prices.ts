/**
 * The price of each target: the operator's price for the model, else the operator's price for all
 * models of the provider, else that of the price list, else none. A look-up is one in a Map; the
 * list is searched once per target and minute, since some providers are cheaper at night.
 *
 * Not here: the source of the list (`price-list.ts`), and the cost of usage (`price-usage.ts`).
 */
import { pricedTargetsMax } from "../../shared/bounds.js";
import type { Config, PriceConfig } from "../../shared/config/config.js";
import { isTimed as isTimedPrice, priceAt } from "../../shared/config/price-at.js";
import { blendedUsdPerMillion, type Price } from "../../shared/domain/price.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { PriceList } from "./price-list.js";
import type { ReadPriceFile } from "./prices-json.js";

/** Where a price is from; `list`: the date of the price list. */
export type PriceSource =
  | { readonly kind: "operator"; readonly list?: undefined }
  | { readonly kind: "list"; readonly list: string };

export interface TargetPrices {
  /** The list's file; null without a list. */
  readonly listed: ReadPriceFile | null;
  /** Null if unpriced. */
  priceOf(target: Target): Price | null;
  /** Null if unpriced. */
  sourceOf(target: Target): PriceSource | null;
  /** Whether the target has no price, but the model that its answer names may have one. */
  mayBePricedByAnswer(target: Target): boolean;
  /**
   * For the strategy `cost`: US dollars per million tokens, three parts input and one part output.
   * Null if unpriced.
   */
  costOf(target: Target): number | null;
}

interface PriceSources {
  /** Null if no configured provider can be in it. */
  readonly list: (Pick<PriceList, "providerId" | "price"> & Partial<PriceList>) | null;
  readonly nowMs: () => number;
}

const minuteMs = 60_000;
const operator: PriceSource = { kind: "operator" };
/** The provider's name in prices that apply to models without any other. */
const anyProvider = "*";
/** The longest chain of prices that extend one another. */
const extendsMax = 8;

interface RememberedPrice {
  readonly price: Price | null;
  readonly source?: PriceSource;
  /** The minute of a price that may change with time; Infinity for any other price. */
  readonly minute: number;
}

/** Whether a provider may have a price in the list: not the simulator. */
export function needsPriceList(config: Pick<Config, "providers">): boolean {
  return config.providers.some(({ type }) => type !== "simulator");
}

export function createTargetPrices(
  config: Pick<Config, "providers" | "prices">,
  { list, nowMs }: PriceSources,
): TargetPrices {
  const operatorPrices = ownPrices(config.prices);
  const listIds = new Map(
    config.providers.map(({ name, type, baseUrl }) => [
      name,
      type === "simulator" ? null : (list?.providerId(baseUrl, name) ?? null),
    ]),
  );
  const listSource: PriceSource = { kind: "list", list: list?.source?.file.date ?? "" };
  const remembered = new Map<string, Map<string, RememberedPrice>>();
  let count = 0;

  function lookUp(target: Target, minute: number, depth = 0): RememberedPrice {
    const { provider, model } = target;
    let isTimed = false;
    const ownPrice = (configured: readonly PriceConfig[]): Price | null => {
      for (const entry of configured) {
        const base = baseOf(entry, target, minute, depth);
        isTimed ||= base.minute !== Infinity || isTimedPrice(entry);
        const price = priceAt(entry, base.price, minute * minuteMs);
        if (price !== null) return price;
      }
      return null;
    };
    const listPrice = (): Price | null => {
      const listedPrice = fromList(provider, model, minute);
      isTimed ||= listedPrice.minute !== Infinity;
      return listedPrice.price;
    };
    const providerPrice = ownPrice(operatorPrices.of(provider, model));
    const inList = providerPrice === null ? listPrice() : null;
    const price = providerPrice ?? inList ?? ownPrice(operatorPrices.of(anyProvider, model));
    const source = inList === null ? operator : listSource;
    return { price, source, minute: isTimed ? minute : Infinity };
  }

  function fromList(provider: string, model: string, minute: number): RememberedPrice {
    const listId = listIds.get(provider) ?? null;
    return listId === null || list === null
      ? { price: null, minute: Infinity }
      : { price: list.price(listId, model, minute * minuteMs), minute };
  }

  /** The price that an entry extends, for this target. */
  function baseOf(
    { extends: base }: PriceConfig,
    { provider, model }: Target,
    minute: number,
    depth: number,
  ): RememberedPrice {
    if (base === "list") return fromList(provider, model, minute);
    return base === null || depth >= extendsMax
      ? { price: null, minute: Infinity }
      : lookUp(base, minute, depth + 1);
  }

  function remember(target: Target): RememberedPrice {
    const cached = remembered.get(target.provider)?.get(target.model);
    if (cached !== undefined && cached.minute === Infinity) return cached;
    const minute = Math.floor(nowMs() / minuteMs);
    if (cached !== undefined && cached.minute === minute) return cached;
    const price = lookUp(target, minute);
    if (cached === undefined && ++count > pricedTargetsMax) {
      // There aren't that many models: callers make up names. Drop all; real ones are soon back.
      remembered.clear();
      count = 1;
    }
    const pricesByModel = remembered.get(target.provider) ?? new Map<string, RememberedPrice>();
    remembered.set(target.provider, pricesByModel.set(target.model, price));
    return price;
  }

  const priceOf = (target: Target): Price | null => remember(target).price;

  return {
    listed: list?.source ?? null,
    priceOf,
    sourceOf(target) {
      const { price, source = null } = remember(target);
      return price === null ? null : source;
    },
    mayBePricedByAnswer(target) {
      const { provider } = target;
      const isPriced = (listIds.get(provider) ?? null) !== null || operatorPrices.has(provider);
      return isPriced && priceOf(target) === null;
    },
    costOf(target) {
      const price = priceOf(target);
      return price === null ? null : blendedUsdPerMillion(price);
    },
  };
}

/** The operator's prices, compared ignoring case, as rules compare names. */
interface OwnPrices {
  /**
   * The prices that match a model, the most specific first: by name, by longer patterns, for all
   * models.
   */
  of(provider: string, model: string): readonly PriceConfig[];
  /** Whether a model of the provider has a price. */
  has(provider: string): boolean;
}

function ownPrices(prices: readonly PriceConfig[]): OwnPrices {
  const keyOf = (provider: string, model: string): string => `${provider}/${model}`.toLowerCase();
  const providers = new Set(prices.map(({ provider }) => provider.toLowerCase()));
  const exact = new Map<string, PriceConfig>();
  const patterns = new Map<string, { readonly model: string; readonly entry: PriceConfig }[]>();
  for (const entry of prices) {
    const { provider, model } = entry;
    if (model !== null && !model.includes("*")) {
      exact.set(keyOf(provider, model), entry);
      continue;
    }
    const name = provider.toLowerCase();
    const providerPatterns = patterns.get(name) ?? [];
    patterns.set(name, providerPatterns);
    providerPatterns.push({ model: (model ?? "*").toLowerCase(), entry });
  }
  for (const providerPatterns of patterns.values())
    providerPatterns.sort((a, b) => b.model.length - a.model.length);
  return {
    has: (provider) => providers.has(provider.toLowerCase()) || providers.has(anyProvider),
    of(provider, model) {
      const exactPrice = exact.get(keyOf(provider, model));
      const matching = (patterns.get(provider.toLowerCase()) ?? [])
        .filter((pattern) => matches(pattern.model, model.toLowerCase()))
        .map(({ entry }) => entry);
      return exactPrice === undefined ? matching : [exactPrice, ...matching];
    },
  };
}

/** Whether a name matches a pattern, in which `*` matches any characters. */
function matches(pattern: string, name: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return pattern === name;
  if (!name.startsWith(first)) return false;
  let position = first.length;
  for (const piece of rest) {
    const index = name.indexOf(piece, position);
    if (index === -1) return false;
    position = index + piece.length;
  }
  return name.length - last.length >= position && name.endsWith(last);
}
