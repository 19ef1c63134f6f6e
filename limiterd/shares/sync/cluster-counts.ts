/** What happened between this host and the engine since the start. */
import { limiterMetrics } from "../../../shared/metrics/limiter-metrics.js";
import { newSeries, observe, type Series } from "../../../shared/metrics/series.js";

export class ClusterCounts {
  /** About one counter each. */
  questions = 0;
  /** Units and slots. */
  granted = 0;
  /** Requests that have waited, each time. */
  parked = 0;
  /** Requests refused because the engine couldn't be asked, or because too many waited. */
  refusedAway = 0;
  refusedFull = 0;
  readonly syncs: Series = newSeries(limiterMetrics.clusterSync);

  answered(seconds: number): void {
    observe(this.syncs, limiterMetrics.clusterSync.buckets, seconds);
  }
}
