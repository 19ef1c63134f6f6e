/** The ports that the limiter client uses, and the interface that the owner of its socket calls. */
import type { FailureMode } from "../../shared/config/config.js";
import type { FromDaemon, UnknownEvent } from "../../shared/wire/message-from-daemon.js";
import type { ToDaemon } from "../../shared/wire/message-to-daemon.js";
import type { WireVersions } from "../../shared/wire/wire-versions.js";

export interface LimiterClientPorts {
  readonly proxyId: string;
  /** Monotonic milliseconds. */
  monoMs(): number;
  schedule(ms: number, run: () => void): void;
  /** Runs `run` once the messages of this turn of the event loop have been sent. */
  afterTurn(run: () => void): void;
  onLinkChange(linked: boolean): void;
  /**
   * The connected daemon has missed a deadline without sending anything: with `wasLinked`, that of
   * an admission or a check of a caller; otherwise that of the welcome.
   */
  onSilent(wasLinked: boolean): void;
  /** A silent daemon has sent a message again. */
  onAnswering(silentMs: number): void;
  /** A daemon that isn't silent missed the deadline of a question: too much is queued for it. */
  onLate(): void;
  /**
   * The daemon supports none of this proxy's wire versions, as `message` says: it accepts only
   * settle messages.
   */
  onRefused(message: string): void;
  /** The oldest settle was dropped: too many are queued. */
  onDropped(): void;
}

/** The maximum number of settles in flight. */
export interface SettleWindow {
  /** Settles sent before the kernel has accepted all of them. */
  readonly settles: number;
  /** Settles sent after the last acknowledged one. */
  readonly unacknowledged: number;
}

export interface LimiterClientOptions {
  readonly deadlineMs: number;
  readonly failureMode: FailureMode;
  readonly settleWindow?: SettleWindow | undefined;
  /** The versions that this proxy supports; by default those of this release. */
  readonly wireVersions?: WireVersions | undefined;
}

/** One connection to the daemon, as the limiter client sees it. */
export interface DaemonLine {
  send(message: ToDaemon): void;
  /**
   * Runs `run` once the kernel has accepted all that was sent; never if the connection is lost
   * first.
   */
  whenSent(run: () => void): void;
  close(): void;
}

/** The interface that the socket's owner calls. */
export interface LimiterLink {
  connected(line: DaemonLine): void;
  /** Null for an unreadable frame. `nowMonoMs` is read once for all frames of a chunk. */
  received(message: FromDaemon | UnknownEvent | null, nowMonoMs: number): void;
  lost(): void;
}
