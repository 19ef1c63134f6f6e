/**
 * Gathers the metrics of all proxies of this supervisor when one of them is scraped. Counters and
 * histograms are added up, including those of ended proxies, so that no sum falls when a proxy is
 * replaced or dies. Gauges and summaries have the proxy's name as the label `proxy`.
 */
import {
  type MetricsMessage,
  parseMetricsMessage,
  type ReportedMetrics,
} from "../../../shared/metrics/reported-metrics.js";
import { SummedSeries } from "./summed-series.js";

/** One process of a proxy. */
export interface ProxyProcess {
  /** `proxy`, or one of several: `proxy-1`. */
  readonly name: string;
  send(message: MetricsMessage): void;
}

interface Running {
  /** Its label: its name, unless its successor has that. */
  label: string;
  /** Its last answer; null if there is none. */
  last: ReportedMetrics | null;
}

/**
 * A proxy that takes longer is stuck: its sums stay unchanged, and its other series are omitted.
 */
const answerMs = 1_000;
/** The prefix of labels of proxies that are finishing while their successors have their names. */
const finishing = "finishing";

export class GatheredMetrics {
  readonly #schedule: (ms: number, run: () => void) => void;
  readonly #onOdd: (name: string) => void;
  readonly #running = new Map<ProxyProcess, Running>();
  readonly #ended = new SummedSeries();
  /** Proxies with invalid series: each is reported once. */
  readonly #odd = new Set<string>();
  #round = 0;
  /** Proxies that haven't answered in the current round. */
  readonly #silent = new Set<ProxyProcess>();
  #gathering: Promise<ReportedMetrics> | null = null;
  #onAnswered: () => void = () => {};

  /** `onOdd` reports that invalid series of the proxy with that name are dropped. */
  constructor(
    schedule: (ms: number, run: () => void) => void,
    onOdd: (name: string) => void = () => {},
  ) {
    this.#schedule = schedule;
    this.#onOdd = onOdd;
  }

  /** The proxy serves from now on. */
  addProxy(proxy: ProxyProcess): void {
    for (const running of this.#running.values())
      if (running.label === proxy.name) running.label = this.#freeLabel();
    this.#running.set(proxy, { label: proxy.name, last: null });
  }

  /** Handles any message of a proxy. */
  receive(proxy: ProxyProcess, message: unknown): void {
    const parsed = parseMetricsMessage(message);
    if (parsed?.metrics === "ask") void this.#answer(proxy, parsed.id);
    const running = this.#running.get(proxy);
    if (parsed?.metrics !== "reported" || running === undefined) return;
    running.last = parsed;
    if (parsed.odd > 0 && !this.#odd.has(proxy.name)) this.#onOdd(proxy.name);
    if (parsed.odd > 0) this.#odd.add(proxy.name);
    if (parsed.id === this.#round) this.#heardOf(proxy);
  }

  /** The proxies keep running with their configuration; their metrics count the failed reload. */
  reloadFailed(): void {
    for (const proxy of this.#running.keys()) proxy.send({ metrics: "reload-failed", id: 0 });
  }

  removeProxy(proxy: ProxyProcess): void {
    const last = this.#running.get(proxy)?.last;
    this.#running.delete(proxy);
    if (last !== undefined && last !== null) this.#ended.add(last.counted);
    this.#heardOf(proxy);
  }

  async #answer(proxy: ProxyProcess, id: number): Promise<void> {
    this.#gathering ??= this.#gather();
    proxy.send({ metrics: "all", id, ...(await this.#gathering) });
  }

  async #gather(): Promise<ReportedMetrics> {
    const id = ++this.#round;
    this.#silent.clear();
    const answered = new Promise<void>((resolve) => {
      this.#onAnswered = resolve;
      this.#schedule(answerMs, resolve);
    });
    for (const proxy of this.#running.keys()) {
      this.#silent.add(proxy);
      proxy.send({ metrics: "report", id });
    }
    await answered;
    this.#gathering = null;
    const sums = this.#ended.copy();
    for (const { last } of this.#running.values()) if (last !== null) sums.add(last.counted);
    return { counted: sums.series(), read: this.#read() };
  }

  #heardOf(proxy: ProxyProcess): void {
    this.#silent.delete(proxy);
    if (this.#silent.size === 0) this.#onAnswered();
  }

  /** The gauges and summaries of the proxies that have answered. */
  #read(): ReportedMetrics["read"] {
    return [...this.#running].flatMap(([proxy, { label, last }]) => {
      if (last === null || this.#silent.has(proxy)) return [];
      // A single proxy needs no label.
      const proxyLabel = label === "proxy" ? "" : label;
      return last.read.map(
        ([name, labels, values]) => [name, [...labels, proxyLabel], values] as const,
      );
    });
  }

  #freeLabel(): string {
    const usedLabels = new Set([...this.#running.values()].map(({ label }) => label));
    for (let i = 1; ; i++) if (!usedLabels.has(`${finishing}-${i}`)) return `${finishing}-${i}`;
  }
}
