/** What the limiter client needs of its surroundings, and what the owner of its socket calls. */
import type { FailureMode } from "../../shared/config/config.js";
import type { FromDaemon, ToDaemon } from "../../shared/wire/message.js";

export interface LimiterClientPorts {
  readonly proxyId: string;
  /** Monotonic milliseconds. */
  monoMs(): number;
  schedule(ms: number, run: () => void): void;
  /** Runs `run` when what was sent in this turn of the event loop has left. */
  afterTurn(run: () => void): void;
  onLinkChange(linked: boolean): void;
  /** The daemon is connected, but an admission got no answer in time. */
  onTimedOut(): void;
  onDropped(settles: number): void;
}

export interface LimiterClientOptions {
  readonly deadlineMs: number;
  readonly failureMode: FailureMode;
}

/** What the socket's owner calls. */
export interface LimiterLink {
  connected(send: (message: ToDaemon) => void): void;
  received(message: FromDaemon): void;
  lost(): void;
}
