/**
 * The largest input and output of a model, from its provider's list, else from the price list and
 * the table of model families.
 */
import { pricedTargetsMax } from "../../shared/bounds.js";
import { isCount, isObject } from "../../shared/checked.js";
import type { ProviderConfig } from "../../shared/config/config.js";
import { sentModel, type Target } from "../../shared/domain/target-name.js";
import { outputTokensMaxOf } from "../dialects/fit/target-traits.js";
import type { PriceList } from "../prices/price-list.js";

/** Each null if unknown. */
export interface ModelSize {
  /** The context window. */
  readonly contextTokens: number | null;
  /** The most that one answer may have. */
  readonly outputTokens: number | null;
}

export const unknownSize: ModelSize = { contextTokens: null, outputTokens: null };

// The names that Anthropic, OpenRouter and Together, vLLM, Groq, Mistral and Gemini use.
const contextFields = [
  "max_input_tokens",
  "context_length",
  "max_model_len",
  "context_window",
  "max_context_length",
  "inputTokenLimit",
];
const outputFields = [
  "max_output_tokens",
  "max_completion_tokens",
  "max_tokens",
  "outputTokenLimit",
];

/** The size in an entry of a provider's list of models. */
export function readSize(entry: Readonly<Record<string, unknown>>): ModelSize {
  const { top_provider: openrouterSize } = entry;
  return {
    contextTokens: firstCount(entry, contextFields),
    outputTokens:
      firstCount(entry, outputFields) ??
      (isObject(openrouterSize) ? firstCount(openrouterSize, outputFields) : null),
  };
}

function firstCount(
  entry: Readonly<Record<string, unknown>>,
  fields: readonly string[],
): number | null {
  for (const field of fields) {
    const value = entry[field];
    if (isCount(value, 1)) return value;
  }
  return null;
}

/** The smaller of both sizes where both are known, which each of several targets accepts. */
export function smallerSize(a: ModelSize, b: ModelSize): ModelSize {
  const smaller = (x: number | null, y: number | null): number | null =>
    x === null || y === null ? (x ?? y) : Math.min(x, y);
  return {
    contextTokens: smaller(a.contextTokens, b.contextTokens),
    outputTokens: smaller(a.outputTokens, b.outputTokens),
  };
}

/** `learned`: the size in the provider's list. */
export type SizeOf = (target: Target, learned: ModelSize) => ModelSize;

/** Remembers the look-ups in the price list, which take up to a tenth of a millisecond. */
export function createModelSizes(
  providers: readonly ProviderConfig[],
  list: Pick<PriceList, "providerId" | "contextTokens"> | null,
): SizeOf {
  const byName = new Map(
    providers.map((provider) => {
      const { name, type, baseUrl } = provider;
      const listId = type === "simulator" ? null : (list?.providerId(baseUrl, name) ?? null);
      return [name, { provider, listId }] as const;
    }),
  );
  const remembered = new Map<string, number | null>();

  function listedSize(listId: string, model: string): number | null {
    const key = `${listId}/${model}`;
    const cached = remembered.get(key);
    if (cached !== undefined) return cached;
    if (remembered.size >= pricedTargetsMax) remembered.clear();
    const tokens = list?.contextTokens(listId, model) ?? null;
    remembered.set(key, tokens);
    return tokens;
  }

  return (target, { contextTokens, outputTokens }) => {
    const { provider, listId } = byName.get(target.provider)!;
    return {
      contextTokens: contextTokens ?? (listId === null ? null : listedSize(listId, target.model)),
      outputTokens: outputTokens ?? outputTokensMaxOf(provider, sentModel(target)),
    };
  };
}
