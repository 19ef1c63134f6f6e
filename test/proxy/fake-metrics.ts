/** Metrics that count, of a process that says nothing of itself. */
import type { Metrics } from "../../proxy/metrics/metrics.js";
import { ProxyCounts } from "../../proxy/metrics/proxy-counts.js";
import { RequestReports } from "../../proxy/metrics/request-reports.js";
import { writeMetrics } from "../../shared/metrics/write-metrics.js";

interface FakeMetrics extends Metrics {
  /** The samples that are in the text now, with the names of one metric or more. */
  samples(...names: readonly string[]): readonly string[];
}

/** Vouches for every model, unless the test has a list. */
export function fakeMetrics(
  options: {
    readonly vouched?: readonly string[];
    readonly seriesMax?: number;
    readonly pathDepth?: number;
  } = {},
): FakeMetrics {
  const { vouched = null, seriesMax = 10_000, pathDepth = 0 } = options;
  const counts = new ProxyCounts(
    {
      isVouchedFor: ({ model }) => vouched === null || vouched.includes(model.toLowerCase()),
      types: new Map([
        ["openai", "openai"],
        ["google", "gemini"],
      ]),
    },
    { seriesMax, pathDepth },
  );
  const reports = new RequestReports(
    {
      limiter: { reachable: true, call: async () => ({ ok: true, body: {} }) },
      monoMs: () => 0,
      schedule() {},
    },
    { keepsDetails: true, keepsTexts: true },
  );
  return {
    counts,
    reports,
    reloadFailed() {},
    read: async () => counts.table.families(),
    yieldToEventLoop: async () => {},
    close() {},
    samples: (...names) =>
      [...writeMetrics(counts.table.families(), "prometheus")]
        .join("")
        .split("\n")
        .filter((line) =>
          names.some((name) => line.startsWith(`${name}{`) || line.startsWith(`${name} `)),
        ),
  };
}
