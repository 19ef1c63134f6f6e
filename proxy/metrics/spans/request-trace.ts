/**
 * The spans of one request: its own, whose parent is the caller's, and one per attempt at a
 * provider. Nothing here influences the request.
 */
import type { Target } from "../../../shared/domain/target-name.js";
import type { TracingConfig } from "../../../shared/metrics/telemetry-config.js";
import type { Upstream } from "../../upstream/upstream.js";
import { modelWatchedUpstream } from "./answered-model.js";
import {
  attemptAttributes,
  attemptName,
  type EndedCall,
  type TracedAttempt,
  type TracedProvider,
} from "./attempt-span.js";
import type { OpenSpan, SpanAttributes, SpanId, SpanMaker } from "./spans.js";

interface TracingPorts {
  readonly maker: SpanMaker;
  readonly providerOf: (target: Target) => TracedProvider;
  readonly monoMs: () => number;
  /** Wall time. */
  readonly nowMs: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
}

/** Decides which requests have spans, and begins them. */
export class Tracing {
  readonly #config: Pick<TracingConfig, "sampler" | "sample">;
  readonly #ports: TracingPorts;

  constructor(config: Pick<TracingConfig, "sampler" | "sample">, ports: TracingPorts) {
    this.#config = config;
    this.#ports = ports;
  }

  /**
   * Null if the request has no span. `parent`: the caller's span, and whether the caller records
   * it.
   */
  begin(
    name: string,
    parent: (SpanId & { readonly isSampled: boolean }) | null,
    startedMonoMs: number,
  ): RequestTrace | null {
    const { maker, monoMs, nowMs, random } = this.#ports;
    if (!isSampled(this.#config, parent, random)) return null;
    const monoToWallMs = nowMs() - monoMs();
    const startMs = startedMonoMs + monoToWallMs;
    const span = maker.start({ name, kind: "server", parent, startMs });
    return new RequestTrace(this.#ports, span, monoToWallMs);
  }

  close(): Promise<void> {
    return this.#ports.maker.close();
  }
}

export class RequestTrace {
  readonly #ports: TracingPorts;
  readonly #span: OpenSpan;
  readonly #monoToWallMs: number;
  #attempt: AttemptTrace | null = null;

  constructor(ports: TracingPorts, span: OpenSpan, monoToWallMs: number) {
    this.#ports = ports;
    this.#span = span;
    this.#monoToWallMs = monoToWallMs;
  }

  get traceId(): string {
    return this.#span.traceId;
  }

  /** The daemon has given its verdict, or none, after `waitedMs`. */
  noteVerdict(verdict: string, waitedMs: number): void {
    const attributes = { "sluice.verdict": verdict, "sluice.wait_seconds": waitedMs / 1000 };
    this.#span.event("sluice.admission", attributes, this.#ports.nowMs());
  }

  /** An attempt begins; the previous one has ended. */
  attempt(attempt: TracedAttempt, startedMonoMs: number): AttemptTrace {
    const span = this.#ports.maker.start({
      name: attemptName(attempt),
      kind: "client",
      parent: this.#span,
      startMs: startedMonoMs + this.#monoToWallMs,
    });
    const times = { startedMonoMs, monoToWallMs: this.#monoToWallMs };
    this.#attempt = new AttemptTrace(span, attempt, this.#ports.providerOf(attempt.target), times);
    return this.#attempt;
  }

  end(attributes: SpanAttributes, error: boolean, endedMonoMs: number): void {
    this.#attempt?.abandon(endedMonoMs);
    this.#span.end({ attributes, error, atMs: endedMonoMs + this.#monoToWallMs });
  }
}

export class AttemptTrace implements SpanId {
  /** The provider's name for the answering model; empty until known. */
  #answeredModel = "";
  readonly #span: OpenSpan;
  readonly #attempt: TracedAttempt;
  readonly #provider: TracedProvider;
  readonly #times: { readonly startedMonoMs: number; readonly monoToWallMs: number };
  #hasEnded = false;

  constructor(
    span: OpenSpan,
    attempt: TracedAttempt,
    provider: TracedProvider,
    times: { readonly startedMonoMs: number; readonly monoToWallMs: number },
  ) {
    this.#span = span;
    this.#attempt = attempt;
    this.#provider = provider;
    this.#times = times;
  }

  get traceId(): string {
    return this.#span.traceId;
  }

  get spanId(): string {
    return this.#span.spanId;
  }

  /** Wraps the upstream so that the answering model is recorded. */
  watchUpstream(upstream: Upstream): Upstream {
    return modelWatchedUpstream(upstream, (model) => {
      this.#answeredModel = model;
    });
  }

  ended(forwarded: EndedCall, endedMonoMs: number): void {
    const { startedMonoMs } = this.#times;
    const ended = { forwarded, startedMonoMs, answeredModel: this.#answeredModel };
    const attributes = attemptAttributes(this.#attempt, this.#provider, ended);
    this.#end(attributes, "error.type" in attributes, endedMonoMs);
  }

  /** An exception has ended the request before the attempt's end was reported. */
  abandon(endedMonoMs: number): void {
    if (!this.#hasEnded) this.#end({ "error.type": "internal_error" }, true, endedMonoMs);
  }

  #end(attributes: SpanAttributes, error: boolean, endedMonoMs: number): void {
    this.#hasEnded = true;
    this.#span.end({ attributes, error, atMs: endedMonoMs + this.#times.monoToWallMs });
  }
}

interface ParentSpan {
  readonly traceId: string;
  /** Whether the caller records this trace. */
  readonly isSampled: boolean;
}

/** Whether to sample; without a caller's trace id, which is still to be generated, at random. */
export function isSampled(
  { sampler, sample }: Pick<TracingConfig, "sampler" | "sample">,
  parent: ParentSpan | null,
  random: () => number,
): boolean {
  if (parent !== null && sampler.startsWith("parentbased_")) return parent.isSampled;
  if (sampler.endsWith("always_on")) return true;
  if (sampler.endsWith("always_off")) return false;
  return (parent === null ? random() : randomPart(parent.traceId)) < sample;
}

/**
 * The random part of a trace id by W3C Trace Context, its last 56 bits, as a number from 0 to 1:
 * all programs with the same ratio sample the same traces.
 */
function randomPart(traceId: string): number {
  return 1 - (Number.parseInt(traceId.slice(-14), 16) + 1) / 2 ** 56;
}
