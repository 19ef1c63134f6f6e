/**
 * What each target costs: the operator's price for the model, else the operator's for all of the
 * provider's models, else the price list's, else nothing. A look-up is one in a Map; the list
 * itself is searched once per target and minute, since some providers are cheaper at night.
 *
 * Not here: where the list comes from (`price-list.ts`), and what usage costs (`price-usage.ts`).
 */
import { pricedTargetsMax } from "../../shared/bounds.js";
import type { Config } from "../../shared/config/config.js";
import { blendedUsdPerMillion, type Price } from "../../shared/domain/price.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { PriceList } from "./price-list.js";

export interface PriceTable {
  /** Null if unpriced. */
  priceOf(target: Target): Price | null;
  /**
   * For the strategy `cost`: US dollars per million tokens, three parts input and one part output.
   * Null if unpriced.
   */
  costOf(target: Target): number | null;
}

interface PriceSources {
  /** Null if no configured provider can be in it. */
  readonly list: Pick<PriceList, "providerId" | "price"> | null;
  readonly nowMs: () => number;
}

const minuteMs = 60_000;

interface Remembered {
  readonly price: Price | null;
  /** Of the list's answer; Infinity for the operator's own price, which holds at all times. */
  readonly minute: number;
}

/** Whether a provider may have a price in the list: not the simulator. */
export function needsPriceList(config: Pick<Config, "providers">): boolean {
  return config.providers.some(({ type }) => type !== "simulator");
}

export function createPriceTable(
  config: Pick<Config, "providers" | "prices">,
  { list, nowMs }: PriceSources,
): PriceTable {
  const own = new Map(
    config.prices.map(({ provider, model, price }) => [keyOf(provider, model), price]),
  );
  const listIds = new Map(
    config.providers.map(({ name, type, baseUrl }) => [
      name,
      type === "simulator" ? null : (list?.providerId(baseUrl, name) ?? null),
    ]),
  );
  const remembered = new Map<string, Map<string, Remembered>>();
  let count = 0;

  function lookUp({ provider, model }: Target, minute: number): Remembered {
    const price = own.get(keyOf(provider, model)) ?? own.get(keyOf(provider, null));
    if (price !== undefined) return { price, minute: Infinity };
    const listId = listIds.get(provider) ?? null;
    return listId === null || list === null
      ? { price: null, minute: Infinity }
      : { price: list.price(listId, model, minute * minuteMs), minute };
  }

  function priceOf(target: Target): Price | null {
    const minute = Math.floor(nowMs() / minuteMs);
    const known = remembered.get(target.provider)?.get(target.model);
    if (known !== undefined && (known.minute === Infinity || known.minute === minute))
      return known.price;
    const found = lookUp(target, minute);
    if (known === undefined && ++count > pricedTargetsMax) {
      // There aren't so many models: callers are making names up. All are dropped, and the real
      // ones are soon back.
      remembered.clear();
      count = 1;
    }
    const ofProvider = remembered.get(target.provider) ?? new Map<string, Remembered>();
    remembered.set(target.provider, ofProvider.set(target.model, found));
    return found.price;
  }

  return {
    priceOf,
    costOf(target) {
      const price = priceOf(target);
      return price === null ? null : blendedUsdPerMillion(price);
    },
  };
}

/** Names are compared without case, as rules compare them. */
function keyOf(provider: string, model: string | null): string {
  return `${provider}/${model ?? "*"}`.toLowerCase();
}
