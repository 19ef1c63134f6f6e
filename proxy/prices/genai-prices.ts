/**
 * The second price list: the providers and models of the package `@pydantic/genai-prices`, which
 * the build writes to `genai-prices.json`. Look-ups follow the package's rules. Loading the package
 * itself would take ten times as long, and eight megabytes.
 */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { dayMs, parseDay } from "../../shared/time.js";

type Match =
  | { readonly or: readonly Match[] }
  | { readonly and: readonly Match[] }
  | { readonly equals: string }
  | { readonly starts_with: string }
  | { readonly ends_with: string }
  | { readonly contains: string }
  | { readonly regex: string };

interface Tiers {
  readonly base: number;
  readonly tiers: readonly { readonly start: number; readonly price: number }[];
}

/** In US dollars, by the unit. */
export type GenaiPrice = Readonly<Record<string, number | Tiers>>;

type Constraint =
  | { readonly type: "start_date"; readonly start_date: string }
  | { readonly type: "time_of_date"; readonly start_time: string; readonly end_time: string };

export interface GenaiModel {
  readonly id: string;
  readonly match: Match;
  readonly context_window?: number;
  /** The last price that is in force counts; if none is, the first. */
  readonly prices: GenaiPrice | DatedPrices;
}

type DatedPrices = readonly { readonly constraint?: Constraint; readonly prices: GenaiPrice }[];

interface GenaiProvider {
  readonly id: string;
  /** A regular expression for the beginning of its address. */
  readonly api_pattern: string;
  /** Providers whose models it offers, too. */
  readonly fallback_model_providers?: readonly string[];
  readonly models: readonly GenaiModel[];
}

interface GenaiPrices {
  /** The id of the provider with this address; undefined if there is none. */
  providerAt(baseUrl: string): string | undefined;
  has(providerId: string): boolean;
  /** Undefined if the provider has no such model. */
  model(providerId: string, name: string): GenaiModel | undefined;
}

/** The package's name in price lists. */
export const packageName = "@pydantic/genai-prices 0.1.8 (MIT)";

/** Beside the program, or seen from this compiled module. */
const places = ["genai-prices.json", "../../programs/genai-prices.json"].map((place) =>
  fileURLToPath(new URL(place, import.meta.url)),
);

export async function loadGenaiPrices(): Promise<GenaiPrices> {
  const text = await Promise.any(places.map((place) => readFile(place, "utf8"))).catch(() => {
    throw new Error(`the second price list can't be read; tried ${places.join(", ")}`);
  });
  const providers = new Map(
    (JSON.parse(text) as readonly GenaiProvider[]).map((provider) => [provider.id, provider]),
  );

  function find(provider: GenaiProvider | undefined, name: string): GenaiModel | undefined {
    if (provider === undefined) return undefined;
    const listed = provider.models.find(({ match }) => isMatch(match, name));
    if (listed !== undefined) return listed;
    for (const id of provider.fallback_model_providers ?? []) {
      const match = find(providers.get(id), name);
      if (match !== undefined) return match;
    }
    return undefined;
  }

  return {
    providerAt(baseUrl) {
      for (const { id, api_pattern } of providers.values())
        if (new RegExp(`^(?:${api_pattern})`).test(baseUrl)) return id;
      return undefined;
    },
    has: (providerId) => providers.has(providerId),
    model(providerId, name) {
      const provider = providers.get(providerId);
      const lower = name.toLowerCase().trim();
      return find(provider, lower) ?? find(provider, withDashes(lower));
    },
  };
}

function isMatch(match: Match, name: string): boolean {
  if ("or" in match) return match.or.some((part) => isMatch(part, name));
  if ("and" in match) return match.and.every((part) => isMatch(part, name));
  if ("equals" in match) return name === match.equals.toLowerCase();
  if ("starts_with" in match) return name.startsWith(match.starts_with.toLowerCase());
  if ("ends_with" in match) return name.endsWith(match.ends_with.toLowerCase());
  if ("contains" in match) return name.includes(match.contains.toLowerCase());
  return new RegExp(match.regex).test(name);
}

/** Dates with dashes, as in some ids: `-20250514` becomes `-2025-05-14`. */
function withDashes(name: string): string {
  return name.replace(
    /-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)/g,
    (text, year: string, month: string, day: string) => {
      const date = `${year}-${month}-${day}`;
      return parseDay(date) === null ? text : `-${date}`;
    },
  );
}

/** The price of a model at a time. */
export function genaiPriceAt({ prices }: GenaiModel, atMs: number): GenaiPrice {
  if (!isDated(prices)) return prices;
  const inForce = prices.findLast(
    ({ constraint }) => constraint === undefined || isInForce(constraint, atMs),
  );
  return (inForce ?? prices[0]!).prices;
}

function isDated(prices: GenaiModel["prices"]): prices is DatedPrices {
  return Array.isArray(prices);
}

function isInForce(constraint: Constraint, atMs: number): boolean {
  if (constraint.type === "start_date") return atMs >= Date.parse(constraint.start_date);
  const timeMs = atMs % dayMs;
  const startMs = timeOfDayMs(constraint.start_time);
  const endMs = timeOfDayMs(constraint.end_time);
  return endMs < startMs
    ? timeMs >= startMs || timeMs < endMs
    : timeMs >= startMs && timeMs < endMs;
}

function timeOfDayMs(text: string): number {
  return Date.parse(`1970-01-01T${text}`);
}
