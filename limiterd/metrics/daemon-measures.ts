/** The daemon's measurements of itself, in addition to its counts (`DaemonCounts`). */
import { limiterMetrics } from "../../shared/metrics/limiter-metrics.js";
import type { ProcessReading } from "../../shared/metrics/process-reading.js";
import { newSeries, observe, type Series } from "../../shared/metrics/series.js";

export interface MeasurePorts {
  monoMs(): number;
  readProcess(): Promise<ProcessReading>;
}

export class DaemonMeasures {
  readonly commits: Series = newSeries(limiterMetrics.commit);
  readonly #ports: MeasurePorts | null;

  /** Without ports nothing is measured. */
  constructor(ports: MeasurePorts | null = null) {
    this.#ports = ports;
  }

  /** Call when a commit begins; call the returned function when it has succeeded. */
  timeCommit(): () => void {
    const ports = this.#ports;
    if (ports === null) return () => {};
    const fromMonoMs = ports.monoMs();
    return () => {
      const seconds = (ports.monoMs() - fromMonoMs) / 1000;
      observe(this.commits, limiterMetrics.commit.buckets, seconds);
    };
  }

  /** Null without ports. */
  readProcess(): Promise<ProcessReading | null> {
    return this.#ports?.readProcess() ?? Promise.resolve(null);
  }
}
