/** What the limiter client needs of its surroundings, and what the owner of its socket calls. */
import type { FailureMode } from "../../shared/config/config.js";
import type { FromDaemon, UnknownEvent } from "../../shared/wire/message-from-daemon.js";
import type { ToDaemon } from "../../shared/wire/message-to-daemon.js";
import type { WireVersions } from "../../shared/wire/wire-versions.js";

export interface LimiterClientPorts {
  readonly proxyId: string;
  /** Monotonic milliseconds. */
  monoMs(): number;
  schedule(ms: number, run: () => void): void;
  /** Runs `run` when what was sent in this turn of the event loop has left. */
  afterTurn(run: () => void): void;
  onLinkChange(linked: boolean): void;
  /**
   * The daemon is connected, and a deadline has passed without a word from it: `wasLinked`, of an
   * admission or a check of a caller, or else of the welcome.
   */
  onSilent(wasLinked: boolean): void;
  /** A silent daemon has said something again. */
  onAnswering(silentMs: number): void;
  /** A question had no answer in time from a daemon that isn't silent: too much waits for it. */
  onLate(): void;
  /**
   * The daemon speaks none of this proxy's wire versions, as it says in `message`: it takes
   * settles, and nothing else.
   */
  onRefused(message: string): void;
  /** The oldest settle was dropped: too many wait. */
  onDropped(): void;
}

/** How many settles may be in flight. */
export interface SettleWindow {
  /** Between two times at which the kernel has taken all that was sent. */
  readonly settles: number;
  /** Between the last acknowledged one and the last that is sent. */
  readonly unacknowledged: number;
}

export interface LimiterClientOptions {
  readonly deadlineMs: number;
  readonly failureMode: FailureMode;
  readonly settleWindow?: SettleWindow | undefined;
  /** Those that this proxy speaks; by default those of this release. */
  readonly wireVersions?: WireVersions | undefined;
}

/** One connection to the daemon, as the limiter client sees it. */
export interface DaemonLine {
  send(message: ToDaemon): void;
  /** Runs `run` once the kernel has taken all that was sent; never if it is lost before. */
  whenSent(run: () => void): void;
  close(): void;
}

/** What the socket's owner calls. */
export interface LimiterLink {
  connected(line: DaemonLine): void;
  /** Null: a frame that can't be read. `nowMonoMs`: read once for all that have come together. */
  received(message: FromDaemon | UnknownEvent | null, nowMonoMs: number): void;
  lost(): void;
}
