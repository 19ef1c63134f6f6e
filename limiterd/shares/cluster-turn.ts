/**
 * What all shares of a host go by while one message is handled: the time, whether the engine can be
 * asked, and what a verdict couldn't find out. Whoever begins a turn of the event loop sets it.
 */
import type { ClusterFailureMode } from "../../shared/cluster/cluster-config.js";

/**
 * - `look`: an explanation or a list. What the engine would grant counts as granted.
 * - `ask`: an admission that can still wait for the engine.
 * - `decide`: one that can't: what isn't known is decided by the failure mode.
 */
type Purpose = "look" | "ask" | "decide";

/** A counter that may not know what a judgement needs. */
interface Unsure {
  /** Whether the engine hasn't said just now what it has. */
  readonly isUnknown: boolean;
  /** Whether it grants nothing for as long as a request waits. */
  readonly willTimeOut: boolean;
}

export class ClusterTurn<Share extends Unsure = Unsure> {
  readonly failureMode: ClusterFailureMode;
  /** On the monotonic clock. */
  monoMs = 0;
  /** The open batch of the journal. */
  lsn = 0;
  /** How many hosts there are, this one included. */
  hosts = 1;
  /** The engine doesn't answer. */
  away = false;
  /** The engine has lost data: until then no host asks for units, so that each can restate. */
  settledAtMonoMs = 0;
  purpose: Purpose = "look";
  /** The shares that didn't know what this judgement needed, each with how it was needed. */
  readonly lacking: Share[] = [];
  /** Those that an explanation has met, and that don't know what others count just now. */
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

  /** For how long no host asks for units; 0: they may. */
  get settlingMs(): number {
    return Math.max(0, this.settledAtMonoMs - this.monoMs);
  }

  /** Those beside this one. */
  get otherHosts(): number {
    return Math.max(0, this.hosts - 1);
  }

  /** Whether the judgement lacks what waiting for the engine won't bring. */
  get willTimeOut(): boolean {
    return this.purpose === "decide" || this.lacking.some((share) => share.willTimeOut);
  }

  /**
   * Whether the judgement can't stand: the engine is to be asked; or it can't be, and nothing is
   * admitted without it.
   */
  get isUnsure(): boolean {
    if (this.purpose === "look" || this.lacking.length === 0) return false;
    return this.purpose === "ask" || this.lacking.some((share) => share.isUnknown);
  }
}
