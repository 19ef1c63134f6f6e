/**
 * The context of all shares of a host while one message is handled: the time, whether the engine
 * can be asked, and which shares a verdict lacked. It is set at the beginning of each turn of the
 * event loop.
 */
import type { ClusterFailureMode } from "../../shared/cluster/cluster-config.js";

/**
 * - `look`: an explanation or a list. What the engine would grant counts as granted.
 * - `ask`: an admission that can still wait for the engine.
 * - `decide`: an admission that can't wait; the failure mode decides if counts are unknown.
 */
type Purpose = "look" | "ask" | "decide";

/**
 * A host's part of a counter or an account: a judgement may have to wait until the engine answers
 * about it.
 */
export interface Awaited {
  /** Whether there is no fresh answer of the engine. */
  readonly isUnknown: boolean;
  /** Whether the engine will grant nothing before a waiting request times out. */
  readonly willTimeOut: boolean;
  /** Requests that wait for an answer. */
  waiting: number;
  /** Asks the engine soon. */
  ask(): void;
}

export class ClusterTurn<Share extends Awaited = Awaited> {
  readonly failureMode: ClusterFailureMode;
  /** On the monotonic clock. */
  monoMs = 0;
  /** The wall clock, for raises while the engine's clock isn't known. */
  wallMs: () => number = () => 0;
  /** The open batch of the journal. */
  lsn = 0;
  /** The number of hosts, including this one. */
  hostCount = 1;
  /** Whether the engine doesn't answer. */
  isAway = false;
  /**
   * After the engine has lost data, no host asks for units until this time, so that all hosts can
   * report again first.
   */
  settledAtMonoMs = 0;
  purpose: Purpose = "look";
  /**
   * The shares and claims that were too small or too old for this judgement; one may be in it
   * twice.
   */
  readonly lacking: Awaited[] = [];
  /** The shares without a fresh answer that an explanation has used. */
  readonly looked = new Set<Share>();

  constructor(failureMode: ClusterFailureMode) {
    this.failureMode = failureMode;
  }

  /** Begins an admission. */
  begin(purpose: "ask" | "decide"): void {
    this.purpose = purpose;
    this.lacking.length = 0;
  }

  end(): void {
    this.purpose = "look";
  }

  /** For how long no host may ask for units; 0 if hosts may ask. */
  get settlingMs(): number {
    return Math.max(0, this.settledAtMonoMs - this.monoMs);
  }

  /** The number of other hosts. */
  get otherHosts(): number {
    return Math.max(0, this.hostCount - 1);
  }

  /** Whether waiting for the engine would not help this judgement. */
  get willTimeOut(): boolean {
    return this.purpose === "decide" || this.isCutOff;
  }

  /** Whether the engine doesn't answer about what this judgement lacked. */
  get isCutOff(): boolean {
    return this.isAway || this.lacking.some((share) => share.willTimeOut);
  }

  /**
   * Whether the judgement is invalid: the engine must be asked first, or it is away and the failure
   * mode admits nothing without it.
   */
  get isUnsure(): boolean {
    if (this.purpose === "look" || this.lacking.length === 0) return false;
    return this.purpose === "ask" || this.lacking.some((share) => share.isUnknown);
  }
}
