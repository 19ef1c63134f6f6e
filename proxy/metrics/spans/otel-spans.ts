/**
 * Spans by the OpenTelemetry SDK, sent by OTLP over HTTP. Only this file imports the packages, and
 * it is loaded only if a collector is configured: they take about 5 MB.
 *
 * The SDK sends ended spans in batches, outside the path of requests. Spans that don't fit into its
 * queue or can't be sent are dropped and counted.
 */
import { setTimeout as delay } from "node:timers/promises";
import {
  DiagLogLevel,
  diag,
  type HrTime,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { parseHeaderList } from "../../../shared/config/kinds/secret-kinds.js";
import type { TracingConfig } from "../../../shared/metrics/telemetry-config.js";
import { version } from "../../../shared/version.js";
import {
  closeMsMax,
  exportMsMax,
  gatherMs,
  spansPerBatch,
  spansWaitingMax,
  spanTextCharsMax,
} from "../../bounds.js";
import type { SpanMaker } from "./spans.js";

/** Events of sending spans, and of OpenTelemetry's variables. */
export interface ExportEvents {
  /** A variable of OpenTelemetry, or the file that it names, is unusable. */
  onIgnored(reason: string): void;
  onExported(spans: number): void;
  /** The queue is full. */
  onDropped(spans: number): void;
  /** Sending failed; `reason` contains no text from a caller. */
  onFailed(spans: number, reason: string): void;
}

/** The address of the collector and how to send. */
type Collector = { readonly endpoint: string } & Pick<
  TracingConfig,
  "protocol" | "headers" | "spanHeaders"
>;

/** `proxy`: the name of this proxy on its host. */
export function createSpanMaker(
  { endpoint, protocol, headers, spanHeaders }: Collector,
  proxy: string,
  events: ExportEvents,
  { exportMs, closeMs } = { exportMs: exportMsMax, closeMs: closeMsMax },
): SpanMaker {
  const Exporter = protocol === "http/protobuf" ? ProtobufExporter : JsonExporter;
  const sending = {
    url: endpoint,
    headers: { ...parseHeaderList(headers ?? ""), ...parseHeaderList(spanHeaders ?? "") },
    timeoutMillis: exportMs,
  };
  const exporter = new CountingExporter(
    withWarnings(
      () => new Exporter(sending),
      (reason) => events.onIgnored(reason),
    ),
    events,
  );
  const processor = new BatchSpanProcessor(exporter, {
    maxQueueSize: spansWaitingMax,
    maxExportBatchSize: spansPerBatch,
    scheduledDelayMillis: gatherMs,
    exportTimeoutMillis: 2 * exportMs,
  });
  const attributes = {
    "service.name": "sluice",
    "service.version": version,
    "sluice.proxy": proxy,
  };
  const provider = new BasicTracerProvider({
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES extend or override these.
    resource: resourceFromAttributes(attributes).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    sampler: new AlwaysOnSampler(),
    generalLimits: { attributeValueLengthLimit: spanTextCharsMax },
    spanProcessors: [new BoundedProcessor(processor, exporter, events)],
  });
  const tracer = provider.getTracer("sluice", version);
  const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT };
  return {
    start({ name, kind, parent, startMs }) {
      const context =
        parent === null
          ? ROOT_CONTEXT
          : trace.setSpanContext(ROOT_CONTEXT, {
              traceId: parent.traceId,
              spanId: parent.spanId,
              traceFlags: TraceFlags.SAMPLED,
              isRemote: kind === "server",
            });
      const startTime = hrTime(startMs);
      const span = tracer.startSpan(name, { kind: kinds[kind], startTime }, context);
      const { traceId, spanId } = span.spanContext();
      return {
        traceId,
        spanId,
        event: (eventName, attributes, atMs) =>
          void span.addEvent(eventName, attributes, hrTime(atMs)),
        end({ attributes, error, atMs }) {
          span.setAttributes(attributes);
          if (error) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end(hrTime(atMs));
        },
      };
    },
    async close() {
      // Spans that couldn't be sent are counted.
      const sent = provider.shutdown().catch(() => {});
      await Promise.race([sent, delay(closeMs, null, { ref: false })]);
    },
  };
}

/** Collects the SDK's warnings about its variables, which it reads without reporting mistakes. */
function withWarnings<T>(make: () => T, warn: (reason: string) => void): T {
  const silent = (): void => {};
  const logger = { error: silent, warn, info: silent, debug: silent, verbose: silent };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  try {
    return make();
  } finally {
    diag.disable();
  }
}

/** Seconds and nanoseconds: of a single number, the SDK would have to guess the unit. */
function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}

/** Counts spans that are sent and that can't be sent. */
class CountingExporter implements SpanExporter {
  /** Ended spans that haven't been passed to the exporter. */
  waiting = 0;
  readonly #exporter: SpanExporter;
  readonly #events: ExportEvents;

  constructor(exporter: SpanExporter, events: ExportEvents) {
    this.#exporter = exporter;
    this.#events = events;
  }

  export(spans: ReadableSpan[], done: Parameters<SpanExporter["export"]>[1]): void {
    this.waiting -= spans.length;
    this.#exporter.export(spans, (result) => {
      if (result.code === 0) this.#events.onExported(spans.length);
      else this.#events.onFailed(spans.length, result.error?.message ?? "no reason given");
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }
}

/** Passes on what fits into the queue of the SDK's processor, and counts the rest. */
class BoundedProcessor implements SpanProcessor {
  readonly #processor: SpanProcessor;
  readonly #exporter: CountingExporter;
  readonly #events: ExportEvents;

  constructor(processor: SpanProcessor, exporter: CountingExporter, events: ExportEvents) {
    this.#processor = processor;
    this.#exporter = exporter;
    this.#events = events;
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if (this.#exporter.waiting >= spansWaitingMax) return this.#events.onDropped(1);
    this.#exporter.waiting++;
    this.#processor.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#processor.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#processor.shutdown();
  }
}
