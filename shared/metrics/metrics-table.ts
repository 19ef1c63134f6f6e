/** Every metric of Sluice, and the conventions that their names follow. */
import { limiterMetrics } from "./limiter-metrics.js";
import type { Metric } from "./metric.js";
import { proxyMetrics } from "./proxy-metrics.js";

/**
 * The version of the OpenTelemetry semantic conventions for generative AI: the last in their main
 * repository. Later drafts rename `gen_ai.client.token.usage`; Sluice's own counters don't change.
 */
export const semanticConventions = "1.41";

export const metricsTable: readonly Metric[] = [
  ...Object.values(proxyMetrics),
  ...Object.values(limiterMetrics),
];
