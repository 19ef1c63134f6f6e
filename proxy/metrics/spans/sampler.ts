/**
 * Which requests have spans, as the samplers of OpenTelemetry decide it. It is asked before a span
 * is made, so that a request without spans costs nothing.
 */
import type { TracingConfig } from "../../../shared/metrics/telemetry-config.js";

interface ParentSpan {
  readonly traceId: string;
  /** Whether the caller records this trace. */
  readonly sampled: boolean;
}

/** Of a request whose caller names no trace, the id is still to be drawn: chance decides. */
export function isSampled(
  { sampler, sample }: Pick<TracingConfig, "sampler" | "sample">,
  parent: ParentSpan | null,
  random: () => number,
): boolean {
  if (parent !== null && sampler.startsWith("parentbased_")) return parent.sampled;
  if (sampler.endsWith("always_on")) return true;
  if (sampler.endsWith("always_off")) return false;
  return (parent === null ? random() : randomPart(parent.traceId)) < sample;
}

/**
 * The part of a trace's id that W3C Trace Context wants to be random, its last 56 bits, as a number
 * from 0 to 1: all who take the same part of the traces take the same traces.
 */
function randomPart(traceId: string): number {
  return 1 - (Number.parseInt(traceId.slice(-14), 16) + 1) / 2 ** 56;
}
