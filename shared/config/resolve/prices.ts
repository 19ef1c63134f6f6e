/**
 * Checks the prices of the file: their targets, tiers and changes. The price list, which applies
 * where the file has no price, is in `proxy/routing/`.
 */
import { parseSubject } from "../../domain/rule.js";
import type { PriceConfig } from "../config.js";
import { type DeclaredPrice, validFields } from "../file/config-file.js";
import { type ModelNamings, modelName } from "../model-name.js";
import type { ChangeFields, PriceFields, TierFields } from "../settings/price-settings.js";

/** In `provider/*`: every model of the provider; in a model's name: any characters. */
const wildcard = "*";
/** The value of `extends` for the built-in list. */
const list = "list";

/** Checks names and tiers. Names are compared as in rules: letter case doesn't matter. */
export function resolvePrices(
  declared: readonly DeclaredPrice[],
  namings: ModelNamings,
  problems: string[],
): readonly PriceConfig[] {
  const first = new Map<string, string>();
  const prices = declared.flatMap((entry): PriceConfig[] => {
    const { path, name, fields } = entry;
    const tiers = checkTiers(entry, problems);
    const changes = checkChanges(entry, problems);
    const target = readTarget(name, namings);
    if (target === null) {
      problems.push(
        `${path} must be named provider/model, provider/* for all of a provider's models, or */* for all models without a price`,
      );
      return [];
    }
    const key = nameOf(target);
    const earlier = first.get(key);
    if (earlier !== undefined)
      problems.push(`${path} prices the same model as ${earlier}: keep one of them`);
    first.set(key, earlier ?? path);
    const valid = fields === null ? null : validFields(fields);
    if (valid === null) return [];
    const base = readExtends(path, valid, namings, problems);
    if (base === undefined) return [];
    if (base === null) checkRates(path, valid, problems);
    return [{ ...target, extends: base, fields: valid, tiers, changes }];
  });
  checkCycles(prices, first, problems);
  return prices;
}

function nameOf({ provider, model }: { readonly provider: string; readonly model: string | null }) {
  return `${provider}/${model ?? wildcard}`.toLowerCase();
}

/** The price that it extends; null if none, undefined if `extends` is invalid. */
function readExtends(
  path: string,
  { extends: base }: PriceFields,
  namings: ModelNamings,
  problems: string[],
): PriceConfig["extends"] | undefined {
  if (base === null) return null;
  if (base === list) return list;
  const target = readTarget(base, namings);
  if (target !== null && target.model !== null && !nameOf(target).includes(wildcard))
    return { provider: target.provider, model: target.model };
  problems.push(`${path}.extends must be list or provider/model, not ${JSON.stringify(base)}`);
  return undefined;
}

/**
 * Checks that a price which extends none has rates for both kinds of tokens, or for another unit.
 */
function checkRates(path: string, fields: PriceFields, problems: string[]): void {
  const hasUnits = Object.entries(fields).some(
    ([name, value]) => value !== null && (name.startsWith("per_") || name === "images"),
  );
  const { input, output } = fields;
  if (input === null && output === null && hasUnits) return;
  for (const [name, value] of [
    ["input", input],
    ["output", output],
  ] as const)
    if (value === null) problems.push(`${path}.${name} is required`);
}

/** Reports prices that extend themselves, directly or through others. */
function checkCycles(
  prices: readonly PriceConfig[],
  places: ReadonlyMap<string, string>,
  problems: string[],
): void {
  const byName = new Map(prices.map((entry) => [nameOf(entry), entry]));
  for (const entry of prices) {
    const seen = new Set<string>();
    let price: PriceConfig | undefined = entry;
    while (price !== undefined && !seen.has(nameOf(price))) {
      seen.add(nameOf(price));
      price = isTarget(price.extends) ? byName.get(nameOf(price.extends)) : undefined;
    }
    if (price === entry)
      problems.push(`${places.get(nameOf(entry))}.extends must not lead back to it`);
  }
}

function isTarget(base: PriceConfig["extends"]): base is Exclude<typeof base, "list" | null> {
  return typeof base === "object" && base !== null;
}

function readTarget(
  name: string,
  namings: ModelNamings,
): { readonly provider: string; readonly model: string | null } | null {
  const slash = name.indexOf("/");
  const provider = name.slice(0, slash);
  const model = name.slice(slash + 1);
  if (slash < 1 || (provider !== wildcard && !parseSubject("provider", provider, "").ok))
    return null;
  if (model === wildcard) return { provider, model: null };
  const id = parseSubject("model", model.replaceAll(wildcard, "x"), "");
  if (!id.ok || id.value !== model.replaceAll(wildcard, "x")) return null;
  const naming = namings.get(provider.toLowerCase());
  const isPattern = naming === undefined || model.includes(wildcard);
  return { provider, model: isPattern ? model : modelName(naming, model) };
}

/** The valid tiers. Each must have a rate, and their thresholds must ascend. */
function checkTiers({ tiers }: DeclaredPrice, problems: string[]): readonly TierFields[] {
  let above = 0;
  return tiers.flatMap(({ path, fields }): TierFields[] => {
    if (fields === null) return [];
    const { above_input_tokens: from, ...rates } = fields;
    if (typeof from === "number") {
      if (from <= above)
        problems.push(
          `${path}.above_input_tokens must be greater than ${above}, the tier before it, not ${from}`,
        );
      above = from;
    }
    if (Object.values(rates).every((rate) => rate === null))
      problems.push(`${path} needs a rate: ${Object.keys(rates).join(", ")}`);
    const valid = validFields(fields);
    return valid === null ? [] : [valid];
  });
}

/** The valid changes. Their dates must ascend. */
function checkChanges({ changes }: DeclaredPrice, problems: string[]): readonly ChangeFields[] {
  let before = -Infinity;
  return changes.flatMap(({ path, fields }): ChangeFields[] => {
    const valid = fields === null ? null : validFields(fields);
    if (valid === null) return [];
    if ((valid.from ?? 0) <= before)
      problems.push(`${path}.from must be later than that of the change before it`);
    before = valid.from ?? 0;
    return [valid];
  });
}
