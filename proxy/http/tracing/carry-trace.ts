/** Tells a provider of the span that a request to it belongs to, in place of the caller's. */

/** In lower-case hexadecimal. */
export interface CarriedSpan {
  readonly traceId: string;
  readonly spanId: string;
}

/** `headers`: those that it is sent, a flat list. `passed`: the names that pass to it. */
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
