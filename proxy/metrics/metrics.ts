/** The metrics of a proxy as its request handlers know them. */
import type { Family } from "../../shared/metrics/series.js";
import type { ProxyCounts } from "./proxy-counts.js";

export interface Metrics {
  readonly counts: ProxyCounts;
  /** All of them as they are now. */
  read(): Promise<readonly Family[]>;
  /** Resolved after everything that waits for the event loop has run. */
  yieldToEventLoop(): Promise<void>;
  close(): void;
}
