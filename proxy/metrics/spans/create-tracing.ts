/** Connects the spans of a proxy: the SDK, the clocks, and the counts and log lines about them. */
import type { Config } from "../../../shared/config/config.js";
import type { Log } from "../../../shared/log.js";
import type { ProxyCounts } from "../proxy-counts.js";
import type { TracedProvider } from "./attempt-span.js";
import type { ExportEvents } from "./otel-spans.js";
import { Tracing } from "./request-trace.js";

interface TracingParts {
  readonly counts: Pick<ProxyCounts, "countSpans">;
  readonly log: Log;
  /** The name of this proxy. */
  readonly name: string;
}

/** Null if no collector is configured; then nothing is loaded. */
export async function createTracing(
  { tracing, providers }: Pick<Config, "tracing" | "providers">,
  { counts, log, name }: TracingParts,
): Promise<Tracing | null> {
  const { endpoint } = tracing;
  if (endpoint === null) return null;
  // A separate file beside the program that contains the packages.
  const { createSpanMaker } = await import("./otel-spans.js");
  const traced = new Map(providers.map((provider) => [provider.name, tracedProvider(provider)]));
  const maker = await createSpanMaker({ ...tracing, endpoint }, name, exportEvents(counts, log));
  return new Tracing(tracing, {
    maker,
    // Targets come from the configuration's providers, so it exists.
    providerOf: ({ provider }) => traced.get(provider)!,
    monoMs: () => performance.now(),
    nowMs: () => Date.now(),
    random: Math.random,
  });
}

/** Logs a failure once, until spans are sent successfully again. */
function exportEvents(counts: TracingParts["counts"], log: Log): ExportEvents {
  let isLosing = false;
  const lost = (reason: string): void => {
    if (!isLosing) log.warn({ reason }, "spans can't be sent to the collector: they are dropped");
    isLosing = true;
  };
  return {
    onIgnored: (reason) => log.warn({ reason }, "an OpenTelemetry variable is ignored"),
    onExported(spans) {
      counts.countSpans("exported", spans);
      if (isLosing) log.info("spans are sent to the collector again");
      isLosing = false;
    },
    onDropped(spans) {
      counts.countSpans("dropped", spans);
      lost("more end than it takes");
    },
    onFailed(spans, reason) {
      counts.countSpans("failed", spans);
      lost(reason);
    },
  };
}

function tracedProvider({ type, baseUrl }: Config["providers"][number]): TracedProvider {
  if (baseUrl === "") return { type, address: "", port: 0 };
  const { hostname, port, protocol } = new URL(baseUrl);
  const usual = protocol === "https:" ? 443 : 80;
  return { type, address: hostname, port: port === "" ? usual : Number(port) };
}
