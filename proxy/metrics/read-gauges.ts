/** Gauges that are read at each scrape: memory, connections, the limiter. */
import type { ProcessReading } from "../../shared/metrics/process-reading.js";
import { proxyMetrics } from "../../shared/metrics/proxy-metrics.js";
import type { SeriesTable } from "../../shared/metrics/series.js";
import type { StopOutcome } from "../last-stop.js";
import type { Limiter } from "../limiter/client/limiter-client.js";

interface GaugePorts {
  readonly limiter: Pick<Limiter, "reachable" | "unsettled" | "dropped">;
  readonly sessions: { readonly size: number };
  readonly capacity: {
    readonly connections: { readonly open: number; readonly requests: number };
    readonly memory: { readonly held: number };
  };
  readonly version: string;
  readonly nodeVersion: string;
  /** The hash of the configuration in force. */
  readonly configHash: string;
  /** When it was loaded. */
  readonly configReadMs: number;
  /** The date of the price list; NaN without one. */
  readonly listedMs: number;
}

export class Gauges {
  readonly #table: SeriesTable;
  readonly #ports: GaugePorts;
  #lookedMonoMs: number;

  constructor(table: SeriesTable, ports: GaugePorts, nowMonoMs: number) {
    this.#table = table;
    this.#ports = ports;
    this.#lookedMonoMs = nowMonoMs;
    table.add(proxyMetrics.build, [ports.version, ports.nodeVersion]).values[0] = 1;
    table.add(proxyMetrics.config, [ports.configHash]).values[0] = 1;
    table.unlabelled(proxyMetrics.reloadSucceeded).values[0] = 1;
    table.unlabelled(proxyMetrics.reloadedAt).values[0] = ports.configReadMs / 1000;
    table.unlabelled(proxyMetrics.priceListDate).values[0] = ports.listedMs / 1000;
  }

  /** Called once a second; measures the time without the daemon. */
  pollLimiter(nowMonoMs: number): void {
    const ms = nowMonoMs - this.#lookedMonoMs;
    this.#lookedMonoMs = nowMonoMs;
    if (!this.#ports.limiter.reachable)
      this.#table.unlabelled(proxyMetrics.limiterDegraded).values[0]! += ms / 1000;
  }

  /** Call it when a reload failed, so that the old configuration stays in force. */
  reloadFailed(): void {
    this.#table.unlabelled(proxyMetrics.reloadSucceeded).values[0] = 0;
  }

  /** Updates all gauges that are read rather than counted. */
  update(reading: ProcessReading, lastStop: StopOutcome | null): void {
    const { limiter, sessions, capacity } = this.#ports;
    const set = (name: keyof typeof proxyMetrics, value: number): void => {
      this.#table.unlabelled(proxyMetrics[name]).values[0] = value;
    };
    set("limiterReachable", limiter.reachable ? 1 : 0);
    set("unsettled", limiter.unsettled);
    set("droppedCharges", limiter.dropped);
    set("realtimeSessions", sessions.size);
    set("heldBytes", capacity.memory.held);
    set("connections", capacity.connections.open);
    set("inFlight", capacity.connections.requests);
    set("leftOut", this.#table.leftOut);
    set("stopDrained", lastStop === null ? Number.NaN : Number(lastStop.drained));
    set("stoppedAt", lastStop === null ? Number.NaN : lastStop.atMs / 1000);
    set("cpu", reading.cpuSeconds);
    set("residentMemory", reading.residentBytes);
    set("heap", reading.heapBytes);
    set("startTime", reading.startedAtSeconds);
    set("openFiles", reading.openFiles ?? Number.NaN);
    this.#table.unlabelled(proxyMetrics.loopLag).values.set(reading.loopLag);
  }
}
