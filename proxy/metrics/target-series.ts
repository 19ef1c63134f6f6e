/**
 * The series of each target, looked up once per request. A set of labels gets its series when it is
 * first counted.
 */
import type { ProviderType } from "../../shared/config/provider-type.js";
import type { Target } from "../../shared/domain/target-name.js";
import { proxyMetrics } from "../../shared/metrics/proxy-metrics.js";
import type { Series, SeriesTable } from "../../shared/metrics/series.js";
import { type ModelLabels, other } from "./bounded-labels.js";
import { providerName } from "./gen-ai-names.js";

const {
  requests,
  tokens,
  cost,
  unpriced,
  unknownTokens,
  operationDuration,
  firstChunk,
  tokenUsage,
} = proxyMetrics;

const tokenTypes = ["input", "cached_input", "cache_write_input", "output"] as const;

/** The series of one target; the target with empty names is for requests that reached none. */
export class TargetSeries {
  readonly #table: SeriesTable;
  readonly #provider: string;
  readonly #providerName: string;
  readonly #model: string;
  readonly #byPath = new Map<string, PathSeries>();
  readonly #generations = new Map<string, GenerationSeries>();
  #unpriced: Series | null = null;
  #unknownTokens: Series | null = null;

  constructor(table: SeriesTable, provider: string, type: ProviderType | null, model: string) {
    this.#table = table;
    this.#provider = provider;
    this.#providerName = type === null ? "" : providerName(type);
    this.#model = model;
  }

  /** `path`: the label of the user path. */
  at(path: string): PathSeries {
    let found = this.#byPath.get(path);
    if (found === undefined) {
      found = new PathSeries(this.#table, [this.#provider, this.#model, path]);
      this.#byPath.set(path, found);
    }
    return found;
  }

  /** `operation`: its name in the conventions. */
  generation(operation: string): GenerationSeries {
    let found = this.#generations.get(operation);
    if (found === undefined) {
      found = new GenerationSeries(this.#table, [operation, this.#providerName, this.#model]);
      this.#generations.set(operation, found);
    }
    return found;
  }

  get unknownTokens(): Series {
    this.#unknownTokens ??= this.#table.add(unknownTokens, [this.#provider, this.#model]);
    return this.#unknownTokens;
  }

  get unpriced(): Series {
    this.#unpriced ??= this.#table.add(unpriced, [this.#provider, this.#model]);
    return this.#unpriced;
  }
}

/** The series of one target and, if paths have labels, one user path. */
class PathSeries {
  readonly #table: SeriesTable;
  readonly #labels: readonly string[];
  readonly #requests = new Map<string, Map<number, Series>>();
  readonly #tokens: (Series | undefined)[] = [];
  #cost: Series | null = null;

  constructor(table: SeriesTable, labels: readonly string[]) {
    this.#table = table;
    this.#labels = labels;
  }

  /** `stream`: null if unknown. */
  requests(endpoint: string, code: number, stream: boolean | null): Series {
    let ofEndpoint = this.#requests.get(endpoint);
    if (ofEndpoint === undefined) {
      ofEndpoint = new Map();
      this.#requests.set(endpoint, ofEndpoint);
    }
    const key = stream === null ? code : stream ? code + 1000 : code + 2000;
    let found = ofEndpoint.get(key);
    if (found === undefined) {
      const labels = [endpoint, ...this.#labels, String(code), stream === null ? "" : `${stream}`];
      found = this.#table.add(requests, labels);
      ofEndpoint.set(key, found);
    }
    return found;
  }

  /** `type`: the index in `tokenTypes`. */
  tokens(type: number, estimated: boolean): Series {
    const key = estimated ? type + tokenTypes.length : type;
    let found = this.#tokens[key];
    if (found === undefined) {
      found = this.#table.add(tokens, [...this.#labels, tokenTypes[type]!, String(estimated)]);
      this.#tokens[key] = found;
    }
    return found;
  }

  get cost(): Series {
    this.#cost ??= this.#table.add(cost, this.#labels);
    return this.#cost;
  }
}

/** The series of one operation at one target, by the conventions for generative AI. */
class GenerationSeries {
  readonly #table: SeriesTable;
  readonly #labels: readonly string[];
  readonly #durations = new Map<string, Series>();
  #firstChunk: Series | null = null;
  #input: Series | null = null;
  #output: Series | null = null;

  constructor(table: SeriesTable, labels: readonly string[]) {
    this.#table = table;
    this.#labels = labels;
  }

  /** `errorType`: empty for an answer. */
  duration(errorType: string): Series {
    let found = this.#durations.get(errorType);
    if (found === undefined) {
      found = this.#table.add(operationDuration, [...this.#labels, errorType]);
      this.#durations.set(errorType, found);
    }
    return found;
  }

  get firstChunk(): Series {
    this.#firstChunk ??= this.#table.add(firstChunk, this.#labels);
    return this.#firstChunk;
  }

  get input(): Series {
    this.#input ??= this.#table.add(tokenUsage, [...this.#labels, "input"]);
    return this.#input;
  }

  get output(): Series {
    this.#output ??= this.#table.add(tokenUsage, [...this.#labels, "output"]);
    return this.#output;
  }
}

/** The targets of a proxy by their labels. */
export class TargetIndex {
  readonly #table: SeriesTable;
  readonly #models: ModelLabels;
  readonly #typeOf: (provider: string) => ProviderType | null;
  readonly #byProvider = new Map<string, Map<string, TargetSeries>>();

  constructor(
    table: SeriesTable,
    models: ModelLabels,
    typeOf: (provider: string) => ProviderType | null,
  ) {
    this.#table = table;
    this.#models = models;
    this.#typeOf = typeOf;
  }

  /** Null if the request reached no target. `answered`: see `ModelLabels`. */
  of(target: Target | null, answered: boolean): TargetSeries {
    if (target === null) return this.#at("", "");
    // The name is nearly always its own label.
    const found = this.#byProvider.get(target.provider)?.get(target.model);
    if (found !== undefined && target.model !== other) return found;
    return this.#at(target.provider, this.#models.labelOf(target, answered));
  }

  #at(provider: string, label: string): TargetSeries {
    let ofProvider = this.#byProvider.get(provider);
    if (ofProvider === undefined) {
      ofProvider = new Map();
      this.#byProvider.set(provider, ofProvider);
    }
    let found = ofProvider.get(label);
    if (found === undefined) {
      found = new TargetSeries(this.#table, provider, this.#typeOf(provider), label);
      ofProvider.set(label, found);
    }
    return found;
  }
}
