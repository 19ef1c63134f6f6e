/** The metrics of a proxy, as its request handlers use them. */

import type { ReportedMetrics } from "../../shared/metrics/reported-metrics.js";
import type { Family } from "../../shared/metrics/series.js";
import type { ProxyCounts } from "./proxy-counts.js";
import type { RequestReports } from "./request-reports.js";

export interface Metrics {
  readonly counts: ProxyCounts;
  /** What the daemon keeps of requests. */
  readonly reports: RequestReports;
  /** The configuration couldn't be reloaded. */
  reloadFailed(): void;
  /**
   * All current metrics, merged with those of the other proxies of the supervisor or port; null if
   * the supervisor doesn't answer.
   */
  read(): Promise<readonly Family[] | null>;
  /** Resolves after everything queued in the event loop has run. */
  yieldToEventLoop(): Promise<void>;
  close(): void;
}

/** The proxies of one supervisor or port, whose metrics are merged. */
export interface ProxyGroup {
  /** Whether counters are added up; otherwise each series names its process. */
  readonly sums: boolean;
  /**
   * Announces that the proxy serves. Rejects if it can't be announced to the others. `onOdd` gets
   * the socket name of another proxy that sends invalid answers.
   */
  serves(onOdd: (proxy: string, reason: string) => void): Promise<void>;
  /** The metrics of all; null if the supervisor doesn't answer. */
  gather(): Promise<ReportedMetrics | null>;
  /**
   * Sets how the supervisor or another proxy reads this proxy's own metrics, and what runs when the
   * supervisor reports that a reload failed.
   */
  answerWith(own: () => Promise<ReportedMetrics>, onReloadFailed: () => void): void;
  /** Sends the last metrics before the proxy leaves. */
  leave(): Promise<void>;
}
