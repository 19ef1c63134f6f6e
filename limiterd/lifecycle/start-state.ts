/** Makes the daemon's state: restores it from the store and writes the new epoch. */

import type { AuditEntry } from "../../shared/api/audit-entry.js";
import { windowsPerSlice } from "../../shared/bounds.js";
import type { Inert } from "../../shared/config/inert-rule.js";
import type { ModelNamings } from "../../shared/config/model-name.js";
import { type BudgetDefinition, budgetId, budgetName } from "../../shared/domain/budget.js";
import { keyNumber } from "../../shared/domain/managed-key.js";
import {
  type DeclaredAt,
  periodLabel,
  type RuleDefinition,
  ruleId,
} from "../../shared/domain/rule.js";
import { Turns } from "../../shared/long-lists.js";
import type { ShownSetting } from "../../shared/wire/settings-report.js";
import { AlertBook } from "../alerts/alert-book.js";
import { noteCharged } from "../alerts/watch-budgets.js";
import { AuditLog, configurationApplied } from "../audit/audit-log.js";
import { describeConfigured } from "../audit/describe-change.js";
import { describeSettings } from "../audit/describe-settings.js";
import { ProxySettings } from "../audit/proxy-settings.js";
import { beginBackfill, createSpentOnDays } from "../budgets/backfill-budget.js";
import { removeSpends } from "../budgets/remove-spends.js";
import { restoreBudgets } from "../budgets/restore-budgets.js";
import { SpendLog } from "../budgets/spend-log.js";
import { budgetChange } from "../budgets/stored-budget.js";
import type { HashKey } from "../counters/child-name.js";
import { DeclaredLimits } from "../declared-limits.js";
import { findInertRules, listInert } from "../handlers/admin/daemon-status.js";
import { announce, noteStoreState } from "../handlers/announcements/announce.js";
import { restoreRaises } from "../handlers/definitions/apply-raises.js";
import { waitingTurn } from "../handlers/handle-message.js";
import { restoreHolds } from "../handlers/interrupted-requests.js";
import { HeldLimitFiles } from "../handlers/limit-files/held-limit-files.js";
import { SessionTable } from "../keys/session-table.js";
import { LastAnswers } from "../lists/fullest.js";
import { ObjectOwners } from "../objects/object-owners.js";
import type { RaiseNote } from "../raise-note.js";
import { BackTests } from "../rules/back-tests/back-tests.js";
import { LearnedPrompts } from "../rules/learned-prompts.js";
import { RecentRefusals } from "../rules/recent-refusals.js";
import { shadowNotes } from "../rules/stored-rule.js";
import {
  DaemonMeasures,
  type DaemonSettings,
  type DaemonState,
  type MeasurePorts,
  newCounts,
} from "../state.js";
import { type BackupPorts, Backups } from "../store/backups.js";
import type { HostUptime } from "../store/epochs.js";
import { storedLastBackup } from "../store/last-backup.js";
import type { Store } from "../store/store.js";
import { Writer } from "../store/writer.js";
import { UpstreamBook } from "../upstream/upstream-book.js";
import { Followers } from "../usage/followers/followers.js";
import { identify } from "../usage/followers/store-ids.js";
import { PendingResponses } from "../usage/pending-responses.js";
import { AdjustmentQueue } from "../usage/repricing.js";
import { RequestBook } from "../usage/request-book.js";
import { TrafficBook } from "../usage/traffic-book.js";
import { restoreUsage } from "../usage/usage-log.js";
import { Waiters } from "../waiting/waiters.js";
import { WaitingDraws } from "../waiting/waiting-draws.js";
import { loadAccounts } from "./load-unread.js";
import { restore } from "./restore.js";

/** The callbacks that the state calls later. */
type LaterPorts = Pick<
  DaemonState,
  "onDroppedRecord" | "onUnsupportedVersion" | "onLimitsApplied" | "onUnsureSpend"
> &
  Pick<DaemonState, "onUnreadable" | "yieldToEventLoop" | "wallMs">;

interface StartPorts extends LaterPorts {
  readonly store: Store;
  /** Runs `run` after `ms`. */
  schedule(ms: number, run: () => void): void;
  /** Begins a copy of the store. Throws `StoreFailingError`. */
  beginCopy: BackupPorts["beginCopy"];
  /**
   * Called when commits begin to fail, when the reason changes, and with null when one succeeds
   * after that.
   */
  onStoreState(error: Error | null): void;
  /** Called once the spend of budgets is loaded. */
  onAccountsLoaded?(): void;
  /** Called for each inert rule and budget, at the start and when one is written. */
  onInert(inert: Inert): void;
  /** Called when a limit is raised, and when a raise ends, for the log. */
  onRaise(note: RaiseNote): void;
  /** Called with each entry of the audit log, for the log. */
  onAudited?(entry: AuditEntry): void;
  /** Called with the stored templates if the entitlement for them is missing. */
  onUnentitled(templates: readonly string[]): void;
  /** Called when the store can't be read: the daemon must exit immediately. */
  onBroken(error: Error): void;
  /** Without these ports nothing is measured. */
  readonly measures?: MeasurePorts;
}

interface StartOptions {
  readonly settings: DaemonSettings;
  /** The settings that the audit log compares with those of the start before. */
  readonly shownSettings?: readonly ShownSetting[];
  /** The rules of the configuration. */
  readonly rules: readonly RuleDefinition[];
  /** A digest of the text of the rules. */
  readonly digest: string;
  /** The budgets of the configuration. */
  readonly budgets: readonly BudgetDefinition[];
  /** Where each rule and budget is declared, in their order, if known. */
  readonly declaredAt?: DeclaredPlaces;
  /** The providers of the configuration. */
  readonly providers: ModelNamings;
  /** The key of the hash of children: two secret random 32-bit integers. */
  readonly hashKey: HashKey;
  /** The name of the machine. */
  readonly host: string;
  /** A random id for a store without one. */
  readonly newStoreId: string;
  readonly nowMs: number;
  readonly uptime: HostUptime;
}

const unplaced: DeclaredPlaces = { rules: [], budgets: [] };
/** Interval of attempts to write to a failing store, in ms. */
const retryMs = 1000;

/**
 * Resolves when everything that answers depend on is committed; the daemon answers nothing before.
 * If the store can't be written, it resolves with these changes queued, ahead of their consequences
 * and of any removal.
 */
export async function startState(
  {
    store,
    schedule,
    beginCopy,
    onStoreState,
    onAccountsLoaded,
    onInert,
    onUnentitled,
    onUnreadable,
    onBroken,
    onDroppedRecord,
    onUnsupportedVersion,
    onLimitsApplied,
    onUnsureSpend,
    onRaise,
    onAudited,
    measures: measurePorts,
    yieldToEventLoop,
    wallMs,
  }: StartPorts,
  { settings, rules, digest, budgets: configured, declaredAt = unplaced, ...options }: StartOptions,
): Promise<DaemonState> {
  const { providers, hashKey, nowMs, uptime } = options;
  const restored = restore(store, settings.rateLimitsEnabled ? rules : null, {
    digest,
    hashKey,
    providers,
    nowMs,
    uptime,
  });
  const reportStoreState = (error: Error | null): void => {
    if (error !== null) state.backups.giveUp(error);
    if (noteStoreState(state, error)) onStoreState(error);
  };
  // No key has the number 0.
  const labelsOf = (keyId: string): readonly string[] =>
    restored.keys.byNumber(keyNumber(keyId) ?? 0)?.labels ?? [];
  const usage = restoreUsage({ store, labelsOf, onDamaged: onUnreadable });
  const {
    budgets,
    incomplete,
    logged,
    changes: budgetChanges,
  } = restoreBudgets(
    store,
    settings.budgetsEnabled ? configured : null,
    {
      spentOnDays: createSpentOnDays(usage, onUnreadable),
      lastRecordKey: () => usage.lastKey,
      providers,
    },
    nowMs,
  );
  const raiseChanges = restoreRaises(store, { book: restored.book, budgets }, nowMs);
  const alerts = new AlertBook(settings.alerts);
  const alertChanges = alerts.restore(store);
  budgets.recentSpend.begin(nowMs);
  if (alerts.isUsed)
    budgets.onCharged = (account, atMs) => noteCharged(alerts, budgets, account, atMs);
  const pending = new PendingResponses(settings.background);
  pending.restore(store, nowMs);
  restored.book.batches = pending;
  const adjustmentQueue = new AdjustmentQueue();
  const requests = new RequestBook(settings.requestDetailsMax);
  const requestChanges = requests.restore(store);
  const audit = new AuditLog(store, onAudited);
  const settingsAudit = describeSettings(store, options.shownSettings ?? null);
  const auditChanges = audit.record(
    [
      { subject: "daemon", before: null, after: { started: settings.version } },
      ...settingsAudit.auditedChanges,
      ...describeConfigured(store, [...restored.changes, ...budgetChanges]),
    ],
    configurationApplied(settings.configFile),
    nowMs,
  );
  const spendLog = new SpendLog(budgets, usage, logged);
  const identity = identify(store, options.newStoreId);
  const storedBackup = storedLastBackup(store, nowMs);
  const measures = new DaemonMeasures(measurePorts);
  const writer = new Writer(
    {
      store,
      counted: restored.book.counted,
      schedule,
      onStoreState: reportStoreState,
      measures,
    },
    {
      firstLsn: restored.epochs.startLsn,
      journaled: restored.journaled,
      retryMs,
      contributors: [usage, restored.proxies, ...(alerts.isUsed ? [alerts] : [])],
    },
  );
  const monoMs = measurePorts === undefined ? wallMs : (): number => measurePorts.monoMs();
  const notes = shadowNotes(restored.book);
  restored.book.onRefusalNoted = () => writer.contribute(notes);
  budgets.onDirty = () => writer.contribute(spendLog);
  const state: DaemonState = {
    settings,
    book: restored.book,
    shares: null,
    configured: { applied: restored.configured },
    declared: {
      rules: new DeclaredLimits(rules, declaredAt.rules, ruleId),
      budgets: new DeclaredLimits(configured, declaredAt.budgets, budgetId),
    },
    budgets,
    labelsOf,
    upstream: new UpstreamBook(settings.upstreams),
    proxies: restored.proxies,
    keys: restored.keys,
    denials: restored.denials,
    sessions: new SessionTable(),
    rankings: {
      rules: new LastAnswers(wallMs),
      budgets: new LastAnswers(wallMs),
      childRules: new LastAnswers(wallMs),
      childBudgets: new LastAnswers(wallMs),
      tenants: new LastAnswers(wallMs),
    },
    backTests: new BackTests({ hashKey, providers }),
    limitFiles: new HeldLimitFiles(),
    objects: new ObjectOwners(store),
    writer,
    accountsLoading: true,
    accountsWritten: Promise.resolve(),
    peers: new Set(),
    isStopping: false,
    epochs: restored.epochs,
    startedAtMs: nowMs,
    expectedProxies: restored.expectedProxies.size > 0 ? restored.expectedProxies : null,
    store,
    cluster: null,
    sharedDefinitions: null,
    backups: new Backups({ beginCopy, schedule }),
    usage,
    pending,
    adjustmentQueue,
    followers: new Followers(identity.storeIds, options.host),
    spendLog,
    alerts,
    requests,
    traffic: new TrafficBook(),
    audit,
    proxySettings: new ProxySettings(store, uptime.boot),
    yieldToEventLoop,
    wallMs,
    learnedPrompts: new LearnedPrompts(),
    refusals: new RecentRefusals(),
    waiters: new Waiters({ monoMs, schedule, inTurn: (turn) => waitingTurn(state, turn) }),
    draws: new WaitingDraws({ monoMs, schedule }),
    inertRules: new Set(),
    onInert,
    onUnreadable,
    onDroppedRecord,
    onUnsupportedVersion,
    onLimitsApplied,
    onUnsureSpend,
    onRaise,
    counts: newCounts(),
    measures,
    storeFailing: null,
    clusterFailing: null,
    lastBackup: storedBackup.lastBackup,
    lastSnapshotAtMs: null,
  };
  restoreHolds(state, nowMs);
  // The mark of each look-up must be in the store before later spend.
  const backfill = beginBackfill(state, incomplete, nowMs);
  await writer.tryWrite([
    ...restored.changes,
    ...identity.changes,
    ...storedBackup.changes,
    ...budgetChanges,
    ...raiseChanges,
    ...alertChanges,
    ...requestChanges,
    ...settingsAudit.changes,
    ...auditChanges,
    ...incomplete.map(budgetChange),
  ]);
  loadAccounts(state)
    .then(async (stale) => {
      if (!state.accountsLoading) onAccountsLoaded?.();
      await removeSpends(state, stale);
      // A stopping daemon hasn't loaded all accounts that a backfill replaces.
      if (!state.accountsLoading) await backfill?.finish().catch(onUnreadable);
    })
    .catch(onBroken);
  state.book.ruleSet.whenRead(() => {
    for (const id of findInertRules(state.book, settings.inertReason)) state.inertRules.add(id);
    announce(state, { kind: "event", name: "inert_rules", value: state.inertRules.size });
    for (const inert of listInert(state)) onInert(inert);
    const unentitled = unentitledTemplates(state);
    if (unentitled.length > 0) onUnentitled(unentitled);
    void placeDeclaredLimits(state);
  });
  return state;
}

/**
 * Stored templates without the entitlement for them. They keep counting per child and can't be
 * written again.
 */
function unentitledTemplates({ settings, book, budgets }: DaemonState): readonly string[] {
  if (settings.quotaTemplatesEntitled) return [];
  return [
    ...book
      .sorted()
      .filter(({ definition }) => definition.perChild)
      .map(({ definition }) => `${definition.subject} ${periodLabel(definition.periodSeconds)}`),
    ...budgets
      .sorted()
      .filter(({ definition }) => definition.perChild)
      .map(({ definition }) => `budget ${budgetName(definition)}`),
  ];
}

/** Where each rule and budget of the configuration is declared, in their order. */
interface DeclaredPlaces {
  readonly rules: readonly DeclaredAt[];
  readonly budgets: readonly DeclaredAt[];
}

/**
 * Notes where rules and budgets are declared, in slices, because there may be 100,000. Resolves
 * when all are noted or the daemon stops.
 */
export async function placeDeclaredLimits(state: DaemonState): Promise<void> {
  const { rules, budgets } = state.declared;
  for (const [i, definition] of budgets.all.entries()) {
    const id = budgetId(definition);
    const budget = state.budgets.budgets.get(id);
    budgets.note(budget?.id ?? id, i);
    if (budget?.source === "config") budget.declaredAt = budgets.at(i);
  }
  const turns = new Turns(windowsPerSlice);
  for (const [i, definition] of rules.all.entries()) {
    const id = ruleId(definition);
    const rule = state.book.rules.get(id);
    // Uses the rule's own string, so that memory has the text only once.
    rules.note(rule?.id ?? id, i);
    if (rule?.source === "config") rule.declaredAt = rules.at(i);
    if (turns.isOver()) await state.yieldToEventLoop();
    if (state.isStopping) return;
  }
}
