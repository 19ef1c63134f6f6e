/**
 * Everything the daemon holds in memory, in one object that `start-state.ts` makes and the steps
 * share, and what can be read from it at a glance. What each part does is documented where it is
 * declared.
 */

import type { BackgroundConfig } from "../shared/config/config.js";
import type { Inert, InertReason } from "../shared/config/inert-rule.js";
import type { BudgetDefinition } from "../shared/domain/budget.js";
import { emptySum, type MoneySum } from "../shared/domain/money.js";
import type { RuleDefinition } from "../shared/domain/rule.js";
import type { LimitCounts } from "../shared/limit-files/limits-plan.js";
import type { Execution } from "../shared/wire/execution.js";
import type { ForeignHello, SettledPart } from "../shared/wire/message-to-daemon.js";
import type { WireVersions } from "../shared/wire/wire-versions.js";
import type { BudgetBook } from "./budgets/budget-book.js";
import type { SpendLog } from "./budgets/spend-log.js";
import type { SharedDefinitions } from "./cluster/definitions/shared-definitions.js";
import type { ClusterMember } from "./cluster/hosts/cluster-member.js";
import type { DeclaredLimits } from "./declared-limits.js";
import type { HeldLimitFiles } from "./handlers/limit-files/held-limit-files.js";
import type { JwtDenials } from "./keys/jwt-denials.js";
import type { KeyRing } from "./keys/key-ring.js";
import type { SessionTable } from "./keys/session-table.js";
import type { DaemonMeasures } from "./metrics/daemon-measures.js";
import type { ObjectOwners } from "./objects/object-owners.js";
import type { PeerState } from "./peer.js";
import type { Proxies } from "./proxies.js";
import type { BackTests } from "./rules/back-tests/back-tests.js";
import type { RecentRefusals } from "./rules/recent-refusals.js";
import type { RuleBook } from "./rules/rule-book.js";
import type { ShareSync } from "./shares/sync/share-sync.js";
import type { Backups } from "./store/backups.js";
import type { Epochs } from "./store/epochs.js";
import type { LastBackup } from "./store/last-backup.js";
import type { Store } from "./store/store.js";
import type { Writer } from "./store/writer.js";
import type { Followers } from "./usage/followers/followers.js";
import type { PendingResponses } from "./usage/pending-responses.js";
import type { UsageLog } from "./usage/usage-log.js";

export interface DaemonSettings {
  readonly version: string;
  /** Those that it speaks. */
  readonly wireVersions: WireVersions;
  readonly pid: number;
  readonly rateLimitsEnabled: boolean;
  readonly usageEnabled: boolean;
  readonly background: BackgroundConfig;
  readonly quotaTemplatesEntitled: boolean;
  readonly budgetsEnabled: boolean;
  /** Which rules do nothing under this configuration. */
  readonly inertReason: InertReason;
  /** Its path. */
  readonly configFile: string | null;
  /** How a setting is said in texts about its value, by its path (`setting-text.ts`). */
  readonly settingText: (path: string) => string;
}

export interface DaemonState {
  readonly settings: DaemonSettings;
  readonly book: RuleBook;
  /** What is counted with other hosts; null: this host is alone. */
  shares: ShareSync | null;
  readonly configured: ConfiguredRules;
  /** What the configuration declares, whatever was edited since. */
  readonly declared: {
    readonly rules: DeclaredLimits<RuleDefinition>;
    readonly budgets: DeclaredLimits<BudgetDefinition>;
  };
  readonly keys: KeyRing;
  readonly denials: JwtDenials;
  readonly sessions: SessionTable;
  readonly objects: ObjectOwners;
  readonly budgets: BudgetBook;
  /** The labels of a managed key; none for the empty id. */
  readonly labelsOf: (keyId: string) => readonly string[];
  readonly proxies: Proxies;
  readonly writer: Writer;
  readonly store: Store;
  readonly backups: Backups;
  /** Null on a host that shares nothing with others, and so is what follows. */
  cluster: ClusterMember | null;
  sharedDefinitions: SharedDefinitions | null;
  readonly usage: UsageLog;
  readonly pending: PendingResponses;
  readonly backTests: BackTests;
  readonly limitFiles: HeldLimitFiles;
  readonly followers: Followers;
  readonly spendLog: SpendLog;
  /**
   * Resolved after everything that waits for the event loop has run: called between the slices of
   * long reads.
   */
  readonly yieldToEventLoop: () => Promise<void>;
  /** The wall clock, for what is done in a later turn than its message. */
  readonly wallMs: () => number;
  /** Accounts of budgets are still being read from the store. */
  accountsLoading: boolean;
  /**
   * Resolved: the store has no account any more that an operation made stale, and all that one has
   * looked up. The next such operation is answered no earlier, so that they can't pile up.
   */
  accountsWritten: Promise<unknown>;
  readonly peers: Set<PeerState>;
  /** Being stopped: what still arrives is ignored. */
  stopping: boolean;
  readonly epochs: Epochs;
  readonly startedAtMs: number;
  /**
   * Proxies that were connected when the last daemon ended and haven't said hello yet; null once
   * the reconnect grace period is over.
   */
  expectedProxies: Set<string> | null;
  readonly refusals: RecentRefusals;
  /** The ids of the rules that do nothing; the proxies report their number in /health. */
  readonly inertRules: Set<string>;
  /** Called with each rule and budget that is written and does nothing, for the log. */
  readonly onInert: (inert: Inert) => void;
  /**
   * Called when something in the store turns out to be damaged while the daemon runs, for the log.
   */
  readonly onUnreadable: (error: Error) => void;
  /**
   * Called with each invalid usage record of a proxy and the name of its invalid field, for the
   * log.
   */
  readonly onDroppedRecord: (proxyId: string, flaw: string, record: Execution) => void;
  /** Called with each hello of a wire version that isn't spoken, for the log. */
  readonly onForeignVersion: (hello: ForeignHello) => void;
  /** Called when a file of limits has changed something, for the log. */
  readonly onLimitsApplied: (counts: LimitCounts) => void;
  readonly counts: DaemonCounts;
  readonly measures: DaemonMeasures;
  /** Why the store can't be written, as it was announced to the proxies; null when it can. */
  storeFailing: string | null;
  /** Why the engine isn't reached, as the proxies were told; null: it is, or nothing is shared. */
  clusterFailing: string | null;
  lastBackup: LastBackup;
  /** When a snapshot was last complete. */
  lastSnapshotAtMs: number | null;
}

/** Which rules of the configuration the store has, for the next start. */
interface ConfiguredRules {
  /** As in `RulesNote`; empty once one of them was deleted, which the next start makes again. */
  applied: string;
}

/** What happened since the start, for `sluice status`. */
interface DaemonCounts {
  admitted: number;
  /** Over budget or not. */
  refused: number;
  /**
   * Admissions and authorizations with an unknown, expired or deactivated key, or without one where
   * one is needed.
   */
  denied: number;
  overBudget: number;
  /** Settles that were counted, by what they settle. */
  readonly settledParts: Record<SettledPart, number>;
  /** Of settles that were counted, cached answers left out; at most the largest safe integer. */
  tokens: number;
  /** Of usage records that were kept. */
  readonly cost: MoneySum;
  /** Settles that were repeated and not counted again. */
  repeatedSettles: number;
  /** Invalid usage records, of settles that were counted without them. */
  droppedRecords: number;
  /** Peers closed because they broke the grammar, read too slowly, or never said hello. */
  closedPeers: number;
  failedCommits: number;
}

export function newCounts(): DaemonCounts {
  return {
    admitted: 0,
    refused: 0,
    denied: 0,
    overBudget: 0,
    settledParts: {
      request: 0,
      progress: 0,
      attempt: 0,
      untried: 0,
      withdrawn: 0,
      cached: 0,
      final: 0,
    },
    tokens: 0,
    cost: emptySum(),
    repeatedSettles: 0,
    droppedRecords: 0,
    closedPeers: 0,
    failedCommits: 0,
  };
}

/** Whether requests need an admission: without any rule or budget they don't. */
export function isLimited(state: DaemonState): boolean {
  return (
    (state.settings.rateLimitsEnabled && state.book.ruleSet.size > 0) ||
    (enforcedBudgets(state)?.budgets.size ?? 0) > 0
  );
}

/** The budgets, if they are enforced: without usage it isn't known what is spent. */
export function enforcedBudgets({ settings, budgets }: DaemonState): BudgetBook | null {
  return settings.budgetsEnabled && settings.usageEnabled ? budgets : null;
}
