/** The ports to spans: their maker, and a span that has begun. Times are wall-clock times. */

type SpanValue = string | number | boolean;

/** By name; attributes without a value are omitted. */
export type SpanAttributes = Readonly<Record<string, SpanValue>>;

/** A span by its ids, in lower-case hexadecimal. */
export interface SpanId {
  readonly traceId: string;
  readonly spanId: string;
}

export interface OpenSpan extends SpanId {
  event(name: string, attributes: SpanAttributes, atMs: number): void;
  /** Called once. `error`: whether the operation failed. */
  end(ended: {
    readonly attributes: SpanAttributes;
    readonly error: boolean;
    readonly atMs: number;
  }): void;
}

export interface SpanMaker {
  start(span: {
    readonly name: string;
    readonly kind: "server" | "client";
    /** Null if the span begins a trace. */
    readonly parent: SpanId | null;
    readonly startMs: number;
  }): OpenSpan;
  /** Resolves once ended spans are sent or dropped; never rejects. */
  close(): Promise<void>;
}
