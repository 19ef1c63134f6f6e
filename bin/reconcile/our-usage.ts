/** Adds up usage records by UTC day, project, model, tier and region, for the comparison. Pure. */
import { isAbsent } from "../../shared/checked.js";
import type { ExportedRecord } from "../../shared/export/exported-record.js";
import { type Pico, readAmount } from "./amount.js";
import { type Group, groups, type Kind, kindNames, regionOf, tierOf } from "./bill.js";

export interface UsageRow {
  readonly day: string;
  /** The bill's project that the provider key is paired with; null without pairs. */
  readonly project: string | null;
  readonly model: string;
  readonly tier: string;
  readonly region: string;
  /** As the provider counts them: lost attempts and responses of sessions included. */
  readonly requests: number;
  readonly quantities: Readonly<Partial<Record<Kind, number>>>;
  /** The part of the quantities in records without a cost. */
  readonly unpriced: Readonly<Partial<Record<Kind, number>>>;
  /** The part of the quantities that is an estimate. */
  readonly estimated: Readonly<Partial<Record<Kind, number>>>;
  /** The tokens by which estimates and lost answers may be too low. */
  readonly estimateRoom: number;
  /** Requests without an answer, which the provider may bill all the same. Not in `requests`. */
  readonly lostRequests: number;
  readonly costs: Readonly<Record<Group, Pico>>;
}

interface Sum {
  requests: number;
  readonly quantities: Partial<Record<Kind, number>>;
  readonly unpriced: Partial<Record<Kind, number>>;
  readonly estimated: Partial<Record<Kind, number>>;
  estimateRoom: number;
  lostRequests: number;
  readonly costs: Record<Group, Pico>;
}

/** Records go in one by one; there may be millions. */
export class UsageSums {
  readonly #sums = new Map<string, Sum>();
  readonly #providers: ReadonlySet<string>;
  readonly #days: ReadonlySet<string>;
  readonly #keys: ReadonlyMap<string, string | null>;
  /** The records that counted. */
  records = 0;
  /** The keys of `keys` that had records. */
  readonly seenKeys = new Set<string>();

  /** @param keys by name of the provider's key, the project it is paired with; empty: all keys */
  constructor(
    providers: readonly string[],
    {
      days,
      keys,
    }: { readonly days: readonly string[]; readonly keys: ReadonlyMap<string, string | null> },
  ) {
    this.#providers = new Set(providers);
    this.#days = new Set(days);
    this.#keys = keys;
  }

  add(record: ExportedRecord): void {
    const day = String(record["time"]).slice(0, 10);
    if (!this.#providers.has(String(record["provider"])) || !this.#days.has(day)) return;
    // A provider's only key may have no name: then the provider's names it.
    const name = String(record["provider_key"] ?? record["provider"]);
    const project = this.#keys.get(name);
    if (this.#keys.size > 0 && project === undefined) return;
    // The response cache answered: the provider bills nothing.
    if (record["cache_hit"] === true) return;
    this.records++;
    this.seenKeys.add(name);
    const { model, service_tier: tier, region } = record;
    const key = JSON.stringify([
      day,
      project ?? null,
      model ?? "(none)",
      tierOf(tier),
      regionOf(region),
    ]);
    const sum = this.#sums.get(key) ?? emptySum();
    this.#sums.set(key, sum);
    addRecord(sum, record);
  }

  rows(): readonly UsageRow[] {
    return [...this.#sums].map(([key, sum]) => {
      const [day, project, model, tier, region] = JSON.parse(key) as [
        string,
        string | null,
        string,
        string,
        string,
      ];
      return { day, project, model, tier, region, ...sum };
    });
  }
}

function emptySum(): Sum {
  return {
    requests: 0,
    quantities: {},
    unpriced: {},
    estimated: {},
    estimateRoom: 0,
    lostRequests: 0,
    costs: { input: 0n, output: 0n, units: 0n, tools: 0n },
  };
}

function addRecord(sum: Sum, record: ExportedRecord): void {
  const count = (name: keyof ExportedRecord): number =>
    typeof record[name] === "number" ? (record[name] as number) : 0;
  const total = count("total_tokens");
  // A record that reverses an estimate isn't a request, nor is one that books the difference of a
  // repriced record. The record that replaces the estimate is.
  if (total < 0) sum.requests--;
  else if (isAbsent(record["corrects"]) && (count("status") < 400 || total > 0)) sum.requests++;
  else if (count("tokens_at_most") > 0) sum.lostRequests++;
  const quantities = quantitiesOf(count);
  addTo(sum.quantities, quantities);
  const costs = costsOf(record, quantities);
  if (costs === null) {
    if (isAbsent(record["repriced_cost"])) addTo(sum.unpriced, quantities);
  } else for (const group of groups) sum.costs[group] += costs[group];
  if (record["estimated"] === true) addTo(sum.estimated, quantities);
  // Both are negative in a record that takes an estimate back.
  if (!isAbsent(record["tokens_at_most"])) sum.estimateRoom += count("tokens_at_most") - total;
}

function addTo(
  sum: Partial<Record<Kind, number>>,
  quantities: Readonly<Partial<Record<Kind, number>>>,
): void {
  for (const kind of kindNames) {
    const quantity = quantities[kind] ?? 0;
    if (quantity !== 0) sum[kind] = (sum[kind] ?? 0) + quantity;
  }
}

/** Each token is in one kind; cached audio is cached input. */
function quantitiesOf(
  count: (name: keyof ExportedRecord) => number,
): Readonly<Partial<Record<Kind, number>>> {
  const cached = count("cached_input_tokens");
  const written = count("cache_write_input_tokens");
  const writtenFor1h = count("cache_write_1h_input_tokens");
  const writtenFor12h = count("cache_write_12h_input_tokens");
  const audio = count("audio_input_tokens") - count("cached_audio_input_tokens");
  const image = count("image_input_tokens") - count("cached_image_input_tokens");
  return {
    input: count("input_tokens") - cached - written - audio - image,
    cached_input: cached,
    cache_write: written - writtenFor1h - writtenFor12h,
    cache_write_1h: writtenFor1h,
    cache_write_12h: writtenFor12h,
    audio_input: audio,
    image_input: image,
    output: count("output_tokens") - count("audio_output_tokens") - count("image_output_tokens"),
    audio_output: count("audio_output_tokens"),
    image_output: count("image_output_tokens"),
    images: count("images"),
    audio_seconds: count("audio_ms") / 1000,
    characters: count("characters"),
    pages: count("pages"),
    search_units: count("search_units"),
    web_searches: count("web_searches"),
    file_searches: count("file_searches"),
    maps_searches: count("maps_searches"),
    containers: count("containers"),
  };
}

/** Null if unpriced. A cost that isn't for tokens is a tool's fee if the record used a tool. */
function costsOf(
  record: ExportedRecord,
  quantities: Readonly<Partial<Record<Kind, number>>>,
): Readonly<Record<Group, Pico>> | null {
  const total = readAmount(record["total_cost"])?.pico ?? null;
  if (total === null) return null;
  const input = readAmount(record["input_cost"])?.pico ?? 0n;
  const output = readAmount(record["output_cost"])?.pico ?? 0n;
  const { web_searches = 0, file_searches = 0, maps_searches = 0, containers = 0 } = quantities;
  const rest = total - input - output;
  const hasTool = web_searches + file_searches + maps_searches + containers > 0;
  return { input, output, units: hasTool ? 0n : rest, tools: hasTool ? rest : 0n };
}
