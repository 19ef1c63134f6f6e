/**
 * Wires the daemon: store, memory, sockets, timers, and the order in which they start and stop. Not
 * here: decisions.
 */

import { hash, randomInt, randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { AuditEntry } from "../shared/api/audit-entry.js";
import { usageFlushMs as usageFlushMsDefault } from "../shared/bounds.js";
import type { Config } from "../shared/config/config.js";
import { daemonConfig } from "../shared/config/daemon-config.js";
import { createInertReason, type Inert } from "../shared/config/inert-rule.js";
import { namingsOf } from "../shared/config/model-name.js";
import { createUseProblem } from "../shared/config/model-to-use.js";
import { settingText } from "../shared/config/setting-text.js";
import { type MoneySum, sumUsd } from "../shared/domain/money.js";
import { capFields } from "../shared/domain/rule.js";
import type { LimitCounts } from "../shared/limit-files/limits-plan.js";
import { createThrottledCount, type Log } from "../shared/log.js";
import { limiterMetrics } from "../shared/metrics/limiter-metrics.js";
import { createProcessReading } from "../shared/metrics/process-reading.js";
import { listen } from "../shared/socket/ipc.js";
import { type InheritedSockets, noSockets } from "../shared/supervision/inherited-sockets.js";
import { formatMillis } from "../shared/time.js";
import { version } from "../shared/version.js";
import type { Execution } from "../shared/wire/execution.js";
import type { UnsupportedHello } from "../shared/wire/message-to-daemon.js";
import { wireVersions } from "../shared/wire/wire-versions.js";
import { shownSettings } from "./audit/describe-settings.js";
import { startState } from "./lifecycle/start-state.js";
import { startTimers } from "./lifecycle/start-timers.js";
import { copyInProcess } from "./maintenance/copy-in-process.js";
import { openSockets } from "./open-sockets.js";
import type { RaiseNote } from "./raise-note.js";
import { configuredText } from "./rules/stored-rule.js";
import { shareWithHosts } from "./share-with-hosts.js";
import type { DaemonState } from "./state.js";
import { hostBoot } from "./store/lmdb/host-boot.js";
import { openLmdbStore } from "./store/lmdb/open-lmdb-store.js";
import { type Store, StoreBrokenError } from "./store/store.js";
import type { LargestTables, StoreFill } from "./store/store-size.js";
import { createStuckCommit } from "./store/writer.js";

interface LimiterdOptions {
  readonly config: Config;
  readonly log: Log;
  /** Sockets that were listening before the daemon started, as with socket activation. */
  readonly sockets?: InheritedSockets;
  /** Wall time in ms since the epoch; tests pass their own. */
  readonly nowMs?: () => number;
  /** How often sums of usage are written; tests that kill the daemon early use a shorter time. */
  readonly usageFlushMs?: number;
}

interface Limiterd {
  /** Resolves with the reason why the daemon must exit immediately and write nothing more. */
  readonly broken: Promise<Error>;
  /** For the supervisor, which calls it every few seconds. */
  health(): DaemonHealth;
  /** Writes all windows, then closes every peer and the store. Loses nothing. */
  stop(): Promise<void>;
}

/**
 * Starts a daemon. Resolves when it answers on its sockets; rejects with `SocketTakenError`,
 * `SocketUntrustedError`, `InheritedSocketsError`, `StoreLockedError` or `StoreUnreadableError`.
 */
export async function startLimiterd({
  config,
  log,
  sockets = noSockets,
  nowMs = Date.now,
  usageFlushMs = usageFlushMsDefault,
}: LimiterdOptions): Promise<Limiterd> {
  const store = await openLmdbStore(config.limiter.dataDir);
  let end: (reason: Error) => void = () => {};
  const broken = new Promise<Error>((resolve) => {
    end = resolve;
  });
  let onAccountsLoaded: () => void = () => {};
  const accountsLoaded = new Promise<void>((resolve) => {
    onAccountsLoaded = resolve;
  });
  const opening = { config, log, nowMs, end, onAccountsLoaded };
  const state = await openState(store, opening).catch(closing(store));
  const wiring = { config, log, nowMs, accountsLoaded, end };
  const leave = await shareWithHosts(state, wiring).catch(closing(store));
  const listeners = await openSockets(state, config.limiter, {
    listen,
    inherited: sockets,
    nowMs,
    onUnreadable: end,
  }).catch(closing(store));
  log.info(
    {
      socket: config.limiter.socket,
      admin_socket: config.limiter.adminSocket,
      store: store.file,
      rules: state.book.ruleSet.size,
      budgets: state.budgets.budgets.size,
    },
    "limiter daemon listens",
  );
  const timers = startTimers(
    state,
    {
      nowMs,
      every(ms, run) {
        const timer = setInterval(run, ms);
        return () => clearInterval(timer);
      },
      after(ms, run) {
        const timer = setTimeout(run, ms);
        return () => clearTimeout(timer);
      },
      onBroken: end,
      onMissing: (missing) => log.warn({ missing }, "proxies of the last run have not come back"),
      onFill: logFill(log),
      closeListener: () => listeners.close(),
    },
    {
      flushIntervalMs: config.rateLimits.flushIntervalMs,
      usageRetentionDays: config.usageRetentionDays,
      auditRetentionDays: config.auditRetentionDays,
      storeBytesMax: config.storeBytesMax,
      usageFlushMs,
    },
  );
  return {
    broken,
    health: createDaemonHealth(state, () => performance.now()),
    async stop() {
      await leave();
      if (!(await timers.stop())) {
        log.error(
          { reason: state.writer.failing?.message ?? "it took too long" },
          "limiter daemon stopped without writing everything: the store can't be written",
        );
        return;
      }
      await store.close();
      log.info("limiter daemon stopped, windows written");
    },
  };
}

function closing(store: Store): (error: unknown) => Promise<never> {
  return async (error) => {
    await store.close();
    throw error;
  };
}

/** Logs when writes to the store begin to fail, and when they succeed again. */
function logStoreState({ file: store }: Store, log: Log): (error: Error | null) => void {
  let sinceMs: number | null = null;
  return (error) => {
    const nowMs = performance.now();
    sinceMs ??= nowMs;
    if (error !== null)
      return log.error(
        { store, reason: error.message },
        "the store can't be written: proxies keep their settles, the daemon keeps windows in memory and retries each second",
      );
    log.warn(
      { store, seconds: Math.ceil((nowMs - sinceMs) / 1000) },
      "the store can be written again",
    );
    sinceMs = null;
  };
}

/** Logs peers of other wire versions, which keep retrying, at most every ten seconds. */
function createUnsupportedVersionLog(log: Log): (hello: UnsupportedHello) => void {
  let last: UnsupportedHello | null = null;
  const note = createThrottledCount(
    (ms, run) => void setTimeout(run, ms).unref(),
    (peers) =>
      log.warn(
        { peers, role: last?.role, wire_version: last?.wireVersion, spoken: wireVersions },
        "a peer speaks another wire version: the daemon accepts only settles from a proxy, and closes others",
      ),
  );
  return (hello) => {
    last = hello;
    note();
  };
}

interface Opening {
  readonly config: Config;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly end: (reason: Error) => void;
  readonly onAccountsLoaded: () => void;
}

async function openState(
  store: Store,
  { config, log, nowMs, end, onAccountsLoaded }: Opening,
): Promise<DaemonState> {
  const logState = logStoreState(store, log);
  const settings = {
    ...daemonConfig(config),
    version,
    wireVersions,
    pid: process.pid,
    rateLimitsEnabled: config.rateLimits.enabled,
    tokenWeights: config.rateLimits.tokenWeights,
    budgetsEnabled: config.budgets.enabled,
    alerts: config.alerts,
    unpriced: config.budgets.unpriced,
    waiting: config.waiting ?? { maxMs: 0, defaultMs: 0, paths: [] },
    upstreams: new Map(
      config.providers.map(({ name, upstreamLimits }) => [name, upstreamLimits] as const),
    ),
    inertReason: createInertReason(config),
    useProblem: createUseProblem(config),
    configFile: config.file,
    settingText: (path: string) => settingText(config, path),
  };
  const ports = {
    store,
    schedule: (ms: number, run: () => void) => void setTimeout(run, ms),
    beginCopy: () => copyInProcess(store),
    onAccountsLoaded,
    onStoreState(error: Error | null) {
      logState(error);
      if (error instanceof StoreBrokenError) end(error);
    },
    onUnreadable: (error: Error) =>
      log.error(
        { reason: error.message },
        "part of the recorded usage is damaged and can't be read: it no longer counts",
      ),
    onBroken: end,
    onDroppedRecord: (proxy: string, field: string, record: Execution) =>
      log.error(
        { proxy, field, record },
        "a proxy sent an invalid usage record: the request is counted, the record dropped",
      ),
    onUnsupportedVersion: createUnsupportedVersionLog(log),
    onRaise: ({ event, kind, limit, raise, endedBy }: RaiseNote) =>
      log.info(
        {
          [kind === "rule_raises" ? "rule" : "budget"]: limit.id.replaceAll("\n", " "),
          ...(raise.child === "" ? {} : { child: raise.child }),
          ...capFields(raise),
          ...(raise.amountUsd === null ? {} : { amount: raise.amountUsd }),
          until: formatMillis(raise.untilMs),
          by: raise.by,
          reason: raise.reason,
          ...(endedBy === undefined ? {} : { ended_by: endedBy }),
        },
        raiseTexts[event],
      ),
    onAudited: ({ operation, time: _time, ...entry }: AuditEntry) =>
      log.info({ ...entry, operation }, `audit: ${operation}`),
    onLimitsApplied: (counts: LimitCounts) => log.info({ ...counts }, "a limits file was applied"),
    onUnsureSpend: (budgetId: string, cost: MoneySum) =>
      log.warn(
        { budget: budgetId.replaceAll("\n", " "), cost: sumUsd(cost) },
        "earlier usage is recorded without its model: a new budget for some models doesn't count it",
      ),
    measures: {
      monoMs: () => performance.now(),
      readProcess: createProcessReading(limiterMetrics.loopLag.quantiles),
    },
    yieldToEventLoop: () => new Promise<void>((resolve) => setImmediate(resolve)),
    wallMs: nowMs,
    onUnentitled: (templates: readonly string[]) =>
      log.warn(
        { templates: templates.slice(0, 100), count: templates.length },
        "the entitlement quota_templates is missing: these stored templates keep counting per child, and can only be deleted",
      ),
    onInert: ({ kind, name }: Inert) =>
      log.warn({ [kind]: name }, `inert ${kind}: loaded, but not enforced as written`),
  };
  return startState(ports, {
    settings,
    shownSettings: shownSettings(config),
    rules: config.rateLimits.rules,
    digest: hash("sha256", configuredText(config.rateLimits.rules), "base64url"),
    budgets: config.budgets.budgets,
    declaredAt: { rules: config.rateLimits.declaredAt, budgets: config.budgets.declaredAt },
    providers: namingsOf([...config.providers, ...config.mcpServers]),
    hashKey: [randomInt(2 ** 32), randomInt(2 ** 32)],
    host: hostname(),
    newStoreId: randomUUID(),
    nowMs: nowMs(),
    // Time since the boot: the same in every process.
    uptime: { boot: hostBoot(), upMs: Number(process.hrtime.bigint() / 1_000_000n) },
  });
}

const raiseTexts: Readonly<Record<RaiseNote["event"], string>> = {
  raised: "a limit was raised",
  ended: "a raise has ended",
  "ended early": "a raise was ended early",
};

const fillTexts: Readonly<Record<StoreFill, string>> = {
  near: "the store holds 80% of usage.max_store_bytes",
  over: "the store holds more than usage.max_store_bytes: the oldest usage records are removed",
  others:
    "the store holds more than usage.max_store_bytes even without its usage records: none are removed",
};

/** Logs that the store is nearly full or over its limit, with its largest tables. */
function logFill(log: Log): (fill: StoreFill, usedBytes: number, largest: LargestTables) => void {
  return (fill, usedBytes, largest) =>
    log.warn({ used_bytes: usedBytes, largest }, fillTexts[fill]);
}

/** What the supervisor reads. */
interface DaemonHealth {
  /** One line for users. */
  readonly status: string;
  /** What hangs so that only a restart helps; usually null. */
  readonly stuck: string | null;
}

function createDaemonHealth(
  state: Pick<DaemonState, "book" | "budgets" | "peers" | "writer">,
  monoMs: () => number,
): () => DaemonHealth {
  const stuckCommit = createStuckCommit(state.writer.commits, monoMs);
  return () => ({ status: statusLine(state), stuck: stuckCommit() });
}

function statusLine({
  book,
  budgets,
  peers,
  writer,
}: Pick<DaemonState, "book" | "budgets" | "peers" | "writer">): string {
  let proxies = 0;
  for (const { role } of peers) if (role === "proxy") proxies++;
  const store = writer.failing === null ? "ok" : `can't be written, ${writer.failing.message}`;
  return `ready: proxies: ${proxies}, rules: ${book.ruleSet.size}, budgets: ${budgets.budgets.size}, store: ${store}`;
}
