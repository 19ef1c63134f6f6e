/** The prices of the file, with their targets and tiers checked. Where else prices come from is the proxy's to know. */
import { parseSubject } from "../rule.js";
import type { PriceTier, TokenRates } from "../price.js";
import type { PriceConfig } from "./config.js";
import type { DeclaredPrice } from "./config-file.js";

/** What `provider/*` says: every model of that provider. */
const anyModel = "*";

/** Checks names and tiers. Names are compared as rules compare them, without case. */
export function buildPrices(declared: readonly DeclaredPrice[], problems: string[]): readonly PriceConfig[] {
  const first = new Map<string, string>();
  return declared.flatMap((entry): PriceConfig[] => {
    const { at, name, fields } = entry;
    const target = readTarget(name);
    if (target === null) {
      problems.push(`${at} must be named provider/model, or provider/* for all of a provider's models`);
      return [];
    }
    const key = `${target.provider}/${target.model ?? anyModel}`.toLowerCase();
    const earlier = first.get(key);
    if (earlier !== undefined) problems.push(`${at} prices the same model as ${earlier}: keep one of them`);
    first.set(key, earlier ?? at);
    if (fields === null) return [];
    const rates: TokenRates = { input: fields.input, output: fields.output, cachedInput: fields.cached_input, cacheWrite: fields.cache_write };
    return [{ ...target, price: { rates, perRequest: fields.per_request ?? 0, tiers: buildTiers(entry, rates, problems) } }];
  });
}

function readTarget(name: string): { readonly provider: string; readonly model: string | null } | null {
  const slash = name.indexOf("/");
  const model = name.slice(slash + 1);
  if (slash < 1 || !parseSubject("provider", name.slice(0, slash), "").ok) return null;
  if (model === anyModel) return { provider: name.slice(0, slash), model: null };
  const id = parseSubject("model", model, "");
  return id.ok && id.value === model && !model.includes(anyModel) ? { provider: name.slice(0, slash), model } : null;
}

function buildTiers({ tiers }: DeclaredPrice, base: TokenRates, problems: string[]): readonly PriceTier[] {
  let above = 0;
  return tiers.flatMap(({ at, fields }): PriceTier[] => {
    if (fields === null || fields.above_input_tokens === null) return [];
    if (fields.above_input_tokens <= above) problems.push(`${at}.above_input_tokens must be greater than ${above}, the tier before it, not ${fields.above_input_tokens}`);
    above = fields.above_input_tokens;
    const { input, output, cached_input: cachedInput, cache_write: cacheWrite } = fields;
    if (input === null && output === null && cachedInput === null && cacheWrite === null) problems.push(`${at} needs a rate: input, output, cached_input or cache_write`);
    return [{
      aboveInputTokens: fields.above_input_tokens,
      rates: { input: input ?? base.input, output: output ?? base.output, cachedInput: cachedInput ?? base.cachedInput, cacheWrite: cacheWrite ?? base.cacheWrite },
    }];
  });
}
