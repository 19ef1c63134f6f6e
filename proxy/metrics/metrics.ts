/** The metrics of a proxy as its request handlers know them. */
import type { Family } from "../../shared/metrics/series.js";
import type { ToldMetrics } from "../../shared/metrics/told-metrics.js";
import type { ProxyCounts } from "./proxy-counts.js";

export interface Metrics {
  readonly counts: ProxyCounts;
  /** The configuration couldn't be read again. */
  reloadFailed(): void;
  /**
   * All of them as they are now, with those of the other proxies of its supervisor, or of its port;
   * null if the supervisor doesn't answer.
   */
  read(): Promise<readonly Family[] | null>;
  /** Resolved after everything that waits for the event loop has run. */
  yieldToEventLoop(): Promise<void>;
  close(): void;
}

/** The proxies of one supervisor or port, whose metrics are merged. */
export interface ProxyGroup {
  /** Whether what they count is added up; if not, each series says of which process it is. */
  readonly sums: boolean;
  /**
   * The proxy serves from now on. Rejects when the others can't be told so. `onOdd` hears of
   * another one, by the name of its socket, whose answers make no sense.
   */
  serves(onOdd: (proxy: string, reason: string) => void): Promise<void>;
  /** The metrics of all; null if the supervisor doesn't answer. */
  gather(): Promise<ToldMetrics | null>;
  /**
   * How this proxy's own are read when the supervisor, or another of them, asks; and what is called
   * when the supervisor says that a reload has failed.
   */
  answerWith(own: () => Promise<ToldMetrics>, onReloadFailed: () => void): void;
  /** Sends the last metrics before the proxy leaves. */
  leave(): Promise<void>;
}
