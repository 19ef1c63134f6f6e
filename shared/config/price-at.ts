/**
 * The price that the file sets for a model at a time: first the price that it extends, then its
 * fields in order of time, then the factors on the whole.
 */
import {
  type Price,
  scaled,
  scaledPrice,
  type TokenKind,
  type TokenRates,
  tokenKinds,
  type UnitName,
  unitNames,
} from "../domain/price.js";
import { dayMs } from "../time.js";
import type { PriceConfig } from "./config.js";
import {
  kindFields,
  type PriceFields,
  type RateFields,
  type TierFields,
  unitFields,
} from "./settings/price-settings.js";

/** A price without rates, to which the fields of a configured price are added. */
const noRates: Price = {
  rates: { input: null, output: null, cachedInput: null, cacheWrite: null, kinds: {} },
  tiers: [],
  perRequest: 0,
  perUnit: {},
  perImage: {},
  serviceTiers: {},
  regions: {},
};

/** `base`: the price that it extends; null without one. Null if nothing of it has a price. */
export function priceAt(
  { fields, tiers, changes }: Pick<PriceConfig, "fields" | "tiers" | "changes">,
  base: Price | null,
  nowMs: number,
): Price | null {
  let price = withFields(base ?? noRates, fields, tiers);
  for (const { from, ...change } of changes)
    if ((from ?? 0) <= nowMs) price = withFields(price, change, []);
  if (!hasPrice(price)) return null;
  const factor = scaled(fields.factor ?? 1000, hourFactor(fields.hours, nowMs));
  return {
    ...scaledPrice(price, factor),
    reportedFactor: factor,
    ignoresReported: fields.reported !== "prefer",
  };
}

/** Whether the price changes with time. */
export function isTimed({ fields, changes }: Pick<PriceConfig, "fields" | "changes">): boolean {
  return fields.hours !== null || changes.length > 0;
}

function hasPrice({ rates, perRequest, perUnit = {}, perImage = {} }: Price): boolean {
  const otherUnits = [...Object.keys(perUnit), ...Object.keys(perImage)];
  return rates.input !== null || rates.output !== null || perRequest > 0 || otherUnits.length > 0;
}

function withFields(price: Price, fields: RateFields, tiers: readonly TierFields[]): Price {
  const rates = withRates(price.rates, fields);
  return {
    rates,
    tiers:
      tiers.length > 0
        ? tiers.map((tier) => ({
            aboveInputTokens: tier.above_input_tokens ?? 0,
            rates: withRates(rates, tier),
          }))
        : price.tiers.map((tier) => ({ ...tier, rates: withRates(tier.rates, fields) })),
    perRequest: fields.per_request ?? price.perRequest,
    perUnit: { ...price.perUnit, ...unitsIn(fields) },
    perImage: { ...price.perImage, ...fields.images },
    serviceTiers: { ...price.serviceTiers, ...fields.service_tiers },
    regions: { ...price.regions, ...fields.regions },
  };
}

/** The rates with those of the fields in place of the old ones. */
function withRates(rates: TokenRates, fields: Omit<TierFields, "above_input_tokens">): TokenRates {
  const kinds: Partial<Record<TokenKind, number>> = { ...rates.kinds };
  for (const kind of tokenKinds) {
    const rate = fields[kindFields[kind]];
    if (rate !== null) kinds[kind] = rate;
  }
  return {
    input: fields.input ?? rates.input,
    output: fields.output ?? rates.output,
    cachedInput: fields.cached_input ?? rates.cachedInput,
    cacheWrite: fields.cache_write ?? rates.cacheWrite,
    kinds,
  };
}

function unitsIn(fields: RateFields): Partial<Record<UnitName, number>> {
  const units: Partial<Record<UnitName, number>> = {};
  for (const name of unitNames) {
    const amount = fields[unitFields[name]];
    if (amount !== null) units[name] = amount;
  }
  if (fields.per_minute !== null) units.audioMs ??= Math.round(fields.per_minute / 60);
  return units;
}

function hourFactor(hours: PriceFields["hours"], nowMs: number): number {
  const minute = Math.floor((nowMs % dayMs) / 60_000);
  const match = (hours ?? []).find(({ fromMinute, toMinute }) =>
    fromMinute <= toMinute
      ? minute >= fromMinute && minute < toMinute
      : minute >= fromMinute || minute < toMinute,
  );
  return match === undefined ? 1000 : match.factor;
}
