/**
 * Counts the requests of a proxy (docs/reference/metrics.md), with one call per event. Values that
 * can be read at a scrape, such as memory, are in `read-gauges.ts`.
 */
import type { ProviderType } from "../../shared/config/provider-type.js";
import { costUsd, type PicoUsd } from "../../shared/domain/money.js";
import type { Target } from "../../shared/domain/target-name.js";
import { proxyMetrics } from "../../shared/metrics/proxy-metrics.js";
import { count, observe, type Series, SeriesTable } from "../../shared/metrics/series.js";
import type { Operation } from "../../shared/operation.js";
import type { ForwardResult } from "../upstream/forwarded.js";
import type { Usage } from "../usage/usage.js";
import {
  errorType,
  ModelLabels,
  operationName,
  other,
  PathLabels,
  providerName,
} from "./labels.js";

interface TargetPorts {
  /** See `ModelLabels`. */
  readonly isVouchedFor: (target: Target) => boolean;
  /** By the names of the configured providers. */
  readonly types: ReadonlyMap<string, ProviderType>;
}

interface CountsOptions {
  readonly seriesMax: number;
  /** Number of segments of user paths in labels; 0 for none. */
  readonly pathDepth: number;
}

/** An HTTP request that has ended. */
interface EndedRequest {
  readonly method: string;
  /** Its path with placeholders for variable parts; empty if there is no such endpoint. */
  readonly route: string;
  /** The endpoint of a request to a model; null for other requests. */
  readonly endpoint: string | null;
  readonly status: number;
  readonly target: Target | null;
  readonly userPath: string | null;
  /** Null if unknown. */
  readonly stream: boolean | null;
  readonly seconds: number;
}

/** The usage of a request or a part of it. */
interface ChargedUsage {
  readonly target: Target;
  readonly userPath: string | null;
  readonly usage: Usage;
  readonly estimated: boolean;
  /** Null if it has no price, or usage is off. */
  readonly cost: PicoUsd | null;
  readonly isUnpriced: boolean;
  /** The highest possible usage; null if the usage is known. */
  readonly atMost: Usage | null;
  readonly isAnswered: boolean;
}

/** One attempt at one target. */
export interface EndedAttempt {
  readonly target: Target;
  readonly operation: Operation;
  readonly stream: boolean;
  readonly startedMonoMs: number;
  readonly endedMonoMs: number;
  readonly forwarded: Pick<
    ForwardResult,
    "status" | "outcome" | "usage" | "estimated" | "firstByteMonoMs" | "hasTimedOut" | "error"
  >;
}

/** Why a stream was cut, or by whom. */
type StreamCut = "client" | "upstream" | "deadline" | "shutdown" | "hard_cap";

export interface RefusalLabels {
  readonly reason: "rate_limit" | "concurrency" | "budget" | "denied" | "limiter_unavailable";
  /** The scope of the rule or the budget; otherwise empty. */
  readonly scope: string;
  readonly dimension: string;
}

/** All other methods share one label. */
const methods: readonly string[] = ["POST", "GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** Callers choose the names of MCP servers that providers connect to. */
const toolLabelsMax = 200;

/** One series per text, created at its first use. */
class LabelledSeries {
  readonly #series = new Map<string, Series>();
  readonly #add: (key: string) => Series;

  constructor(add: (key: string) => Series) {
    this.#add = add;
  }

  seriesOf(key: string): Series {
    let existing = this.#series.get(key);
    if (existing === undefined) {
      existing = this.#add(key);
      this.#series.set(key, existing);
    }
    return existing;
  }

  all(): Iterable<Series> {
    return this.#series.values();
  }
}

export class ProxyCounts {
  readonly table: SeriesTable;
  readonly #targets: TargetIndex;
  readonly #paths: PathLabels;
  readonly #routes = new Map<string, Map<number, Series>>();
  readonly #refused: LabelledSeries;
  readonly #failovers: LabelledSeries;
  readonly #cuts: LabelledSeries;
  readonly #cache: LabelledSeries;
  readonly #spans: LabelledSeries;
  readonly #loops: LabelledSeries;
  readonly #tools: LabelledSeries;
  readonly #toolNames = new Set<string>();
  /** By target name. */
  readonly #circuits: LabelledSeries;
  readonly #models: ModelLabels;
  readonly #admission: Series;
  readonly #overhead: Series;
  #cutByStop = 0;
  readonly #saved: Series;

  constructor({ isVouchedFor, types }: TargetPorts, { seriesMax, pathDepth }: CountsOptions) {
    const table = new SeriesTable(Object.values(proxyMetrics), seriesMax);
    this.table = table;
    this.#models = new ModelLabels(isVouchedFor);
    this.#targets = new TargetIndex(table, this.#models, types);
    const metricsByPath = [proxyMetrics.requests, proxyMetrics.tokens, proxyMetrics.cost];
    this.#paths = new PathLabels(pathDepth, () =>
      metricsByPath.every((metric) => table.isRoomy(metric)),
    );
    this.#refused = new LabelledSeries((key) => table.add(proxyMetrics.refused, key.split("\n")));
    this.#failovers = new LabelledSeries((key) =>
      table.add(proxyMetrics.failovers, key.split("\n")),
    );
    this.#cuts = new LabelledSeries((key) => table.add(proxyMetrics.streamsCut, [key]));
    this.#cache = new LabelledSeries((key) => table.add(proxyMetrics.cacheRequests, [key]));
    this.#spans = new LabelledSeries((key) => table.add(proxyMetrics.spans, [key]));
    this.#loops = new LabelledSeries((key) => table.add(proxyMetrics.loops, [key]));
    this.#tools = new LabelledSeries((key) => table.add(proxyMetrics.toolCalls, [key]));
    this.#circuits = new LabelledSeries((key) =>
      table.add(proxyMetrics.openCircuits, key.split("\n")),
    );
    this.#admission = table.unlabelled(proxyMetrics.admission);
    this.#overhead = table.unlabelled(proxyMetrics.overhead);
    this.#saved = table.unlabelled(proxyMetrics.savedTokens);
  }

  countRequest(ended: EndedRequest): void {
    const { method, route, endpoint, status, target, userPath, stream, seconds } = ended;
    observe(this.#httpSeries(method, route, status), proxyMetrics.httpDuration.buckets, seconds);
    if (endpoint === null) return;
    const series = this.#targets
      .seriesOf(target, isSuccess(status))
      .seriesOfPath(this.#paths.labelOf(userPath, 1));
    count(series.requests(endpoint, status, stream));
  }

  countCharge({
    target,
    userPath,
    usage,
    estimated,
    cost,
    isUnpriced,
    atMost,
    isAnswered,
  }: ChargedUsage): void {
    const series = this.#targets.seriesOf(target, isAnswered);
    const pathSeries = series.seriesOfPath(this.#paths.labelOf(userPath, 0));
    const { inputTokens, cachedInputTokens, cacheWriteInputTokens, outputTokens } = usage;
    const plain = Math.max(0, inputTokens - cachedInputTokens - cacheWriteInputTokens);
    if (plain > 0) count(pathSeries.tokens("input", estimated), plain);
    if (cachedInputTokens > 0)
      count(pathSeries.tokens("cached_input", estimated), cachedInputTokens);
    if (cacheWriteInputTokens > 0)
      count(pathSeries.tokens("cache_write_input", estimated), cacheWriteInputTokens);
    if (outputTokens > 0) count(pathSeries.tokens("output", estimated), outputTokens);
    if (cost !== null) count(pathSeries.cost, costUsd(cost));
    if (isUnpriced) count(series.unpriced);
    if (atMost !== null) count(series.unknownTokens, atMost.totalTokens);
  }

  countAttempt(attempt: EndedAttempt): void {
    const { target, operation, stream, startedMonoMs, endedMonoMs, forwarded } = attempt;
    const { status, outcome, usage, estimated, firstByteMonoMs } = forwarded;
    const isAnswered = outcome === "complete" && isSuccess(status);
    const targetSeries = this.#targets.seriesOf(target, isAnswered);
    const series = targetSeries.generation(operationName(operation));
    const { operationDuration, firstChunk, tokenUsage } = proxyMetrics;
    const seconds = (endedMonoMs - startedMonoMs) / 1000;
    observe(series.duration(errorType(forwarded)), operationDuration.buckets, seconds);
    if (stream && firstByteMonoMs !== null && isSuccess(status))
      observe(series.firstChunk, firstChunk.buckets, (firstByteMonoMs - startedMonoMs) / 1000);
    if (usage === null || estimated) return;
    observe(series.input, tokenUsage.buckets, usage.inputTokens);
    observe(series.output, tokenUsage.buckets, usage.outputTokens);
  }

  countRefusal({ reason, scope, dimension }: RefusalLabels): void {
    count(this.#refused.seriesOf(`${reason}\n${scope}\n${dimension}`));
  }

  /** `ms`: how long the daemon took to give its verdict. */
  observeVerdict(ms: number): void {
    observe(this.#admission, proxyMetrics.admission.buckets, ms / 1000);
  }

  /**
   * A request is about to be sent to its first target; `ms`: the time that the proxy itself took.
   */
  observePreparation(ms: number): void {
    observe(this.#overhead, proxyMetrics.overhead.buckets, Math.max(0, ms) / 1000);
  }

  /** `reason`: the provider's status, or `no_answer`. */
  failedOver(from: Target, reason: string): void {
    count(this.#failovers.seriesOf(`${from.provider}\n${reason}`));
  }

  /** Sets the targets with an open circuit; those without a label are counted. */
  circuitsAreOpen(targets: readonly Target[]): void {
    for (const { values } of this.#circuits.all()) values[0] = 0;
    for (const target of targets)
      count(this.#circuits.seriesOf(`${target.provider}\n${this.#models.labelOf(target, false)}`));
  }

  /** The number of requests cut by the stop of the proxy. */
  get cutByStop(): number {
    return this.#cutByStop;
  }

  cutByShutdown(): void {
    this.#cutByStop++;
  }

  countCutStream(by: StreamCut): void {
    count(this.#cuts.seriesOf(by));
  }

  countCacheLookup(result: "hit" | "miss"): void {
    count(this.#cache.seriesOf(result));
  }

  countSpans(result: "exported" | "failed" | "dropped", spans: number): void {
    count(this.#spans.seriesOf(result), spans);
  }

  countToolCalls(tool: string, calls: number): void {
    const { size } = this.#toolNames;
    if (size < toolLabelsMax) this.#toolNames.add(tool);
    count(this.#tools.seriesOf(this.#toolNames.has(tool) ? tool : other), calls);
  }

  countLoop(action: "warned" | "refused"): void {
    count(this.#loops.seriesOf(action));
  }

  countSavedTokens(tokens: number): void {
    count(this.#saved, tokens);
  }

  #httpSeries(method: string, route: string, status: number): Series {
    let ofRoute = this.#routes.get(route);
    if (ofRoute === undefined) {
      ofRoute = new Map();
      this.#routes.set(route, ofRoute);
    }
    const place = methods.indexOf(method);
    const key = place * 1000 + status;
    let existing = ofRoute.get(key);
    if (existing === undefined) {
      const labels = [methods[place] ?? "_OTHER", route, String(status)];
      existing = this.table.add(proxyMetrics.httpDuration, labels);
      ofRoute.set(key, existing);
    }
    return existing;
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

type TokenType = "input" | "cached_input" | "cache_write_input" | "output";

/**
 * The series of one target, each looked up once per request and created when it is first counted.
 * The target with empty names is for requests that reached none. */
class TargetSeries {
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
  seriesOfPath(path: string): PathSeries {
    let existing = this.#byPath.get(path);
    if (existing === undefined) {
      existing = new PathSeries(this.#table, [this.#provider, this.#model, path]);
      this.#byPath.set(path, existing);
    }
    return existing;
  }

  /** `operation`: its name in the conventions. */
  generation(operation: string): GenerationSeries {
    let existing = this.#generations.get(operation);
    if (existing === undefined) {
      existing = new GenerationSeries(this.#table, [operation, this.#providerName, this.#model]);
      this.#generations.set(operation, existing);
    }
    return existing;
  }

  get unknownTokens(): Series {
    this.#unknownTokens ??= this.#table.add(proxyMetrics.unknownTokens, [
      this.#provider,
      this.#model,
    ]);
    return this.#unknownTokens;
  }

  get unpriced(): Series {
    this.#unpriced ??= this.#table.add(proxyMetrics.unpriced, [this.#provider, this.#model]);
    return this.#unpriced;
  }
}

/** The series of one target and, if paths have labels, one user path. */
class PathSeries {
  readonly #table: SeriesTable;
  readonly #labels: readonly string[];
  readonly #requests = new Map<string, Map<number, Series>>();
  readonly #reportedTokens = new Map<TokenType, Series>();
  readonly #estimatedTokens = new Map<TokenType, Series>();
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
    let existing = ofEndpoint.get(key);
    if (existing === undefined) {
      const labels = [endpoint, ...this.#labels, String(code), stream === null ? "" : `${stream}`];
      existing = this.#table.add(proxyMetrics.requests, labels);
      ofEndpoint.set(key, existing);
    }
    return existing;
  }

  tokens(type: TokenType, estimated: boolean): Series {
    const byType = estimated ? this.#estimatedTokens : this.#reportedTokens;
    let existing = byType.get(type);
    if (existing === undefined) {
      existing = this.#table.add(proxyMetrics.tokens, [...this.#labels, type, String(estimated)]);
      byType.set(type, existing);
    }
    return existing;
  }

  get cost(): Series {
    this.#cost ??= this.#table.add(proxyMetrics.cost, this.#labels);
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
    let existing = this.#durations.get(errorType);
    if (existing === undefined) {
      existing = this.#table.add(proxyMetrics.operationDuration, [...this.#labels, errorType]);
      this.#durations.set(errorType, existing);
    }
    return existing;
  }

  get firstChunk(): Series {
    this.#firstChunk ??= this.#table.add(proxyMetrics.firstChunk, this.#labels);
    return this.#firstChunk;
  }

  get input(): Series {
    this.#input ??= this.#table.add(proxyMetrics.tokenUsage, [...this.#labels, "input"]);
    return this.#input;
  }

  get output(): Series {
    this.#output ??= this.#table.add(proxyMetrics.tokenUsage, [...this.#labels, "output"]);
    return this.#output;
  }
}

/** The targets of a proxy by their labels. */
class TargetIndex {
  readonly #table: SeriesTable;
  readonly #models: ModelLabels;
  readonly #types: ReadonlyMap<string, ProviderType>;
  readonly #byProvider = new Map<string, Map<string, TargetSeries>>();

  constructor(table: SeriesTable, models: ModelLabels, types: ReadonlyMap<string, ProviderType>) {
    this.#table = table;
    this.#models = models;
    this.#types = types;
  }

  /** Null if the request reached no target. `isAnswered`: see `ModelLabels`. */
  seriesOf(target: Target | null, isAnswered: boolean): TargetSeries {
    if (target === null) return this.#seriesOfTarget("", "");
    // The name is nearly always its own label.
    const existing = this.#byProvider.get(target.provider)?.get(target.model);
    if (existing !== undefined && target.model !== other) return existing;
    return this.#seriesOfTarget(target.provider, this.#models.labelOf(target, isAnswered));
  }

  #seriesOfTarget(provider: string, label: string): TargetSeries {
    let ofProvider = this.#byProvider.get(provider);
    if (ofProvider === undefined) {
      ofProvider = new Map();
      this.#byProvider.set(provider, ofProvider);
    }
    let existing = ofProvider.get(label);
    if (existing === undefined) {
      existing = new TargetSeries(this.#table, provider, this.#types.get(provider) ?? null, label);
      ofProvider.set(label, existing);
    }
    return existing;
  }
}
