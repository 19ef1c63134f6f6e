/**
 * The metrics of all proxies of this supervisor, gathered when one of them is scraped. What they
 * count is added up, with what those counted that have ended, so that no sum falls when a proxy is
 * replaced or dies. What a proxy reads of itself has its name as the label `proxy`.
 */
import {
  type MetricsMessage,
  parseMetricsMessage,
  type ToldMetrics,
} from "../../../shared/metrics/told-metrics.js";
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
  /** What it has told last; null: nothing yet. */
  last: ToldMetrics | null;
}

/** A proxy that takes longer is stuck: its sums stay as they were, and it has no other series. */
const answerMs = 1_000;
/** How proxies are called in labels while they finish and their successors have their names. */
const finishing = "finishing";

export class GatheredMetrics {
  readonly #schedule: (ms: number, run: () => void) => void;
  readonly #onOdd: (name: string) => void;
  readonly #running = new Map<ProxyProcess, Running>();
  readonly #ended = new SummedSeries();
  /** Names of proxies whose series made no sense: each is reported once. */
  readonly #odd = new Set<string>();
  #round = 0;
  /** Those that haven't answered yet, of the round that runs. */
  readonly #silent = new Set<ProxyProcess>();
  #gathering: Promise<ToldMetrics> | null = null;
  #onAnswered: () => void = () => {};

  /** `onOdd`: series of the proxy of that name are left out, since they make no sense. */
  constructor(
    schedule: (ms: number, run: () => void) => void,
    onOdd: (name: string) => void = () => {},
  ) {
    this.#schedule = schedule;
    this.#onOdd = onOdd;
  }

  /** It serves from now on. */
  joined(proxy: ProxyProcess): void {
    for (const running of this.#running.values())
      if (running.label === proxy.name) running.label = this.#freeLabel();
    this.#running.set(proxy, { label: proxy.name, last: null });
  }

  /** A message that it sends, whatever about. */
  said(proxy: ProxyProcess, message: unknown): void {
    const said = parseMetricsMessage(message);
    if (said?.metrics === "ask") void this.#answer(proxy, said.id);
    const running = this.#running.get(proxy);
    if (said?.metrics !== "told" || running === undefined) return;
    running.last = said;
    if (said.odd > 0 && !this.#odd.has(proxy.name)) this.#onOdd(proxy.name);
    if (said.odd > 0) this.#odd.add(proxy.name);
    if (said.id === this.#round) this.#heardOf(proxy);
  }

  /** The running proxies keep their configuration; their metrics say that a reload has failed. */
  reloadFailed(): void {
    for (const proxy of this.#running.keys()) proxy.send({ metrics: "reload-failed", id: 0 });
  }

  ended(proxy: ProxyProcess): void {
    const last = this.#running.get(proxy)?.last;
    this.#running.delete(proxy);
    if (last !== undefined && last !== null) this.#ended.add(last.counted);
    this.#heardOf(proxy);
  }

  async #answer(proxy: ProxyProcess, id: number): Promise<void> {
    this.#gathering ??= this.#gather();
    proxy.send({ metrics: "all", id, ...(await this.#gathering) });
  }

  async #gather(): Promise<ToldMetrics> {
    const id = ++this.#round;
    this.#silent.clear();
    const answered = new Promise<void>((resolve) => {
      this.#onAnswered = resolve;
      this.#schedule(answerMs, resolve);
    });
    for (const proxy of this.#running.keys()) {
      this.#silent.add(proxy);
      proxy.send({ metrics: "tell", id });
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

  /** Of those that have answered. */
  #read(): ToldMetrics["read"] {
    return [...this.#running].flatMap(([proxy, { label, last }]) => {
      if (last === null || this.#silent.has(proxy)) return [];
      // One that is alone needs no label.
      const shown = label === "proxy" ? "" : label;
      return last.read.map(([name, labels, values]) => [name, [...labels, shown], values] as const);
    });
  }

  #freeLabel(): string {
    const taken = new Set([...this.#running.values()].map(({ label }) => label));
    for (let i = 1; ; i++) if (!taken.has(`${finishing}-${i}`)) return `${finishing}-${i}`;
  }
}
