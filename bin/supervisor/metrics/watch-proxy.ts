/** A proxy's process as a source of metrics: the messages between it and its supervisor. */
import type { ChildProcess } from "node:child_process";
import { GatheredMetrics, type ProxyProcess } from "./gathered-metrics.js";

/** Gathers the metrics of the proxies that `watchProxy` adds. */
export function gatheredMetrics(warn: (line: string) => void): GatheredMetrics {
  return new GatheredMetrics(
    (ms, run) => void setTimeout(run, ms).unref(),
    (name) => warn(`warning: metrics of ${name} that make no sense are left out`),
  );
}

/** Includes a proxy process in the metrics, from when it is ready to its end. */
export function watchProxy(metrics: GatheredMetrics, name: string, child: ChildProcess): void {
  const process: ProxyProcess = {
    name,
    // If it has just died, its end is reported.
    send: (message) => void (child.connected && child.send(message, () => {})),
  };
  child.on("message", (message) => {
    if (typeof message === "object" && "ready" in message) metrics.addProxy(process);
    else metrics.receive(process, message);
  });
  child.once("close", () => metrics.removeProxy(process));
}
