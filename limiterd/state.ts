/**
 * The daemon's whole state in memory, in one object that `start-state.ts` makes and the steps
 * share, and what can be derived from it directly. Each part is documented where it is declared.
 */

import type { TenantList } from "../shared/api/tenant-item.js";
import type { WaitLimits } from "../shared/config/config.js";
import type { DaemonConfig } from "../shared/config/daemon-config.js";
import type { Inert, InertReason } from "../shared/config/inert-rule.js";
import type { UseProblem } from "../shared/config/model-to-use.js";
import type { BudgetDefinition, UnpricedChoice } from "../shared/domain/budget.js";
import type { LoopTimes } from "../shared/domain/loop-rule.js";
import { emptySum, type MoneySum } from "../shared/domain/money.js";
import type { RuleDefinition } from "../shared/domain/rule.js";
import type { TokenWeights } from "../shared/domain/token-weights.js";
import type { UpstreamPolicy } from "../shared/domain/upstream-limits.js";
import type { LimitCounts } from "../shared/limit-files/limits-plan.js";
import { limiterMetrics } from "../shared/metrics/limiter-metrics.js";
import type { ProcessReading } from "../shared/metrics/process-reading.js";
import { newSeries, observe, type Series } from "../shared/metrics/series.js";
import type { Execution } from "../shared/wire/execution.js";
import type { SettledPart, UnsupportedHello } from "../shared/wire/message-to-daemon.js";
import type { WireVersions } from "../shared/wire/wire-versions.js";
import type { AlertBook, AlertDestination } from "./alerts/alert-book.js";
import type { AuditLog } from "./audit/audit-log.js";
import type { ProxySettings } from "./audit/proxy-settings.js";
import type { BudgetBook } from "./budgets/budget-book.js";
import type { SpendLog } from "./budgets/spend-log.js";
import type { SharedDefinitions } from "./cluster/definitions/shared-definitions.js";
import type { ClusterMember } from "./cluster/hosts/cluster-member.js";
import type { DeclaredLimits } from "./declared-limits.js";
import type { HeldLimitFiles } from "./handlers/limit-files/held-limit-files.js";
import type { JwtDenials } from "./keys/jwt-denials.js";
import type { KeyRing } from "./keys/key-ring.js";
import type { SessionTable } from "./keys/session-table.js";
import type { LastAnswers } from "./lists/fullest.js";
import type { ObjectOwners } from "./objects/object-owners.js";
import type { PeerState, Proxies } from "./peer.js";
import type { RaiseNote } from "./raise-note.js";
import type { BackTests } from "./rules/back-tests/back-tests.js";
import type { LearnedPrompts } from "./rules/learned-prompts.js";
import type { RecentRefusals } from "./rules/recent-refusals.js";
import type { RuleBook } from "./rules/rule-book.js";
import type { ShareSync } from "./shares/sync/share-sync.js";
import type { Backups } from "./store/backups.js";
import type { Epochs } from "./store/epochs.js";
import type { LastBackup } from "./store/last-backup.js";
import type { Store } from "./store/store.js";
import type { Writer } from "./store/writer.js";
import type { UpstreamBook } from "./upstream/upstream-book.js";
import type { Followers } from "./usage/followers/followers.js";
import type { PendingResponses } from "./usage/pending-responses.js";
import type { AdjustmentQueue } from "./usage/repricing.js";
import type { RequestBook } from "./usage/request-book.js";
import type { TrafficBook } from "./usage/traffic-book.js";
import type { UsageLog } from "./usage/usage-log.js";
import type { Waiters } from "./waiting/waiters.js";
import type { WaitingDraws } from "./waiting/waiting-draws.js";

export interface DaemonSettings extends DaemonConfig {
  readonly version: string;
  /** The wire versions that it speaks. */
  readonly wireVersions: WireVersions;
  readonly pid: number;
  readonly rateLimitsEnabled: boolean;
  /** For rules without weights of their own; null: each token counts as one. */
  readonly tokenWeights: TokenWeights | null;
  readonly budgetsEnabled: boolean;
  /** Where alerts go; none if nothing is watched. */
  readonly alerts: readonly AlertDestination[];
  /** For budgets that don't say it. */
  readonly unpriced: UnpricedChoice;
  /** For how long requests may wait for room. */
  readonly waiting: WaitLimits;
  /** By provider. */
  readonly upstreams: ReadonlyMap<string, UpstreamPolicy>;
  /** Why a rule is inert under this configuration; null if it isn't. */
  readonly inertReason: InertReason;
  /** Why the model that a limit names can't serve instead; null if it can. */
  readonly useProblem: UseProblem;
  /** The path of the configuration file. */
  readonly configFile: string | null;
  /** How messages show a setting, by its path (`setting-text.ts`). */
  readonly settingText: (path: string) => string;
}

export interface DaemonState {
  readonly settings: DaemonSettings;
  readonly book: RuleBook;
  /** The counters shared with other hosts; null without a cluster. */
  shares: ShareSync | null;
  readonly configured: ConfiguredRules;
  /** What the configuration declares, independent of later edits. */
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
  readonly upstream: UpstreamBook;
  readonly learnedPrompts: LearnedPrompts;
  readonly proxies: Proxies;
  readonly writer: Writer;
  readonly store: Store;
  readonly backups: Backups;
  /** Null without a cluster, as is `sharedDefinitions`. */
  cluster: ClusterMember | null;
  sharedDefinitions: SharedDefinitions | null;
  readonly usage: UsageLog;
  readonly pending: PendingResponses;
  readonly adjustmentQueue: AdjustmentQueue;
  readonly backTests: BackTests;
  /** The last lists by use. */
  readonly rankings: {
    readonly rules: LastAnswers<readonly string[]>;
    readonly budgets: LastAnswers<readonly string[]>;
    readonly childRules: LastAnswers<readonly string[]>;
    readonly childBudgets: LastAnswers<readonly string[]>;
    readonly tenants: LastAnswers<TenantList>;
  };
  readonly limitFiles: HeldLimitFiles;
  readonly followers: Followers;
  readonly spendLog: SpendLog;
  readonly alerts: AlertBook;
  readonly requests: RequestBook;
  readonly traffic: TrafficBook;
  readonly audit: AuditLog;
  readonly proxySettings: ProxySettings;
  /**
   * Resolves after everything that waits for the event loop has run: called between the slices of
   * long reads.
   */
  readonly yieldToEventLoop: () => Promise<void>;
  /** The wall clock, for work in a later turn than its message. */
  readonly wallMs: () => number;
  /** Whether accounts of budgets are still being loaded from the store. */
  accountsLoading: boolean;
  /**
   * Resolves when stale accounts are removed from the store and look-ups are written. The next
   * operation that needs either is answered after that, so that they don't accumulate.
   */
  accountsWritten: Promise<unknown>;
  readonly peers: Set<PeerState>;
  /** Whether the daemon is stopping; it ignores messages then. */
  isStopping: boolean;
  readonly epochs: Epochs;
  readonly startedAtMs: number;
  /**
   * Proxies of the last run that haven't reconnected; null once the reconnect grace period is over.
   */
  expectedProxies: Set<string> | null;
  readonly refusals: RecentRefusals;
  readonly waiters: Waiters;
  readonly draws: WaitingDraws;
  /** The ids of inert rules; proxies report their number in /health. */
  readonly inertRules: Set<string>;
  /** Called with each inert rule and budget that is written, for the log. */
  readonly onInert: (inert: Inert) => void;
  /** Called when damage in the store is found while the daemon runs, for the log. */
  readonly onUnreadable: (error: Error) => void;
  /** Called with each invalid usage record and the name of its invalid field, for the log. */
  readonly onDroppedRecord: (proxyId: string, flaw: string, record: Execution) => void;
  /** Called with each hello of another wire version, for the log. */
  readonly onUnsupportedVersion: (hello: UnsupportedHello) => void;
  /** Called when a file of limits has changed something, for the log. */
  readonly onLimitsApplied: (counts: LimitCounts) => void;
  /** As in the ports of a backfill. */
  readonly onUnsureSpend: (budgetId: string, cost: MoneySum) => void;
  /** Called when a limit is raised, and when a raise ends, for the log. */
  readonly onRaise: (note: RaiseNote) => void;
  readonly counts: DaemonCounts;
  readonly measures: DaemonMeasures;
  /** Why the store can't be written, as announced to the proxies; usually null. */
  storeFailing: string | null;
  /** Why the engine can't be reached, as announced to the proxies; usually null. */
  clusterFailing: string | null;
  lastBackup: LastBackup;
  /** When the last snapshot was complete. */
  lastSnapshotAtMs: number | null;
}

/** The configuration whose rules the store has, for the next start. */
interface ConfiguredRules {
  /**
   * As in `RulesNote`; empty once one of its rules was deleted, so that the next start restores it.
   */
  applied: string;
}

/** What happened since the start, for `sluice status`. */
interface DaemonCounts {
  admitted: number;
  /** All refusals, including those over budget. */
  refused: number;
  /**
   * Admissions and authorizations with an unknown, expired or deactivated key, or without one where
   * one is needed.
   */
  denied: number;
  overBudget: number;
  /** Counted settles, by part. */
  readonly settledParts: Record<SettledPart, number>;
  /** Tokens of counted settles without cached answers; at most the largest safe integer. */
  tokens: number;
  /** Cost of the kept usage records. */
  readonly cost: MoneySum;
  /** Repeated settles, which weren't counted again. */
  repeatedSettles: number;
  /** Invalid usage records; their settles were counted. */
  droppedRecords: number;
  /** Peers closed because they violated the protocol, read too slowly, or sent no hello in time. */
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

/**
 * Whether requests need an admission, which they do with any rule or budget, or if a provider's own
 * limits count.
 */
export function isLimited(state: DaemonState): boolean {
  return (
    (state.settings.rateLimitsEnabled && state.book.ruleSet.size > 0) ||
    enforcedBudgets(state) !== null ||
    state.upstream.isJudging
  );
}

/** Whether any rule or budget is a hard cap, so that proxies meter the output as it flows. */
export function hasHardCaps(state: DaemonState): boolean {
  const { settings, book } = state;
  if (!settings.usageEnabled) return false;
  return (
    (settings.rateLimitsEnabled && book.ruleSet.hasHard) ||
    (enforcedBudgets(state)?.hardIds.size ?? 0) > 0
  );
}

/** Whether each session has a budget, so that proxies say the session of a request. */
export function hasSessionBudgets(state: DaemonState): boolean {
  return (enforcedBudgets(state)?.perSessionIds.size ?? 0) > 0;
}

/** When the first rule on loops acts, and when the last; null if none does. */
export function loopTimes({ settings, book }: DaemonState): LoopTimes | null {
  return settings.rateLimitsEnabled ? book.ruleSet.loopTimes : null;
}

/** The enforced rule on loops that applies to a path; null without one. */
export function loopsFor(
  { settings, book }: Pick<DaemonState, "settings" | "book">,
  userPath: string,
): ReturnType<RuleBook["loopsOf"]> {
  return settings.rateLimitsEnabled ? book.loopsOf(userPath) : null;
}

/** Whether any request waits for room. */
export function hasWaiters({ waiters }: DaemonState): boolean {
  return waiters.queues.size > 0;
}

/** The providers' own limits; null if verdicts don't depend on them. */
export function judgingUpstream({ upstream }: DaemonState): UpstreamBook | null {
  return upstream.isJudging ? upstream : null;
}

/** The budgets if there are any and they are enforced, which needs usage. */
export function enforcedBudgets({ settings, budgets }: DaemonState): BudgetBook | null {
  const { budgetsEnabled, usageEnabled } = settings;
  return budgetsEnabled && usageEnabled && budgets.budgets.size > 0 ? budgets : null;
}

export interface MeasurePorts {
  monoMs(): number;
  readProcess(): Promise<ProcessReading>;
}

/** The daemon's measurements of itself, in addition to its counts (`DaemonCounts`). */
export class DaemonMeasures {
  readonly commits: Series = newSeries(limiterMetrics.commit);
  readonly #ports: MeasurePorts | null;

  /** Absent: nothing is measured. */
  constructor(ports: MeasurePorts | null = null) {
    this.#ports = ports;
  }

  /** Call when a commit begins; call the returned function when it has succeeded. */
  timeCommit(): () => void {
    const ports = this.#ports;
    if (ports === null) return () => {};
    const fromMonoMs = ports.monoMs();
    return () => {
      const seconds = (ports.monoMs() - fromMonoMs) / 1000;
      observe(this.commits, limiterMetrics.commit.buckets, seconds);
    };
  }

  /** Null without ports. */
  readProcess(): Promise<ProcessReading | null> {
    return this.#ports?.readProcess() ?? Promise.resolve(null);
  }
}
