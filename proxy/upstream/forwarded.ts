/**
 * A request that is forwarded to a provider; and how one ended, whether it was forwarded, passed
 * through, or a WebSocket session: what the settle, the usage record and the log line are made of.
 */
import type { Operation } from "../../shared/operation.js";
import type { Exchange } from "../http/exchange.js";
import type { TranslationReport } from "../usage/response-meter.js";
import type { ProviderResult } from "../usage/usage-record.js";
import type { TargetFailure } from "./errors/failover-reason.js";
import type { Upstream, UpstreamRequest } from "./upstream.js";

export interface ForwardRequest {
  readonly upstream: Upstream;
  readonly provider: string;
  readonly request: UpstreamRequest;
  /** The rate limit headers; every response has them, failures too. */
  readonly headers: readonly string[];
  /** What the client asked for; it decides where the text of an answer is looked for. */
  readonly operation: Operation;
  /**
   * The translation of a provider that speaks another dialect. It knows the usage, for which the
   * client's dialect may have no fields. Null if the answer isn't translated.
   */
  readonly translator: (TranslationReport & { readonly failed: boolean }) | null;
  /** Keep the usage chunk of a stream from the client, who didn't ask for it. */
  readonly hideUsageChunk: boolean;
  readonly promptBytes: () => number;
  /** Rewrites the JSON of a successful answer, which is held for it; null if it passes as it is. */
  readonly rewrite?: ((json: string) => string) | null;
  /** As in `SentRequest`; called only where the usage isn't known. */
  readonly modelOutputMax?: () => number | null;
  /**
   * Another target can take over: the head of a stream is held until an answer begins, so that
   * nothing is sent before.
   */
  readonly hasFallback: boolean;
  /** The answer begins to go to the client: the request won't be sent again. */
  readonly onBegun?: () => void;
  readonly monoMs: () => number;
}

export interface Forwarded extends ProviderResult {
  /** Whether `usage` is an estimate: the response was cut, or the provider reported no usage. */
  readonly estimated: boolean;
  readonly outcome:
    | "complete"
    | "client_gone"
    | "shutdown"
    | "upstream_error"
    | "upstream_cut"
    | "overloaded"
    | "internal_error";
  /** Whether it was cut because the provider exceeded a deadline. */
  readonly timedOut?: boolean;
  /** What the provider calls the request; empty, or none: it doesn't say. */
  readonly providerRequestId?: string;
  /** What the log line adds to the outcome. */
  readonly note: string | null;
  /**
   * Set when another target may answer instead: nothing has gone to the client, and this one has
   * failed.
   */
  readonly failed: TargetFailure | null;
  /** The exception of our own that ended it; null if there was none. */
  readonly bug: unknown;
  /** Sends the client the last of the response; to be called once the settle has left. */
  readonly finish: () => void;
}

/** How a request ends whose client is gone, and by whose doing: the statuses are our own. */
type GoneEnding =
  | { readonly status: 499; readonly outcome: "client_gone" }
  | { readonly status: 599; readonly outcome: "shutdown" };

const clientGone: GoneEnding = { status: 499, outcome: "client_gone" };
const shutdown: GoneEnding = { status: 599, outcome: "shutdown" };

export function goneEnding({ cutByStop }: Pick<Exchange, "cutByStop">): GoneEnding {
  return cutByStop ? shutdown : clientGone;
}

/** The client has gone after an attempt had failed, and gets nothing. */
export function abandoned(forwarded: Forwarded, exchange: Pick<Exchange, "cutByStop">): Forwarded {
  return { ...forwarded, ...goneEnding(exchange), finish: () => {} };
}

/** Whether the client was gone before its response was complete: the provider may be at work. */
export function isGone(outcome: Forwarded["outcome"]): boolean {
  return outcome === "client_gone" || outcome === "shutdown";
}
