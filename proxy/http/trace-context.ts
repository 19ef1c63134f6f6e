/**
 * W3C Trace Context: reads the caller's `traceparent`, replaces it in calls to providers, and
 * decides which providers get it. By default those on this host and in private networks, since it
 * would identify callers to others.
 */
import { isPrivateAddress, parseIpAddress } from "../../shared/config/ip-network.js";
import type { TracePropagation } from "../../shared/metrics/telemetry-config.js";

interface TraceContext {
  readonly traceId: string;
  /** The caller's span. */
  readonly spanId: string;
  /** Whether the caller records this trace. */
  readonly isSampled: boolean;
}

/** The header in version 00; a later version may add fields after these. */
const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Null for an invalid header, which is ignored. */
export function parseTraceparent(header: string | undefined): TraceContext | null {
  if (header === undefined || header.length > 512) return null;
  const [, version = "", traceId = "", spanId = "", flags = "", more] =
    traceparent.exec(header.trim()) ?? [];
  if (version === "" || version === "ff" || (version === "00" && more !== undefined)) return null;
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** In lower-case hexadecimal. */
export interface CarriedSpan {
  readonly traceId: string;
  readonly spanId: string;
}

/**
 * Adds the trace to headers for a provider. `headers`: a flat list. `passed`: the names that are
 * forwarded.
 */
export function carryTrace(
  headers: string[],
  passed: { test(name: string): boolean },
  { traceId, spanId }: CarriedSpan,
): void {
  if (!passed.test("traceparent")) return;
  for (let i = headers.length - 2; i >= 0; i -= 2)
    if (/^traceparent$/i.test(headers[i]!)) headers.splice(i, 2);
  headers.push("traceparent", `00-${traceId}-${spanId}-01`);
}

export const traceHeaders = ["traceparent", "tracestate"];

/** Names that no public server has. A name without a dot is a host or a service of this network. */
const ownName = /^(?:[a-z0-9_-]+|.*\.(?:localhost|local|internal|home\.arpa))$/i;

export function passesTrace(baseUrl: string, propagate: TracePropagation): boolean {
  if (propagate !== "private") return propagate === "all";
  if (!URL.canParse(baseUrl)) return false;
  const host = new URL(baseUrl).hostname.replace(/^\[(.*)\]$/, "$1");
  const address = parseIpAddress(host);
  return address === null ? ownName.test(host) : isPrivateAddress(address);
}
