/** What asking the engine needs of the daemon around it. */
import type { SharedLimits } from "../../cluster/shared-limits.js";
import type { Rule } from "../../counters/counter.js";
import type { Share } from "../share.js";
import type { OwnCounts } from "../synced-share.js";

export interface SyncPorts {
  readonly shared: SharedLimits;
  monoMs(): number;
  nowMs(): number;
  /** The open batch of the journal. */
  lsn(): number;
  /** Runs `run` after `ms`. */
  schedule(ms: number, run: () => void): void;
  /** What this host has counted, its window rolled to now; null: the rule is there no more. */
  ownCounts(share: Share): OwnCounts | null;
  /** How often a rule was reset, or a number that grows with each time. */
  generationOf(rule: Rule): number;
}
