/** Wires the metrics of a proxy: what is counted, what is read, and the clock. */
import type { Config } from "../shared/config/config.js";
import { configHash } from "../shared/config/config-hash.js";
import { createProcessReading } from "../shared/metrics/process-reading.js";
import { proxyMetrics } from "../shared/metrics/proxy-metrics.js";
import type { Family } from "../shared/metrics/series.js";
import { familiesOfAll, tellMetrics } from "../shared/metrics/told-metrics.js";
import { version } from "../shared/version.js";
import type { Gateway } from "./gateway.js";
import type { LastStop } from "./last-stop.js";
import type { Metrics, ProxyGroup } from "./metrics/metrics.js";
import { ProxyCounts } from "./metrics/proxy-counts.js";
import { Gauges } from "./metrics/read-gauges.js";

/** How often the limiter's state is looked at. */
const lookMs = 1000;

export function createMetrics(
  config: Config,
  parts: Pick<Gateway, "limiter" | "sessions" | "capacity" | "recordedModels" | "targetHealth">,
  { group, lastStop }: { readonly group: ProxyGroup | null; readonly lastStop: LastStop },
): Metrics {
  const { metrics, providers } = config;
  const types = new Map(providers.map(({ name, type }) => [name, type]));
  const counts = new ProxyCounts(
    {
      isVouchedFor: (target) => parts.recordedModels.isVouchedFor(target),
      typeOf: (provider) => types.get(provider) ?? null,
    },
    { seriesMax: metrics.seriesMax, pathDepth: metrics.userPathDepth },
  );
  const own = {
    version,
    nodeVersion: process.version,
    configHash: configHash(config),
    configReadMs: Date.now(),
  };
  const gauges = new Gauges(counts.table, { ...parts, ...own }, performance.now());
  const looking = setInterval(() => gauges.lookAtLimiter(performance.now()), lookMs).unref();
  const readProcess = createProcessReading(proxyMetrics.loopLag.quantiles);
  const readOwn = async (): Promise<readonly Family[]> => {
    gauges.update(await readProcess(), await lastStop.read());
    const open = parts.targetHealth.report().filter(({ state }) => state === "open");
    counts.circuitsAreOpen(open.map(({ target }) => target));
    return counts.table.families();
  };
  group?.answerWith(
    async () => tellMetrics(await readOwn()),
    () => gauges.reloadFailed(),
  );
  return {
    counts,
    reloadFailed: () => gauges.reloadFailed(),
    async read() {
      if (group === null) return readOwn();
      const all = await group.gather();
      return all === null ? null : familiesOfAll(all, group.sums);
    },
    yieldToEventLoop: () => new Promise<void>((resolve) => void setImmediate(resolve)),
    close: () => clearInterval(looking),
  };
}
