/** The trace that a request belongs to, as its caller says (W3C Trace Context, `traceparent`). */

interface TraceContext {
  readonly traceId: string;
  /** The caller's span. */
  readonly spanId: string;
  /** Whether the caller records this trace. */
  readonly sampled: boolean;
}

/** Of version 00; a later version may add fields behind these. */
const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Null for what isn't one: it is as if there were none. */
export function parseTraceparent(header: string | undefined): TraceContext | null {
  if (header === undefined || header.length > 512) return null;
  const [, version = "", traceId = "", spanId = "", flags = "", more] =
    traceparent.exec(header.trim()) ?? [];
  if (version === "" || version === "ff" || (version === "00" && more !== undefined)) return null;
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return null;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}
