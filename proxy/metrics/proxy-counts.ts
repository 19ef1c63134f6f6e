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
import type { Forwarded } from "../upstream/forwarded.js";
import type { Usage } from "../usage/usage.js";
import { ModelLabels, PathLabels } from "./bounded-labels.js";
import { errorType, operationName } from "./gen-ai-names.js";
import { TargetIndex, type TargetSeries } from "./target-series.js";

interface TargetPorts {
  /** See `ModelLabels`. */
  readonly isVouchedFor: (target: Target) => boolean;
  /** Null if no such provider is configured. */
  readonly typeOf: (provider: string) => ProviderType | null;
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
  readonly answered: boolean;
}

/** One attempt at one target. */
export interface EndedAttempt {
  readonly target: Target;
  readonly operation: Operation;
  readonly stream: boolean;
  readonly startedMonoMs: number;
  readonly endedMonoMs: number;
  readonly forwarded: Pick<
    Forwarded,
    "status" | "outcome" | "usage" | "estimated" | "firstByteMonoMs"
  >;
}

/** Why a stream was cut, or by whom. */
type StreamCut = "client" | "upstream" | "deadline" | "shutdown";

export interface Refused {
  readonly reason: "rate_limit" | "concurrency" | "budget" | "denied" | "limiter_unavailable";
  /** The scope of the rule or the budget; otherwise empty. */
  readonly scope: string;
  readonly dimension: string;
}

/** All other methods share one label. */
const methods: readonly string[] = ["POST", "GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** One series per text, created at its first use. */
class Labelled {
  readonly #series = new Map<string, Series>();
  readonly #add: (key: string) => Series;

  constructor(add: (key: string) => Series) {
    this.#add = add;
  }

  of(key: string): Series {
    let found = this.#series.get(key);
    if (found === undefined) {
      found = this.#add(key);
      this.#series.set(key, found);
    }
    return found;
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
  readonly #refused: Labelled;
  readonly #failovers: Labelled;
  readonly #cuts: Labelled;
  readonly #cache: Labelled;
  readonly #spans: Labelled;
  /** By target name. */
  readonly #circuits: Labelled;
  readonly #models: ModelLabels;
  readonly #admission: Series;
  readonly #overhead: Series;
  #cutByStop = 0;
  readonly #saved: Series;

  constructor({ isVouchedFor, typeOf }: TargetPorts, { seriesMax, pathDepth }: CountsOptions) {
    const table = new SeriesTable(Object.values(proxyMetrics), seriesMax);
    this.table = table;
    this.#models = new ModelLabels(isVouchedFor);
    this.#targets = new TargetIndex(table, this.#models, typeOf);
    const ofPaths = [proxyMetrics.requests, proxyMetrics.tokens, proxyMetrics.cost];
    this.#paths = new PathLabels(pathDepth, () => ofPaths.every((each) => table.isRoomy(each)));
    this.#refused = new Labelled((key) => table.add(proxyMetrics.refused, key.split("\n")));
    this.#failovers = new Labelled((key) => table.add(proxyMetrics.failovers, key.split("\n")));
    this.#cuts = new Labelled((key) => table.add(proxyMetrics.streamsCut, [key]));
    this.#cache = new Labelled((key) => table.add(proxyMetrics.cacheRequests, [key]));
    this.#spans = new Labelled((key) => table.add(proxyMetrics.spans, [key]));
    this.#circuits = new Labelled((key) => table.add(proxyMetrics.openCircuits, key.split("\n")));
    this.#admission = table.of(proxyMetrics.admission);
    this.#overhead = table.of(proxyMetrics.overhead);
    this.#saved = table.of(proxyMetrics.savedTokens);
  }

  requestEnded(ended: EndedRequest): void {
    const { method, route, endpoint, status, target, userPath, stream, seconds } = ended;
    observe(this.#httpSeries(method, route, status), proxyMetrics.httpDuration.buckets, seconds);
    if (endpoint === null) return;
    const at = this.#targets.of(target, isSuccess(status)).at(this.#paths.labelOf(userPath, 1));
    count(at.requests(endpoint, status, stream));
  }

  charged({
    target,
    userPath,
    usage,
    estimated,
    cost,
    isUnpriced,
    atMost,
    answered,
  }: ChargedUsage): void {
    const series = this.#targets.of(target, answered);
    const at = series.at(this.#paths.labelOf(userPath, 0));
    const { inputTokens, cachedInputTokens, cacheWriteInputTokens, outputTokens } = usage;
    const plain = Math.max(0, inputTokens - cachedInputTokens - cacheWriteInputTokens);
    if (plain > 0) count(at.tokens(0, estimated), plain);
    if (cachedInputTokens > 0) count(at.tokens(1, estimated), cachedInputTokens);
    if (cacheWriteInputTokens > 0) count(at.tokens(2, estimated), cacheWriteInputTokens);
    if (outputTokens > 0) count(at.tokens(3, estimated), outputTokens);
    if (cost !== null) count(at.cost, costUsd(cost));
    if (isUnpriced) count(series.unpriced);
    if (atMost !== null) count(series.unknownTokens, atMost.totalTokens);
  }

  attemptEnded(attempt: EndedAttempt): void {
    const { target, operation, stream, startedMonoMs, endedMonoMs, forwarded } = attempt;
    const { status, outcome, usage, estimated, firstByteMonoMs } = forwarded;
    const isAnswered = outcome === "complete" && isSuccess(status);
    const of: TargetSeries = this.#targets.of(target, isAnswered);
    const series = of.generation(operationName(operation));
    const { operationDuration, firstChunk, tokenUsage } = proxyMetrics;
    const seconds = (endedMonoMs - startedMonoMs) / 1000;
    observe(series.duration(errorType(forwarded)), operationDuration.buckets, seconds);
    if (stream && firstByteMonoMs !== null && isSuccess(status))
      observe(series.firstChunk, firstChunk.buckets, (firstByteMonoMs - startedMonoMs) / 1000);
    if (usage === null || estimated) return;
    observe(series.input, tokenUsage.buckets, usage.inputTokens);
    observe(series.output, tokenUsage.buckets, usage.outputTokens);
  }

  refused({ reason, scope, dimension }: Refused): void {
    count(this.#refused.of(`${reason}\n${scope}\n${dimension}`));
  }

  /** `ms`: how long the daemon took to give its verdict. */
  judged(ms: number): void {
    observe(this.#admission, proxyMetrics.admission.buckets, ms / 1000);
  }

  /**
   * A request is about to be sent to its first target; `ms`: the time that the proxy itself took.
   */
  prepared(ms: number): void {
    observe(this.#overhead, proxyMetrics.overhead.buckets, Math.max(0, ms) / 1000);
  }

  /** `reason`: the provider's status, or `no_answer`. */
  failedOver(from: Target, reason: string): void {
    count(this.#failovers.of(`${from.provider}\n${reason}`));
  }

  /** Sets the targets with an open circuit; those without a label are counted. */
  circuitsAreOpen(targets: readonly Target[]): void {
    for (const { values } of this.#circuits.all()) values[0] = 0;
    for (const target of targets)
      count(this.#circuits.of(`${target.provider}\n${this.#models.labelOf(target, false)}`));
  }

  /** The number of requests cut by the stop of the proxy. */
  get cutByStop(): number {
    return this.#cutByStop;
  }

  cutByItsStop(): void {
    this.#cutByStop++;
  }

  streamCut(by: StreamCut): void {
    count(this.#cuts.of(by));
  }

  cacheAsked(result: "hit" | "miss"): void {
    count(this.#cache.of(result));
  }

  spansEnded(result: "exported" | "failed" | "dropped", spans: number): void {
    count(this.#spans.of(result), spans);
  }

  tokensSaved(tokens: number): void {
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
    let found = ofRoute.get(key);
    if (found === undefined) {
      const labels = [methods[place] ?? "_OTHER", route, String(status)];
      found = this.table.add(proxyMetrics.httpDuration, labels);
      ofRoute.set(key, found);
    }
    return found;
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}
