/**
 * The prices in `docs/prices.json`: by provider and by the exact id of a model. The file is made
 * from public lists (docs/decisions/prices.md); this module finds a model in it.
 */
import { isObject } from "../../shared/checked.js";
import type { Price } from "../../shared/domain/price.js";

/** A price as the file has it: without the fields that are empty. */
export type FiledPrice = Pick<Price, "rates"> &
  Partial<Omit<Price, "rates">> & {
    readonly contextTokens?: number;
    /** Where the price is published: an index in `pages`. */
    readonly page?: number;
  };

export interface PriceFile {
  /** The day of the lists that it was made from. */
  readonly date: string;
  /** The lists, with version and licence. */
  readonly lists: readonly string[];
  readonly pages: readonly string[];
  /** By provider and by the id of the model in lower case. */
  readonly providers: Readonly<Record<string, Readonly<Record<string, FiledPrice>>>>;
}

export const emptyPriceFile: PriceFile = { date: "", lists: [], pages: [], providers: {} };

export function parsePriceFile(text: string): PriceFile {
  const file: unknown = JSON.parse(text);
  if (!isObject(file) || !isObject(file["providers"])) throw new Error("providers are missing");
  return file as unknown as PriceFile;
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
 * The ids under which a list may have a model, in lower case: its own, that of the model that it is
 * a dated or numbered snapshot of, or of the one that it was tuned from.
 */
export function sameModels(model: string): readonly string[] {
  const name = model.toLowerCase();
  const tuned = name.replace(/^(ft:[^:]+):.*$/, "$1");
  const family = tuned.replace(/(?:[-@]\d{4}-?\d\d-?\d\d|-\d{3}|@[\w.-]+)$/, "");
  return family === name ? [name] : [name, tuned, family];
}
