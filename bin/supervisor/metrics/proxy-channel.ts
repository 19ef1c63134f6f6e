/** The proxy's end of the channel to its supervisor, for metrics. */
import type { ProxyGroup } from "../../../proxy/metrics/metrics.js";
import {
  parseMetricsMessage,
  type ReportedMetrics,
} from "../../../shared/metrics/reported-metrics.js";
import { isNamedProxy } from "../../../shared/supervision/proxy-name.js";

/** A supervisor that takes longer is stuck. */
const answerMs = 3_000;
/** How long sending the last metrics may take. */
const leaveMs = 500;

/** Null for a process that wasn't started by a supervisor of Sluice. */
export function proxyChannel(): ProxyGroup | null {
  if (!isNamedProxy(process.env)) return null;
  const waiting = new Map<number, (all: ReportedMetrics | null) => void>();
  let lastId = 0;
  let read: (() => Promise<ReportedMetrics>) | null = null;
  let onReloadFailed = (): void => {};
  const report = async (id: number): Promise<void> => {
    if (read === null) return;
    const reported = await read();
    await new Promise<void>((resolve) => {
      setTimeout(resolve, leaveMs).unref();
      if (process.connected)
        process.send?.({ metrics: "reported", id, ...reported }, () => resolve());
      else resolve();
    });
  };
  process.on("message", (message) => {
    const parsed = parseMetricsMessage(message);
    if (parsed?.metrics === "report") void report(parsed.id);
    if (parsed?.metrics === "reload-failed") onReloadFailed();
    if (parsed?.metrics !== "all") return;
    waiting.get(parsed.id)?.(parsed);
    waiting.delete(parsed.id);
  });
  return {
    sums: true,
    // Its supervisor knows from another message that it is ready.
    serves: () => Promise.resolve(),
    gather: () =>
      new Promise((resolve) => {
        const id = ++lastId;
        waiting.set(id, resolve);
        setTimeout(() => {
          if (waiting.delete(id)) resolve(null);
        }, answerMs).unref();
        if (process.connected) process.send?.({ metrics: "ask", id }, () => {});
      }),
    answerWith(own, reloadFailed) {
      read = own;
      onReloadFailed = reloadFailed;
    },
    // No question has the number 0.
    leave: () => report(0),
  };
}
