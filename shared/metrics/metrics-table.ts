/** Every metric of Sluice, and the conventions that their names follow. */
import { limiterMetrics } from "./limiter-metrics.js";
import type { Metric } from "./metric.js";
import { proxyMetrics } from "./proxy-metrics.js";

/**
 * The OpenTelemetry semantic conventions for generative AI: the last version in their main
 * repository. Later drafts rename `gen_ai.client.token.usage`; the counters of our own stay.
 */
export const semanticConventions = "1.41";

export const metricsTable: readonly Metric[] = [
  ...Object.values(proxyMetrics),
  ...Object.values(limiterMetrics),
];
