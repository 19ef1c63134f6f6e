/** A report of trouble from outside, as data: what a client sends, and what is right. */
import type { IncomingHttpHeaders } from "node:http";
import type { Test } from "tap";

/** What a provider has received, its body parsed. */
export interface Sent {
  readonly provider: string;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

/** What a case came to. */
export interface Seen {
  readonly sent: readonly Sent[];
  /** Why providers refused requests, by what they publish. */
  readonly refused: readonly string[];
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The connection broke before the answer ended. */
  readonly cut: boolean;
  /** The answer, if it is JSON. */
  readonly body: unknown;
  /** The events' data of a streamed one, without `[DONE]`. */
  readonly events: readonly Record<string, unknown>[];
}

export interface ProviderAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text or a Buffer is sent as it is. */
  readonly body: unknown;
  /** The body in these pieces, each written when the one before has left. */
  readonly pieces?: readonly Buffer[];
  /** Whether the provider leaves its connection open after these bytes. */
  readonly staysOpen?: boolean;
}

export interface OutsideCase {
  readonly id: string;
  /** What other cases share with it. */
  readonly kind: string;
  /** Public threads, as `owner/repository#number`, or where else it was seen. */
  readonly source: readonly string[];
  readonly request: {
    readonly path: string;
    readonly method?: "GET" | "POST" | "HEAD" | "OPTIONS";
    readonly body?: Readonly<Record<string, unknown>>;
    /** In place of a body: exactly this text. */
    readonly raw?: string | Uint8Array<ArrayBuffer>;
    readonly headers?: Readonly<Record<string, string>>;
  };
  /** A request before, whose answer is a valid one. */
  readonly before?: OutsideCase["request"];
  /** The provider's; without it a valid one. A function is called with what it has received. */
  readonly answer?: ProviderAnswer | ((sent: readonly Sent[]) => ProviderAnswer);
  /** The provider's stream: deltas of a chat completion, or the bytes of another dialect's. */
  readonly events?: readonly Readonly<Record<string, unknown>>[] | string;
  /**
   * The result when the report was first tried, for the log. Without it, it failed and was mended;
   * what is `open` still fails.
   */
  readonly result?: "passed" | "open" | `decided: ${string}`;
  /** What clients and providers need, in a sentence. */
  readonly right: string;
  /** 200 without it. */
  readonly status?: number;
  /** What the provider must have received at last, at least. */
  readonly sends?: object;
  /** Members of its body that it mustn't receive. */
  readonly lacks?: readonly string[];
  /** What the header `x-sluice-dropped` names. */
  readonly dropped?: string;
  /** What the client must receive, at least. */
  readonly receives?: object;
  /** What can't be said as a part of a body. */
  check?(t: Test, seen: Seen): void;
}
