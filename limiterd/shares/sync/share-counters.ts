/** Connects the counters of a rule book with the limits that all hosts share. */
import type { ClusterFailureMode } from "../../../shared/cluster/cluster-config.js";
import type { Rule } from "../../counters/counter.js";
import { rollWindow } from "../../counters/window.js";
import type { RuleBook } from "../../rules/rule-book.js";
import { ClusterTurn } from "../cluster-turn.js";
import type { Share } from "../share.js";
import { ClusterCounts, ShareSync, type SyncPorts } from "./share-sync.js";

/** Shares every rule of the book except host-only rules, including rules that are made later. */
export function shareCounters(
  book: RuleBook,
  ports: Omit<SyncPorts, "ownCounts"> & {
    /** Called when a host-only rule becomes shared: its counts must be reported. */
    readonly onShared: (rule: Rule) => void;
  },
  failureMode: ClusterFailureMode,
): ShareSync {
  const sync = new ShareSync(new ClusterTurn<Share>(failureMode), new ClusterCounts(), {
    ...ports,
    ownCounts(share) {
      const { rule, child } = share;
      // The rule was deleted, has new shares, or is host-only now.
      if (book.ruleSet.find(rule.id) !== rule || rule.shares?.find(child) !== share) return null;
      const nowMs = ports.nowMs();
      const { window, inFlight } = book.fresh(rule).own ?? book.childOf(rule, child, nowMs);
      rollWindow(window, rule.periodMs, nowMs);
      return { window, inFlight };
    },
  });
  sync.enter();
  book.sharesOf = (rule) => (rule.definition.hostOnly === true ? null : sync.sharesOf(rule));
  book.onSharingChanged = (rule) => {
    rule.shares = book.sharesOf(rule);
    if (rule.shares !== null) ports.onShared(rule);
  };
  for (const rule of book.ruleSet.inMemory.values())
    for (const part of [rule, ...rule.parts]) part.shares = book.sharesOf(part);
  return sync;
}
