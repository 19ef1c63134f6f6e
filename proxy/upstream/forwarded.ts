/**
 * The input and the result of forwarding a request. The settle, the usage record and the log line
 * are made from the result, also for passthrough requests and WebSocket sessions.
 */
import type { Operation } from "../../shared/operation.js";
import type { GrantedOutput, StreamCap } from "../hard-caps/output-allowance.js";
import type { Exchange } from "../http/exchange.js";
import type { TranslationReport } from "../usage/response-meter.js";
import type { ProviderResult } from "../usage/usage-record.js";
import type { TargetFailure } from "./errors/failover-reason.js";
import type { RefusedPart } from "./errors/refused-part.js";
import type { ProviderAnswer } from "./limit-reports.js";
import type { Upstream, UpstreamRequest } from "./upstream.js";

export interface ForwardRequest {
  readonly upstream: Upstream;
  readonly provider: string;
  readonly request: UpstreamRequest;
  /** The rate limit headers. Every response has them, including failures. */
  readonly headers: readonly string[];
  /** The client's operation, which determines where an answer has its text. */
  readonly operation: Operation;
  /**
   * The translation, if the provider speaks another dialect. It reports the usage, for which the
   * client's dialect may have no fields. Null if the answer isn't translated.
   */
  readonly translator: (TranslationReport & { readonly hasFailed: boolean }) | null;
  /** Whether to hide the usage chunk of a stream, because the client didn't request it. */
  readonly hideUsageChunk: boolean;
  readonly promptBytes: () => number;
  /**
   * Rewrites the JSON of a successful answer, which is held for that; null to leave it unchanged.
   */
  readonly rewrite?: ((json: string) => string) | null;
  /** As in `SentRequest`; called only when the usage is unknown. */
  readonly modelOutputMax?: () => number | null;
  readonly reasonsByDefault?: () => boolean;
  readonly showsReasoning?: () => boolean;
  /** As in `MeteredRequest`. */
  readonly readsModel?: boolean;
  /**
   * Whether the beginning of a stream is held until an answer begins, so that another attempt can
   * take over.
   */
  readonly holdsHead: boolean;
  /** The hard caps on a stream; null or absent if none counts the request. */
  readonly cap?: StreamCap | null;
  /**
   * The output that hard caps grant an answer that can't be cut; null or absent if none counts it.
   */
  readonly granted?: GrantedOutput | null;
  /** Called when the answer starts to be sent. After that the request isn't repeated. */
  readonly onBegun?: () => void;
  /** Called with each answer and its headers; see `LimitReports`. */
  readonly observeLimits?: ((answer: ProviderAnswer) => void) | undefined;
  readonly monoMs: () => number;
}

export interface ForwardResult extends ProviderResult {
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
  readonly hasTimedOut?: boolean;
  /** A note for the log line. */
  readonly note: string | null;
  /** Set if the target failed, nothing was sent to the client, and another target may succeed. */
  readonly failed: TargetFailure | null;
  /** The part that the provider refuses, if the request can be sent without it. */
  readonly refused?: RefusedPart | null;
  /** The error of the provider, or why there was no answer; null if it answered. */
  readonly error?: ProviderError | null;
  /** The exception that ended it; usually null. */
  readonly bug: unknown;
  /** Sends the end of the response. Call this after the settle was sent. */
  readonly finish: () => void;
}

export interface ProviderError {
  /** The provider's status; 0 without a response. */
  readonly status: number;
  readonly code: string | null;
  readonly message: string;
}

/** The outcome after a client disconnected or was cut off; the statuses are Sluice's own. */
type GoneEnding =
  | { readonly status: 499; readonly outcome: "client_gone" }
  | { readonly status: 599; readonly outcome: "shutdown" };

const clientGone: GoneEnding = { status: 499, outcome: "client_gone" };
const shutdown: GoneEnding = { status: 599, outcome: "shutdown" };

export function goneEnding({ isCutByStop }: Pick<Exchange, "isCutByStop">): GoneEnding {
  return isCutByStop ? shutdown : clientGone;
}

/** The client disconnected after a failed attempt. */
export function abandonedResult(
  forwarded: ForwardResult,
  exchange: Pick<Exchange, "isCutByStop">,
): ForwardResult {
  return { ...forwarded, ...goneEnding(exchange), finish: () => {} };
}

/** Whether the client disconnected before the end of its response; the provider may still work. */
export function isGone(outcome: ForwardResult["outcome"]): boolean {
  return outcome === "client_gone" || outcome === "shutdown";
}
