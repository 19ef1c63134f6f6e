/**
 * The price lists: `docs/prices.json` or the newer file of `price_list_file`, then, for models that
 * it lacks, the list of `genai-prices.ts`, whose prices are converted here. All lists are files;
 * only `sluice prices update` downloads one.
 *
 * The lists are loaded only if a configured provider may be in them.
 */
import { readFile, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { findPreset, presetAt } from "../../shared/config/presets.js";
import {
  type Price,
  priceScales,
  rateFromUsdPerMillion,
  scaledPrice,
  type TokenKind,
  type TokenRates,
  tokenKinds,
  type UnitName,
} from "../../shared/domain/price.js";
import { type GenaiModel, type GenaiPrice, genaiPriceAt, loadGenaiPrices } from "./genai-prices.js";
import {
  type FiledPrice,
  filedPrice,
  type PriceFile,
  parsePriceFile,
  priceFileBytesMax,
  type ReadPriceFile,
  sameModels,
} from "./prices-json.js";
import {
  free,
  geographicFactor,
  type VendorModel,
  vendorMinimum,
  vendorPrice,
  vendorTiers,
  vendorUnits,
} from "./vendor-prices.js";

export interface PriceList {
  /** The price file, which takes precedence over the package's prices. */
  readonly source: ReadPriceFile;
  /**
   * The list's id for a provider, found by its address or, if a relay has another address, by its
   * instance name; null if the list has neither.
   */
  providerId(baseUrl: string, name: string): string | null;
  /** A model's price at a time, or null. Takes up to a tenth of a millisecond: cache it. */
  price(providerId: string, model: string, nowMs: number): Price | null;
  /** A model's context window; null if unknown. Takes as long. */
  contextTokens(providerId: string, model: string): number | null;
}

/** Relative to the program, two folders below the package's root, or to this compiled module. */
const places = ["../../docs/prices.json", "../../../docs/prices.json"].map((place) =>
  fileURLToPath(new URL(place, import.meta.url)),
);

async function readShipped(): Promise<ReadPriceFile> {
  const readText = async (from: string) => ({ from, text: await readFile(from, "utf8") });
  const { from, text } = await Promise.any(places.map(readText)).catch(() => {
    throw new Error(`the price list can't be read; tried ${places.join(", ")}`);
  });
  // Tests check the file: a check at each start would take longer than reading it.
  return { file: JSON.parse(text) as PriceFile, from };
}

/**
 * The list in force: the file of `price_list_file` if it exists and isn't older than the shipped
 * list. Rejects if the file can't be read, or isn't a price list.
 */
export async function readPriceFile(path: string | null): Promise<ReadPriceFile> {
  const shipped = await readShipped();
  if (path === null) return shipped;
  const operatorFile = await readOwn(path).catch((error: unknown) => {
    throw new Error(`price_list_file ${path}: ${(error as Error).message}`, { cause: error });
  });
  return operatorFile === null || operatorFile.date < shipped.file.date
    ? shipped
    : { file: operatorFile, from: path };
}

/** Null before the first update. */
async function readOwn(path: string): Promise<PriceFile | null> {
  try {
    const { size } = await stat(path);
    if (size > priceFileBytesMax) throw new Error(`it must be at most ${priceFileBytesMax} bytes`);
    return parsePriceFile(await readFile(path, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

export async function loadPriceList(path: string | null): Promise<PriceList> {
  return createPriceList(await readPriceFile(path));
}

export async function createPriceList(source: ReadPriceFile): Promise<PriceList> {
  const genai = await loadGenaiPrices();
  const { file: priceFile } = source;

  function findInPackage(providerId: string, model: string): GenaiModel | null {
    const name = listedModel(providerId, model);
    const genaiPrice = genai.model(providerId, name);
    return genaiPrice === undefined || !isOf(genaiPrice, name) ? null : genaiPrice;
  }

  const findInFile = (providerId: string, model: string) =>
    filedPrice(priceFile, { providerId, model: listedModel(providerId, model) });

  /** The price of a geographic profile of Bedrock: its base model's, times the profile's factor. */
  const priceOfProfile = (providerId: string, model: string): Price | null => {
    const base = providerId === "aws" ? model.replace(geographicProfile, "") : model;
    const price = base === model ? null : findInFile(providerId, base);
    return price === null ? null : scaledPrice(withDefaults(price), geographicFactor(base));
  };

  const find = (providerId: string, model: string, nowMs: number): Price | null => {
    const filed = findInFile(providerId, model);
    if (filed !== null) return withDefaults(filed);
    const profilePrice = priceOfProfile(providerId, model);
    if (profilePrice !== null) return profilePrice;
    const genaiModel = findInPackage(providerId, model);
    if (genaiModel === null) return vendorPrice(providerId, model);
    const price = readPrice(genaiPriceAt(genaiModel, nowMs), { providerId, model });
    return withPublished(price, providerId, model);
  };

  return {
    source,
    providerId(baseUrl, name) {
      const byUrl = genai.providerAt(baseUrl);
      if (byUrl !== undefined) return byUrl;
      const listName = (presetAt(baseUrl) ?? findPreset(name))?.priceListName ?? name;
      return Object.hasOwn(priceFile.providers, listName) || genai.has(listName) ? listName : null;
    },
    price(providerId, model, nowMs) {
      const match = find(providerId, model, nowMs);
      const audioMsMin = vendorMinimum(providerId);
      return match?.perUnit?.audioMs === undefined || audioMsMin === 0
        ? match
        : { ...match, audioMsMin };
    },
    contextTokens(providerId, model) {
      return (
        findInFile(providerId, model)?.contextTokens ??
        findInPackage(providerId, model)?.context_window ??
        null
      );
    },
  };
}

const geographicProfile = /^(?:us|eu|apac|jp|au|ca|sa)\.(?=[\w-]+\.)/;

function withDefaults(price: FiledPrice): Price {
  return { tiers: [], perRequest: 0, ...price };
}

/**
 * Whether an entry of the package is for this model, or for the model of which this is a dated
 * snapshot. The package also finds entries by prefix, although `claude-sonnet-5-5` isn't a snapshot
 * of `claude-sonnet-5`.
 */
function isOf({ id, match }: Pick<GenaiModel, "id" | "match">, model: string): boolean {
  const regional = model.replace(/^(?:us-gov|us|eu|apac|jp|au|ca|sa)\.(?=[\w-]+\.)/, "regional.");
  const names = [model, regional].flatMap(sameModels).flatMap((name) => {
    const bare = name.replace(/-v\d+(?::\d+)?$/, "");
    return bare === name ? [name] : [name, bare];
  });
  const isName = (text: string): boolean => names.includes(text.toLowerCase());
  const bareId = id.replace(/-v\d+(?::\d+)?$/, "");
  return isName(id) || isName(bareId) || names.some((name) => isNamedIn(match, name));
}

function isNamedIn(match: GenaiModel["match"], name: string): boolean {
  if ("or" in match) return match.or.some((part) => isNamedIn(part, name));
  if ("and" in match) return match.and.some((part) => isNamedIn(part, name));
  if ("equals" in match) return match.equals.toLowerCase() === name;
  // The entry's prefix may include a part of the date.
  return "starts_with" in match && match.starts_with.toLowerCase().startsWith(`${name}-`);
}

/** Adds the prices that only the providers' pages have to the package's price. */
function withPublished(price: Price | null, providerId: string, model: string): Price | null {
  if (price === null) return vendorPrice(providerId, model);
  const perUnit = vendorUnits({ providerId, model });
  return perUnit === null ? price : { ...price, perUnit: { ...price.perUnit, ...perUnit } };
}

/**
 * The model's name in the list. Vertex AI has the publisher before the names of Google's models,
 * the list doesn't. Bedrock's newer address ("Mantle") names OpenAI's open models without the
 * version in the list; the price is the same.
 */
function listedModel(providerId: string, model: string): string {
  if (providerId === "google") return model.replace(/^google\//, "");
  return providerId === "aws" ? model.replace(/^openai\.gpt-oss-(?:20b|120b)$/, "$&-1:0") : model;
}

/**
 * Null if the package has only prices of other kinds. An entry without any price is free, as for
 * moderations.
 */
function readPrice(genaiPrice: GenaiPrice, { providerId, model }: VendorModel): Price | null {
  const rates = ratesAt(genaiPrice, 0);
  const names = Object.keys(genaiPrice);
  const hours = genaiPrice["audio_hours"] ?? genaiPrice["input_audio_hours"];
  const pages = genaiPrice["input_document_kpages"];
  const hasPrice = rates.input !== null || typeof hours === "number" || typeof pages === "number";
  if (!hasPrice && names.length > 0) return null;
  if (names.length === 0) return free;
  const starts = [...mainKeys, ...Object.values(kindKeys)].flatMap((key) => {
    const value = genaiPrice[key];
    return typeof value === "object" ? value.tiers.map(({ start }) => start) : [];
  });
  const fee = (key: string): number | undefined => {
    const perThousand = genaiPrice[key];
    return typeof perThousand === "number"
      ? Math.round((perThousand * priceScales.usd) / 1000)
      : undefined;
  };
  const units: readonly (readonly [UnitName, number | undefined])[] = [
    ["webSearches", fee("web_searches_kcount")],
    ["fileSearches", fee("storage_searches_kcount")],
    ["pages", fee("input_document_kpages")],
    [
      "audioMs",
      typeof hours === "number" ? Math.round((hours * priceScales.usd) / 3600) : undefined,
    ],
  ];
  return {
    rates,
    tiers: [...new Set(starts)]
      .sort((a, b) => a - b)
      .map((start) => ({
        aboveInputTokens: roundedStart(start),
        rates: ratesAt(genaiPrice, start + 1),
      })),
    perRequest: fee("requests_kcount") ?? 0,
    perUnit: Object.fromEntries(units.filter(([, rate]) => rate !== undefined)),
    serviceTiers: vendorTiers({ providerId, model }),
    regions: {},
  };
}

/**
 * The list's tier for OpenAI's long input begins at 271,999, but the price applies above 272,000.
 */
function roundedStart(start: number): number {
  return start % 1000 === 999 ? start + 1 : start;
}

const mainKeys = ["input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok"];
/** The list's name of each kind of tokens that may have a price of its own. */
const kindKeys: Readonly<Record<TokenKind, string>> = {
  cacheWrite1h: "cache_write_1h_mtok",
  cacheWrite12h: "cache_write_12h_mtok",
  audioInput: "input_audio_mtok",
  cachedAudioInput: "cache_audio_read_mtok",
  imageInput: "input_image_mtok",
  cachedImageInput: "cache_image_read_mtok",
  reasoning: "output_reasoning_mtok",
  audioOutput: "output_audio_mtok",
  imageOutput: "output_image_mtok",
};

/** The price in the highest tier that is reached, in whatever order they are listed. */
export function usdAt(
  { base, tiers }: { readonly base: number; readonly tiers: readonly ListedTier[] },
  inputTokens: number,
): number {
  let reached: ListedTier = { start: -1, price: base };
  for (const tier of tiers)
    if (inputTokens > tier.start && tier.start > reached.start) reached = tier;
  return reached.price;
}

interface ListedTier {
  readonly start: number;
  readonly price: number;
}

function ratesAt(genaiPrice: GenaiPrice, inputTokens: number): TokenRates {
  const rate = (key: string): number | null => {
    const value = genaiPrice[key];
    if (value === undefined) return null;
    const usd = typeof value === "number" ? value : usdAt(value, inputTokens);
    // The list has some cache writes as endless fractions, of a twelfth of a dollar: rounded to six
    // decimals.
    return rateFromUsdPerMillion(Math.round(usd * 1e6) / 1e6) ?? null;
  };
  const kinds: Partial<Record<TokenKind, number>> = {};
  for (const kind of tokenKinds) {
    const kindRate = rate(kindKeys[kind]);
    if (kindRate !== null) kinds[kind] = kindRate;
  }
  return {
    input: rate("input_mtok"),
    output: rate("output_mtok"),
    cachedInput: rate("cache_read_mtok"),
    cacheWrite: rate("cache_write_mtok"),
    kinds,
  };
}
