/**
 * A daemon's memory and steps without sockets and timers, for tests: peers are arrays, time is set,
 * commits run when asked.
 */

import { AlertBook, type AlertDestination } from "../../limiterd/alerts/alert-book.js";
import { noteCharged } from "../../limiterd/alerts/watch-budgets.js";
import { AuditLog } from "../../limiterd/audit/audit-log.js";
import { ProxySettings } from "../../limiterd/audit/proxy-settings.js";
import { beginBackfill, createSpentOnDays } from "../../limiterd/budgets/backfill-budget.js";
import { removeSpends } from "../../limiterd/budgets/remove-spends.js";
import { restoreBudgets } from "../../limiterd/budgets/restore-budgets.js";
import { SpendLog } from "../../limiterd/budgets/spend-log.js";
import { budgetChange, spendFromStored } from "../../limiterd/budgets/stored-budget.js";
import { loadWindow } from "../../limiterd/counters/unread-windows.js";
import { windowFromStored } from "../../limiterd/counters/window.js";
import { DeclaredLimits } from "../../limiterd/declared-limits.js";
import { findInertRules } from "../../limiterd/handlers/admin/daemon-status.js";
import { noteStoreState } from "../../limiterd/handlers/announcements/announce.js";
import { restoreRaises } from "../../limiterd/handlers/definitions/apply-raises.js";
import { freeSlotsOfLostPeer } from "../../limiterd/handlers/free-slots-of-lost-peer.js";
import { handleFrame, waitingTurn } from "../../limiterd/handlers/handle-message.js";
import { restoreHolds } from "../../limiterd/handlers/interrupted-requests.js";
import { HeldLimitFiles } from "../../limiterd/handlers/limit-files/held-limit-files.js";
import { SessionTable } from "../../limiterd/keys/session-table.js";
import { endLoading, loadAccount } from "../../limiterd/lifecycle/load-unread.js";
import { restore } from "../../limiterd/lifecycle/restore.js";
import { flushUsage, snapshot } from "../../limiterd/lifecycle/snapshot.js";
import { placeDeclaredLimits } from "../../limiterd/lifecycle/start-state.js";
import { removeStaleWindows } from "../../limiterd/lifecycle/sweep.js";
import { LastAnswers } from "../../limiterd/lists/fullest.js";
import { ObjectOwners } from "../../limiterd/objects/object-owners.js";
import type { PeerState } from "../../limiterd/peer.js";
import type { RaiseNote } from "../../limiterd/raise-note.js";
import { BackTests } from "../../limiterd/rules/back-tests/back-tests.js";
import { LearnedPrompts } from "../../limiterd/rules/learned-prompts.js";
import { RecentRefusals } from "../../limiterd/rules/recent-refusals.js";
import { configuredText, shadowNotes } from "../../limiterd/rules/stored-rule.js";
import { DaemonMeasures, type DaemonState, newCounts } from "../../limiterd/state.js";
import { Backups } from "../../limiterd/store/backups.js";
import { storedLastBackup } from "../../limiterd/store/last-backup.js";
import { throwMalformed } from "../../limiterd/store/store.js";
import { Writer } from "../../limiterd/store/writer.js";
import { UpstreamBook } from "../../limiterd/upstream/upstream-book.js";
import { Followers } from "../../limiterd/usage/followers/followers.js";
import { identify } from "../../limiterd/usage/followers/store-ids.js";
import { PendingResponses } from "../../limiterd/usage/pending-responses.js";
import { AdjustmentQueue } from "../../limiterd/usage/repricing.js";
import { RequestBook } from "../../limiterd/usage/request-book.js";
import { TrafficBook } from "../../limiterd/usage/traffic-book.js";
import { restoreUsage } from "../../limiterd/usage/usage-log.js";
import { Waiters } from "../../limiterd/waiting/waiters.js";
import { drawTickMs, WaitingDraws } from "../../limiterd/waiting/waiting-draws.js";
import type { ProviderConfig, WaitLimits } from "../../shared/config/config.js";
import { createInertReason } from "../../shared/config/inert-rule.js";
import { namingsOf } from "../../shared/config/model-name.js";
import type { UseProblem } from "../../shared/config/model-to-use.js";
import { type BudgetDefinition, budgetId } from "../../shared/domain/budget.js";
import { sumUsd } from "../../shared/domain/money.js";
import { type RuleDefinition, ruleId } from "../../shared/domain/rule.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { TokenWeights } from "../../shared/domain/token-weights.js";
import type { UpstreamPolicy } from "../../shared/domain/upstream-limits.js";
import { IdMap } from "../../shared/id-map.js";
import type { LimitCounts } from "../../shared/limit-files/limits-plan.js";
import { OneAtATime } from "../../shared/one-at-a-time.js";
import { wireVersion } from "../../shared/version.js";
import type { AdminOp } from "../../shared/wire/admin-op.js";
import type { Execution } from "../../shared/wire/execution.js";
import type { Admitted, FromDaemon } from "../../shared/wire/message-from-daemon.js";
import {
  type Lease,
  type Requester,
  type Settle,
  type ToDaemon,
  writeToDaemon,
} from "../../shared/wire/message-to-daemon.js";
import { wireVersions } from "../../shared/wire/wire-versions.js";
import { createMemoryStore, type MemoryStore } from "../support/memory-store.js";
import { noCopies } from "../support/no-copies.js";

export interface TestPeer {
  readonly state: PeerState;
  readonly received: FromDaemon[];
  /** False: the daemon would close this peer. */
  send(message: ToDaemon): boolean;
  close(): void;
}

export interface TestDaemon {
  readonly state: DaemonState;
  readonly store: MemoryStore;
  nowMs: number;
  /** The inert rules and budgets that were reported for the log. */
  readonly inertReports: readonly string[];
  /** The damaged sums of usage that were reported for the log. */
  readonly damageReports: readonly string[];
  /** The invalid usage records, as they were reported for the log. */
  readonly droppedRecords: readonly string[];
  /** Role and version of each hello that isn't spoken, as it was reported for the log. */
  readonly foreignVersions: readonly string[];
  /** What files of limits have changed, as it was reported for the log. */
  readonly appliedLimits: readonly LimitCounts[];
  /** What has happened to raises, as it was reported for the log. */
  readonly raiseNotes: readonly RaiseNote[];
  readonly unsureSpends: readonly string[];
  /** By the socket for administration, unless it is told otherwise. */
  connect(mayAdminister?: boolean): TestPeer;
  /** A proxy that has said hello, holding `leases`. */
  proxy(proxyId: string, leases?: readonly Lease[], version?: number): TestPeer;
  /** Judges again the draws that wait, after the time that lies between. */
  tickDraws(): void;
  /** Runs the timers that wait and lets the commits end. */
  commit(): Promise<void>;
  snapshot(): Promise<void>;
  /** Writes the sums of usage and the accounts of budgets. */
  flush(perSlice?: number): Promise<void>;
}

export const pathRule = (
  subject: string,
  periodSeconds: number,
  caps: { requests?: number; tokens?: number },
): RuleDefinition => ({
  scope: "user_path",
  subject,
  periodSeconds,
  maxRequests: caps.requests ?? null,
  maxTokens: caps.tokens ?? null,
  perChild: false,
});

export function startDaemon(
  rules: readonly RuleDefinition[],
  {
    store = createMemoryStore(),
    nowMs = 1_767_225_600_000,
    usageEnabled = true,
    rateLimitsEnabled = true,
    budgets: configured = [] as readonly BudgetDefinition[] | null,
    labelsOf = (_keyId: string): readonly string[] => [],
    providers = [] as readonly ProviderConfig[],
    useProblem = (() => null) as UseProblem,
    tokenWeights = null as TokenWeights | null,
    waiting = { maxMs: 0, defaultMs: 0, paths: [] } as WaitLimits,
    destinations = [] as readonly AlertDestination[],
    upstreams = new Map() as ReadonlyMap<string, UpstreamPolicy>,
    upMs = 0,
    /** Whether draws wait for what others hold: `tickDraws` then judges them again. */
    drawsWait = false,
    versions = wireVersions,
    /** Whether the windows that the start has left in the store are loaded. */
    loads = true,
  } = {},
): TestDaemon {
  const timers: (() => void)[] = [];
  const drawTimers: (() => void)[] = [];
  const inertReports: string[] = [];
  const damageReports: string[] = [];
  const droppedRecords: string[] = [];
  const foreignVersions: string[] = [];
  const appliedLimits: LimitCounts[] = [];
  const raiseNotes: RaiseNote[] = [];
  const unsureSpends: string[] = [];
  const inertReason = createInertReason({ usageEnabled, providers, virtualModels: [] });
  const restored = restore(store, rateLimitsEnabled ? rules : null, {
    digest: configuredText(rules),
    hashKey: [1, 2],
    providers: namingsOf(providers),
    nowMs,
    uptime: { boot: "boot", upMs },
  });
  const onUnreadable = (error: Error): void => void damageReports.push(error.message);
  const usage = restoreUsage({ store, labelsOf, onDamaged: onUnreadable });
  const {
    budgets,
    incomplete,
    logged,
    changes: budgetChanges,
  } = restoreBudgets(
    store,
    configured,
    {
      spentOnDays: createSpentOnDays(usage, onUnreadable),
      lastRecordKey: () => usage.lastKey,
      providers: namingsOf(providers),
    },
    nowMs,
  );
  const spendLog = new SpendLog(budgets, usage, logged);
  const identity = identify(store, "store-1");
  const noted = storedLastBackup(store, nowMs);
  const background = { lookMs: 60_000, waitMs: 86_400_000, max: 100 };
  const pending = new PendingResponses(background);
  pending.restore(store, nowMs);
  restored.book.batches = pending;
  const adjustmentQueue = new AdjustmentQueue();
  const requests = new RequestBook(100);
  requests.restore(store);
  const audit = new AuditLog(store);
  const alerts = new AlertBook(destinations);
  const alertChanges = alerts.restore(store);
  budgets.recentSpend.begin(nowMs);
  if (alerts.isUsed)
    budgets.onCharged = (account, atMs) => noteCharged(alerts, budgets, account, atMs);
  const writer = new Writer(
    {
      store,
      counted: restored.book.counted,
      schedule: (_, run) => void timers.push(run),
      onStoreState: (error) => void noteStoreState(state, error),
    },
    {
      firstLsn: restored.epochs.startLsn,
      journaled: restored.journaled,
      retryMs: 1000,
      contributors: [usage, restored.proxies, ...(alerts.isUsed ? [alerts] : [])],
    },
  );
  const notes = shadowNotes(restored.book);
  restored.book.onRefusalNoted = () => writer.contribute(notes);
  budgets.onDirty = () => writer.contribute(spendLog);
  const state: DaemonState = {
    settings: {
      version: "test",
      wireVersions: versions,
      pid: 1,
      rateLimitsEnabled,
      settingText: (path: string) => `${path} is false`,
      usageEnabled,
      requestDetailsMax: 100,
      showsAncestors: true,
      background,
      quotaTemplatesEntitled: true,
      tokenWeights,
      budgetsEnabled: true,
      alerts: [],
      unpriced: "allow",
      upstreams,
      waiting,
      inertReason,
      useProblem,
      configFile: null,
    },
    upstream: new UpstreamBook(upstreams),
    budgets,
    pending,
    adjustmentQueue,
    alerts,
    requests,
    traffic: new TrafficBook(),
    audit,
    proxySettings: new ProxySettings(store, "boot"),
    labelsOf,
    book: restored.book,
    shares: null,
    configured: { applied: restored.configured },
    declared: {
      rules: new DeclaredLimits(rules, [], ruleId),
      budgets: new DeclaredLimits(configured ?? [], [], budgetId),
    },
    proxies: restored.proxies,
    keys: restored.keys,
    denials: restored.denials,
    sessions: new SessionTable(),
    limitFiles: new HeldLimitFiles(),
    rankings: {
      rules: new LastAnswers(() => daemon.nowMs),
      budgets: new LastAnswers(() => daemon.nowMs),
      childRules: new LastAnswers(() => daemon.nowMs),
      childBudgets: new LastAnswers(() => daemon.nowMs),
      tenants: new LastAnswers(() => daemon.nowMs),
    },
    backTests: new BackTests({ hashKey: [1, 2], providers: namingsOf(providers) }),
    objects: new ObjectOwners(store),
    writer,
    store,
    usage,
    followers: new Followers(identity.storeIds, "test"),
    spendLog,
    cluster: null,
    sharedDefinitions: null,
    backups: new Backups({ beginCopy: noCopies, schedule: (_ms, run) => void timers.push(run) }),
    yieldToEventLoop: () => new Promise((resolve) => setImmediate(resolve)),
    wallMs: () => daemon.nowMs,
    accountsLoading: !loads,
    accountsWritten: Promise.resolve(),
    peers: new Set(),
    isStopping: false,
    epochs: restored.epochs,
    startedAtMs: nowMs,
    expectedProxies: restored.expectedProxies.size > 0 ? restored.expectedProxies : null,
    learnedPrompts: new LearnedPrompts(),
    refusals: new RecentRefusals(),
    draws: Object.assign(
      new WaitingDraws({
        monoMs: () => daemon.nowMs,
        schedule: (_ms, run) => void drawTimers.push(run),
      }),
      drawsWait ? {} : { add: () => false },
    ),
    waiters: new Waiters({
      monoMs: () => daemon.nowMs,
      schedule: (_ms, run) => void timers.push(run),
      inTurn: (turn) => waitingTurn(state, turn),
    }),
    inertRules: new Set(),
    onInert: ({ kind, name }) => void inertReports.push(`${kind} ${name}`),
    onUnreadable: (error) => void damageReports.push(error.message),
    onDroppedRecord: (proxyId, field, { requestId }) =>
      void droppedRecords.push(`${proxyId} ${requestId} ${field}`),
    onLimitsApplied: (counts) => void appliedLimits.push(counts),
    onUnsureSpend: (id, cost) =>
      void unsureSpends.push(`${id.replaceAll("\n", " ")}: ${sumUsd(cost)}`),
    onRaise: (note) => void raiseNotes.push(note),
    onUnsupportedVersion: ({ wireVersion: theirs, role }) =>
      void foreignVersions.push(`${role ?? "nobody"} ${theirs}`),
    counts: newCounts(),
    measures: new DaemonMeasures(),
    storeFailing: null,
    clusterFailing: null,
    lastBackup: noted.lastBackup,
    lastSnapshotAtMs: null,
  };
  restored.book.ruleSet.whenRead(() => {
    for (const id of findInertRules(restored.book, inertReason)) state.inertRules.add(id);
    void placeDeclaredLimits(state);
  });
  if (loads) restored.book.ruleSet.readAll();
  const backfill = beginBackfill(state, incomplete, nowMs);
  const raiseChanges = restoreRaises(store, state, nowMs);
  restoreHolds(state, nowMs);
  void writer.write([
    ...restored.changes,
    ...identity.changes,
    ...noted.changes,
    ...budgetChanges,
    ...raiseChanges,
    ...alertChanges,
    ...incomplete.map(budgetChange),
  ]);
  void removeSpends(state, loads ? loadedAccounts(state) : [])
    .then(() => backfill?.finish())
    .catch(onUnreadable);
  if (loads) {
    const stale = [...store.entries("windows")]
      .filter(({ key, value }) => {
        const window = windowFromStored(value) ?? throwMalformed(store, "windows", key);
        return !loadWindow(state.book, String(key), window);
      })
      .map(({ key }) => String(key));
    state.book.unread = null;
    void removeStaleWindows(state, stale);
  }
  const daemon: TestDaemon = {
    state,
    store,
    nowMs,
    inertReports,
    damageReports,
    droppedRecords,
    foreignVersions,
    appliedLimits,
    raiseNotes,
    unsureSpends,
    connect(mayAdminister = true) {
      const received: FromDaemon[] = [];
      const peer: PeerState = {
        connectedAtMs: daemon.nowMs,
        askedAtMs: daemon.nowMs,
        mayAdminister,
        send: (message) => received.push(message),
        sendBulk(message, then) {
          received.push(message);
          then(daemon.nowMs);
        },
        close: () => {},
        role: null,
        wireVersion: 0,
        proxy: null,
        isWelcomed: false,
        connection: 0,
        granted: 0,
        parked: new Set(),
        helloId: 0,
        openTargets: [],
        reads: new OneAtATime(),
        leases: new IdMap(),
      };
      state.peers.add(peer);
      return {
        state: peer,
        received,
        send: (message) => handleFrame(state, peer, writeToDaemon(message), daemon.nowMs),
        close: () => freeSlotsOfLostPeer(state, peer, daemon.nowMs),
      };
    },
    proxy(proxyId, leases = [], version = wireVersion) {
      const peer = daemon.connect();
      peer.send({
        kind: "hello",
        id: 1,
        wireVersion: version,
        role: "proxy",
        proxyId,
        leases,
        more: false,
      });
      return peer;
    },
    tickDraws() {
      daemon.nowMs += drawTickMs;
      for (const run of drawTimers.splice(0)) run();
    },
    async commit() {
      for (const run of timers.splice(0)) run();
      await new Promise((resolve) => setImmediate(resolve));
    },
    async snapshot() {
      await snapshot(state, daemon.nowMs);
    },
    flush: (perSlice) => flushUsage(state, perSlice),
  };
  return daemon;
}

/** Takes all accounts into memory, and returns the keys of the stale ones. */
function loadedAccounts({ budgets, store }: DaemonState): string[] {
  const stale = [...store.entries("spends")]
    .filter(({ key, value }) => {
      const stored = spendFromStored(value) ?? throwMalformed(store, "spends", key);
      return !loadAccount(budgets, String(key), stored);
    })
    .map(({ key }) => String(key));
  endLoading(budgets);
  return stale;
}

export const target = { provider: "openai", model: "gpt-4o" };

/** Asks for the admission of one request; returns the lease, or null when it was refused. */
export function askFor(peer: TestPeer, id: number, userPath: string): Lease | null {
  peer.send({
    read: 0,
    kind: "admit",
    id,
    userPath,
    credential: "authenticated",
    targets: [target],
    submission: false,
  });
  const answer = peer.received.at(-1);
  return answer?.kind === "admitted" ? leaseOf(answer, userPath) : null;
}

/** What a proxy holds of a request that was admitted, to this target. */
export function leaseOf(
  { id: lease, admittedAtMs, lsn }: Admitted,
  userPath: string,
  admittedTo: Target = target,
): Lease {
  const counted = { targetAtMs: admittedAtMs, targetLsn: lsn };
  return { lease, userPath, admittedAtMs, lsn, target: admittedTo, ...counted, submission: false };
}

/** Asks for one submission; as `askFor`. */
export function submit(peer: TestPeer, id: number, userPath: string): Lease | null {
  peer.send({
    read: 0,
    kind: "admit",
    id,
    userPath,
    credential: "authenticated",
    targets: [{ provider: "openai", model: "" }],
    submission: true,
  });
  const answer = peer.received.at(-1);
  return answer?.kind === "admitted"
    ? {
        lease: id,
        userPath,
        admittedAtMs: answer.admittedAtMs,
        lsn: answer.lsn,
        target: null,
        targetAtMs: 0,
        targetLsn: 0,
        submission: true,
      }
    : null;
}

export function settleOf(
  { submission: _, ...lease }: Lease,
  seq: number,
  tokens: number,
  ago: { started?: number; ended?: number } = {},
): Settle {
  return {
    kind: "settle",
    seq,
    part: "request",
    ...lease,
    startedAgoMs: ago.started ?? 0,
    endedAgoMs: ago.ended ?? 0,
    tokens,
    estimated: false,
    record: null,
  };
}

/**
 * What a request used, in a record: 20 tokens in and 10 out unless told otherwise, at 3
 * pico-dollars each.
 */
export function executed(changes: Partial<Execution> = {}): Execution {
  const { inputTokens = 20, outputTokens = 10 } = changes;
  return {
    requestId: "req_1",
    endpoint: "/v1/chat/completions",
    provider: target.provider,
    providerType: "openai",
    model: target.model,
    status: 200,
    inputTokens,
    outputTokens,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    inputCost: inputTokens * 3,
    outputCost: outputTokens * 3,
    totalCost: (inputTokens + outputTokens) * 3,
    cacheHit: false,
    rewriteTokensSaved: 0,
    rewriteCostSaved: null,
    latencyMs: 5,
    firstByteMs: 2,
    requestedModel: "",
    session: "",
    details: null,
    atMost: null,
    responseId: "",
    keyId: "",
    ...changes,
  };
}

/** Commits until this has ended, well or not. */
export async function commitUntil(daemon: TestDaemon, work: Promise<unknown>): Promise<void> {
  let isDone = false;
  const end = (): void => {
    isDone = true;
  };
  work.then(end, end);
  while (!isDone) await daemon.commit();
}

/** What an admin operation was refused with. */
export function refusal(asked: Promise<unknown>): Promise<unknown> {
  return asked.then(
    (answer) => {
      throw new Error(`it was answered: ${JSON.stringify(answer)}`);
    },
    (error: unknown) => (error as { failure?: unknown }).failure,
  );
}

/** The answer to an admin operation of a command line; a failure is thrown. */
export async function ask(
  daemon: TestDaemon,
  op: AdminOp,
  body: unknown,
  by?: Requester,
): Promise<Record<string, unknown>> {
  const peer = daemon.connect();
  peer.send({
    kind: "hello",
    id: 1,
    wireVersion,
    role: "cli",
    proxyId: "cli",
    leases: [],
    more: false,
  });
  peer.send({ kind: "admin", id: 2, op, body, by });
  for (;;) {
    const answer = peer.received.at(-1);
    if (answer?.kind === "answer") return answer.body as Record<string, unknown>;
    if (answer?.kind === "failed")
      throw Object.assign(new Error(answer.failure.message), { failure: answer.failure });
    await daemon.commit();
  }
}

/** Requests and tokens that a rule's window counts, both halves. */
export function counts(
  daemon: TestDaemon,
  rule: RuleDefinition,
): { requests: number; tokens: number; inFlight: number } {
  const counter = daemon.state.book.find(rule)!.own!;
  const { previousRequests, currentRequests, previousTokens, currentTokens } = counter.window;
  return {
    requests: previousRequests + currentRequests,
    tokens: previousTokens + currentTokens,
    inFlight: counter.inFlight,
  };
}
