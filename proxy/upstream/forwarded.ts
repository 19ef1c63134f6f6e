/**
 * How a request ended that went to a provider, by whichever way: forwarded, passed through, or as a
 * WebSocket session. It is what the settle, the usage record and the log line are made of.
 */
import type { ProviderResult } from "../usage/usage-record.js";
import type { TargetFailure } from "./errors/failover-reason.js";

export interface Forwarded extends ProviderResult {
  /** Whether `usage` is an estimate: the response was cut, or the provider reported no usage. */
  readonly estimated: boolean;
  readonly outcome:
    | "complete"
    | "client_gone"
    | "upstream_error"
    | "upstream_cut"
    | "internal_error";
  /** What the log line adds to the outcome. */
  readonly note: string | null;
  /**
   * Set when another target may answer instead: nothing has gone to the client, and this one has
   * failed.
   */
  readonly failed: TargetFailure | null;
  /** The exception of our own that ended it; null: there was none. */
  readonly bug: unknown;
  /** Sends the client the last of the response; to be called once the settle has left. */
  readonly finish: () => void;
}
