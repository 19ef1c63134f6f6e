/** The metrics of a proxy as its request handlers know them. */
import type { Family } from "../../shared/metrics/series.js";
import type { ToldMetrics } from "../../shared/metrics/told-metrics.js";
import type { ProxyCounts } from "./proxy-counts.js";

export interface Metrics {
  readonly counts: ProxyCounts;
  /**
   * All of them as they are now, with those of the other proxies of its supervisor; null: that
   * doesn't answer.
   */
  read(): Promise<readonly Family[] | null>;
  /** Resolved after everything that waits for the event loop has run. */
  yieldToEventLoop(): Promise<void>;
  close(): void;
}

/** The proxies of one supervisor, whose metrics are told together. */
export interface ProxyGroup {
  /** Those of all; null: the supervisor doesn't answer. */
  gather(): Promise<ToldMetrics | null>;
  /** How this proxy's own are read when the supervisor asks. */
  answerWith(own: () => Promise<ToldMetrics>): void;
  /** Tells them for the last time. */
  leave(): Promise<void>;
}
