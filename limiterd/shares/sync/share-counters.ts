/** Puts the counters of a rule book under the limits that all hosts share. */

import type { ClusterFailureMode } from "../../../shared/cluster/cluster-config.js";
import { rollWindow } from "../../counters/window.js";
import type { RuleBook } from "../../rules/rule-book.js";
import { ClusterTurn } from "../cluster-turn.js";
import type { Share } from "../share.js";
import { ClusterCounts } from "./cluster-counts.js";
import { ShareSync } from "./share-sync.js";
import type { SyncPorts } from "./sync-ports.js";

/** From now on every rule of the book, those that are made later too, is the cluster's. */
export function shareCounters(
  book: RuleBook,
  ports: Omit<SyncPorts, "ownCounts">,
  failureMode: ClusterFailureMode,
): ShareSync {
  const sync = new ShareSync(new ClusterTurn<Share>(failureMode), new ClusterCounts(), {
    ...ports,
    ownCounts({ rule, child }) {
      if (book.ruleSet.get(rule.id) !== rule) return null;
      const nowMs = ports.nowMs();
      const { window, inFlight } = book.fresh(rule).own ?? book.childOf(rule, child, nowMs);
      rollWindow(window, rule.periodMs, nowMs);
      return { window, inFlight };
    },
  });
  sync.enter();
  book.sharesOf = (rule) => sync.sharesOf(rule);
  for (const rule of book.ruleSet.inMemory.values()) rule.shares = sync.sharesOf(rule);
  return sync;
}
