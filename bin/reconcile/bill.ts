/**
 * What a provider has billed, in the form that the comparison takes, whatever it was read from; and
 * the kinds of quantities. Pure.
 */
import type { Pico } from "./amount.js";

export const groups = ["input", "output", "units", "tools"] as const;
/** Our records have one cost for each group. */
export type Group = (typeof groups)[number];

/**
 * Kinds of quantities: no token is in two of them. `parent` is the kind that contains it in a bill
 * that doesn't separate it; `setting` its price under `prices`.
 */
export const kinds = {
  input: { group: "input", parent: null, setting: "input" },
  cached_input: { group: "input", parent: "input", setting: "cached_input" },
  cache_write: { group: "input", parent: "input", setting: "cache_write" },
  cache_write_1h: { group: "input", parent: "cache_write", setting: "cache_write_1h" },
  cache_write_12h: { group: "input", parent: "cache_write", setting: "cache_write_12h" },
  audio_input: { group: "input", parent: "input", setting: "audio_input" },
  image_input: { group: "input", parent: "input", setting: "image_input" },
  output: { group: "output", parent: null, setting: "output" },
  audio_output: { group: "output", parent: "output", setting: "audio_output" },
  image_output: { group: "output", parent: "output", setting: "image_output" },
  images: { group: "units", parent: null, setting: "per_image" },
  audio_seconds: { group: "units", parent: null, setting: "per_second" },
  characters: { group: "units", parent: null, setting: "per_character" },
  pages: { group: "units", parent: null, setting: "per_page" },
  search_units: { group: "units", parent: null, setting: "per_search_unit" },
  web_searches: { group: "tools", parent: null, setting: "per_web_search" },
  file_searches: { group: "tools", parent: null, setting: "per_file_search" },
  maps_searches: { group: "tools", parent: null, setting: "per_maps_search" },
  containers: { group: "tools", parent: null, setting: "per_container" },
} as const satisfies Readonly<
  Record<
    string,
    { readonly group: Group; readonly parent: string | null; readonly setting: string }
  >
>;
export type Kind = keyof typeof kinds;
export const kindNames = Object.keys(kinds) as readonly Kind[];
export type Quantities = Readonly<Partial<Record<Kind, number>>>;

/** Whether the kind is priced by the million. */
export function isTokens(kind: Kind): boolean {
  return kinds[kind].group === "input" || kinds[kind].group === "output";
}

/**
 * What a row is about: a kind; the number of requests; the amount of all kinds together (`total`);
 * a fee of a tool that isn't counted; a credit, discount or tax; or anything else.
 */
export type BillItem = Kind | "requests" | "total" | "tool" | "credit" | "other";

/** One line of a bill, or a part of one. */
export interface BillRow {
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string;
  /** As the bill names it; null if the line has none. */
  readonly model: string | null;
  /** By `tierOf`. */
  readonly tier: string;
  /** By `regionOf`. */
  readonly region: string;
  /** The project or workspace; null if unknown. */
  readonly project: string | null;
  readonly item: BillItem;
  /** Null: only the amount is known. */
  readonly quantity: number | null;
  /** Null: only the quantity is known. */
  readonly amount: Pico | null;
  /** The line's own words, for lines that aren't understood. */
  readonly text: string | null;
}

export interface Bill {
  readonly rows: readonly BillRow[];
  /** The kinds that it separates; others are within their parents, or unknown. */
  readonly separates: ReadonlySet<Kind>;
  /** The largest number of decimals of its amounts: each amount is rounded to this number. */
  readonly decimals: number;
  /** What the reader should know. */
  readonly notes: readonly string[];
}

/** Wrong content of a bill; the message names what and where. */
export class BillError extends Error {
  override name = "BillError";
}

/** The tier without a surcharge is `standard`, however it is called. */
export function tierOf(name: unknown): string {
  const tier = typeof name === "string" ? name.trim().toLowerCase() : "";
  return ["", "default", "auto", "on_demand", "null"].includes(tier) ? "standard" : tier;
}

/** Empty for no particular region. */
export function regionOf(name: unknown): string {
  const region = typeof name === "string" ? name.trim().toLowerCase() : "";
  return ["global", "not_available", "null"].includes(region) ? "" : region;
}

/** A bill in another currency can't be compared. */
export function requireUsd(currency: unknown, where: string): void {
  if (currency === undefined || currency === null || currency === "") return;
  if (String(currency).toUpperCase() !== "USD")
    throw new BillError(
      `${where} is in ${JSON.stringify(currency)}: only bills in USD are compared`,
    );
}

/** The kind of a quantity in a bill that separates `separates`; null if it isn't in the bill. */
export function kindWithin(kind: Kind, separates: ReadonlySet<Kind>): Kind | null {
  for (let ancestor: Kind | null = kind; ancestor !== null; ancestor = kinds[ancestor].parent)
    if (separates.has(ancestor)) return ancestor;
  return null;
}
