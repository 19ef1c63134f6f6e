/**
 * Checks the prices of the file: their targets and tiers. The price list, which applies where the
 * file has no price, is in `proxy/routing/`.
 */
import { type Price, type TokenKind, type TokenRates, tokenKinds } from "../../domain/price.js";
import { parseSubject } from "../../domain/rule.js";
import type { PriceConfig } from "../config.js";
import { type DeclaredPrice, validFields } from "../file/config-file.js";
import { type ModelNamings, modelName } from "../model-name.js";
import { kindFields, type PriceFields, type TierFields } from "../settings/price-settings.js";

/** In `provider/*`: every model of that provider. */
const anyModel = "*";

/** Checks names and tiers. Names are compared as in rules: letter case doesn't matter. */
export function resolvePrices(
  declared: readonly DeclaredPrice[],
  namings: ModelNamings,
  problems: string[],
): readonly PriceConfig[] {
  const first = new Map<string, string>();
  return declared.flatMap((entry): PriceConfig[] => {
    const { at, name, fields } = entry;
    const tiers = checkTiers(entry, problems);
    const target = readTarget(name, namings);
    if (target === null) {
      problems.push(
        `${at} must be named provider/model, or provider/* for all of a provider's models`,
      );
      return [];
    }
    const key = `${target.provider}/${target.model ?? anyModel}`.toLowerCase();
    const earlier = first.get(key);
    if (earlier !== undefined)
      problems.push(`${at} prices the same model as ${earlier}: keep one of them`);
    first.set(key, earlier ?? at);
    const valid = fields === null ? null : validFields(fields);
    if (valid === null) return [];
    return [{ ...target, price: priceFrom(valid, tiers) }];
  });
}

function priceFrom(fields: PriceFields, tiers: readonly TierFields[]): Price {
  const rates: TokenRates = {
    input: fields.input,
    output: fields.output,
    cachedInput: fields.cached_input,
    cacheWrite: fields.cache_write,
    kinds: kindsIn(fields),
  };
  return {
    rates,
    perRequest: fields.per_request ?? 0,
    perWebSearch: fields.per_web_search ?? 0,
    perFileSearch: fields.per_file_search ?? 0,
    serviceTiers: fields.service_tiers ?? {},
    tiers: tiers.map((tier) => ({
      aboveInputTokens: tier.above_input_tokens ?? 0,
      rates: tierRates(tier, rates),
    })),
  };
}

function kindsIn(fields: PriceFields | TierFields): Partial<Record<TokenKind, number>> {
  const kinds: Partial<Record<TokenKind, number>> = {};
  for (const kind of tokenKinds) {
    const rate = fields[kindFields[kind]];
    if (rate !== null) kinds[kind] = rate;
  }
  return kinds;
}

function readTarget(
  name: string,
  namings: ModelNamings,
): { readonly provider: string; readonly model: string | null } | null {
  const slash = name.indexOf("/");
  const model = name.slice(slash + 1);
  if (slash < 1 || !parseSubject("provider", name.slice(0, slash), "").ok) return null;
  if (model === anyModel) return { provider: name.slice(0, slash), model: null };
  const id = parseSubject("model", model, "");
  if (!id.ok || id.value !== model || model.includes(anyModel)) return null;
  const provider = name.slice(0, slash);
  const naming = namings.get(provider.toLowerCase());
  return { provider, model: naming === undefined ? model : modelName(naming, model) };
}

/** The valid tiers. Each must have a rate, and their thresholds must ascend. */
function checkTiers({ tiers }: DeclaredPrice, problems: string[]): readonly TierFields[] {
  let above = 0;
  return tiers.flatMap(({ at, fields }): TierFields[] => {
    if (fields === null) return [];
    const { above_input_tokens: from, ...rates } = fields;
    if (typeof from === "number") {
      if (from <= above)
        problems.push(
          `${at}.above_input_tokens must be greater than ${above}, the tier before it, not ${from}`,
        );
      above = from;
    }
    if (Object.values(rates).every((rate) => rate === null))
      problems.push(`${at} needs a rate: ${Object.keys(rates).join(", ")}`);
    const valid = validFields(fields);
    return valid === null ? [] : [valid];
  });
}

/** The rates of a tier; where it has none, the price's. */
function tierRates(tier: TierFields, base: TokenRates): TokenRates {
  return {
    input: tier.input ?? base.input,
    output: tier.output ?? base.output,
    cachedInput: tier.cached_input ?? base.cachedInput,
    cacheWrite: tier.cache_write ?? base.cacheWrite,
    kinds: { ...base.kinds, ...kindsIn(tier) },
  };
}
