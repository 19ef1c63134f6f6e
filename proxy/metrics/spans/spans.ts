/** The ports to spans: what makes them, and one that has begun. Times are wall times. */

type SpanValue = string | number | boolean;

/** By name; those without a value are left out. */
export type SpanAttributes = Readonly<Record<string, SpanValue>>;

/** A span by its ids, in lower-case hexadecimal. */
export interface SpanId {
  readonly traceId: string;
  readonly spanId: string;
}

export interface OpenSpan extends SpanId {
  event(name: string, attributes: SpanAttributes, atMs: number): void;
  /** To be called once. `error`: whether what it is about has failed. */
  end(ended: {
    readonly attributes: SpanAttributes;
    readonly error: boolean;
    readonly atMs: number;
  }): void;
}

export interface SpanMaker {
  start(what: {
    readonly name: string;
    readonly kind: "server" | "client";
    /** Null if a trace begins with it. */
    readonly parent: SpanId | null;
    readonly startMs: number;
  }): OpenSpan;
  /** Resolves when what has ended is sent, or given up; never rejects. */
  close(): Promise<void>;
}
