/**
 * The daemon's timers, such as for snapshots, sweeps and the end of the reconnect grace period; and
 * the order in which it stops.
 */
import {
  journalBytesMax,
  keysMax,
  keyUsesPerFlush,
  reconnectGraceMs,
  windowsPerSlice,
} from "../../shared/bounds.js";
import { forecastEveryMs, noteForecasts } from "../alerts/watch-budgets.js";
import { endReconnectGrace } from "../handlers/accept-hello.js";
import { closeTimedOutPeers } from "../handlers/connection.js";
import { endRaises } from "../handlers/definitions/apply-raises.js";
import { chargeInterrupted, storeHolds } from "../handlers/interrupted-requests.js";
import { keyChange } from "../keys/stored-key.js";
import type { DaemonState } from "../state.js";
import { createStoreSize, type LargestTables, type StoreFill } from "../store/store-size.js";
import { writeSlices } from "../store/writer.js";
import { createUsageTrimmer } from "../usage/trim-usage.js";
import { loadRules, loadWindows } from "./load-unread.js";
import { flushUsage, snapshot } from "./snapshot.js";
import {
  removeStaleWindows,
  sweepChildren,
  sweepDenials,
  sweepObjects,
  sweepSpends,
} from "./sweep.js";

interface TimerPorts {
  /** Wall time in ms since the epoch. */
  nowMs(): number;
  /** Runs `run` every `ms`; returns a function that stops it. */
  every(ms: number, run: () => void): () => void;
  /** Runs `run` once after `ms`; returns a function that cancels it. */
  after(ms: number, run: () => void): () => void;
  /** Called when the store can't be read: the daemon must exit immediately. */
  onBroken(error: Error): void;
  /** Called with the number of proxies of the last run that haven't reconnected in time. */
  onMissing(proxies: number): void;
  /** Called when the store is nearly full, or over its cap. */
  onFill(fill: StoreFill, usedBytes: number, largest: LargestTables): void;
  /** Stops listening and closes every peer once the peer has read everything sent to it. */
  closeListener(): Promise<void>;
}

export interface Timers {
  /**
   * Writes everything and closes every peer. False if the store can't be written, so that something
   * is lost.
   */
  stop(): Promise<boolean>;
}

/** Interval of checks of silent peers, idle children and the journal's size, in ms. */
const tickMs = 1000;
/** Marks of alerts that are examined in a tick. */
const alertMarksPerSweep = 2_000;
/** Interval at which what has changed in the history of requests is written, in ms. */
const trafficWriteMs = 1_000;
/** How long a stopping daemon tries to write to its store, in ms. */
const stopWriteMs = 5_000;

interface TimerSettings {
  /** 0: no periodic snapshots, only the last one and those that the journal's size forces. */
  readonly flushIntervalMs: number;
  readonly usageRetentionDays: number;
  readonly auditRetentionDays: number;
  /** The cap of the store in bytes; null: none. */
  readonly storeBytesMax: number | null;
  /** Maximum interval at which sums and accounts are written, in ms. */
  readonly usageFlushMs: number;
  /** Rules or windows that are loaded in one turn of the event loop after the start. */
  readonly loadedPerSlice?: number;
}

export function startTimers(
  state: DaemonState,
  ports: TimerPorts,
  {
    flushIntervalMs,
    usageRetentionDays,
    auditRetentionDays,
    storeBytesMax,
    usageFlushMs,
    loadedPerSlice = windowsPerSlice,
  }: TimerSettings,
): Timers {
  let runningSnapshot: Promise<void> | null = null;
  let runningFlush: Promise<void> | null = null;
  let isSweeping = false;
  const sweep = async (run: () => Promise<void>): Promise<void> => {
    if (isSweeping) return;
    isSweeping = true;
    await run().finally(() => {
      isSweeping = false;
    });
  };
  const takeSnapshot = (): Promise<void> => {
    runningSnapshot ??= snapshot(state, ports.nowMs()).finally(() => {
      runningSnapshot = null;
    });
    return runningSnapshot;
  };
  const flush = (): Promise<void> => {
    runningFlush ??= flushUsage(state).finally(() => {
      runningFlush = null;
    });
    return runningFlush;
  };
  // After the current message: a flush closes the batch, which a message must not be split over.
  state.usage.onFlushDue(() => queueMicrotask(() => void flush()));
  // Runs before the first sweep of children.
  if (state.book.unread !== null)
    sweep(async () => {
      await loadRules(state, loadedPerSlice);
      await removeStaleWindows(state, await loadWindows(state, loadedPerSlice));
    }).catch(ports.onBroken);
  const trimmer = createUsageTrimmer(state.store, state.usage.days, usageRetentionDays);
  const isFull = createStoreSize({
    store: state.store,
    bytesMax: storeBytesMax,
    onFill: ports.onFill,
  });
  const trim = (nowMs: number): void => {
    // A failing store must not get more waiting changes.
    if (state.writer.failing !== null) return;
    void writeSlices(state.writer, trimmer.next(nowMs, state.usage.rolledUpKey, isFull()));
    const oldEntries = state.audit.trim(nowMs, auditRetentionDays);
    if (oldEntries.length > 0) void writeSlices(state.writer, oldEntries);
  };
  const endInterrupted = async (): Promise<void> => {
    while (!state.isStopping && chargeInterrupted(state, ports.nowMs()))
      await state.yieldToEventLoop();
  };
  let trafficWrittenMs = ports.nowMs();
  const writeTraffic = (nowMs: number, everyMs: number): void => {
    const { traffic, store, writer } = state;
    const isDue = nowMs - trafficWrittenMs >= everyMs || nowMs < trafficWrittenMs;
    if (!isDue || writer.failing !== null) return;
    trafficWrittenMs = nowMs;
    void writeSlices(writer, traffic.changes(store, nowMs));
  };
  let forecastAtMs = 0;
  const watchAlerts = (nowMs: number): void => {
    const { alerts, budgets, writer } = state;
    if (!alerts.isUsed || writer.failing !== null) return;
    void writeSlices(writer, alerts.sweep(nowMs, alertMarksPerSweep));
    const isDue = nowMs - forecastAtMs >= forecastEveryMs || nowMs < forecastAtMs;
    if (!isDue || !alerts.hasForecasts || state.accountsLoading) return;
    forecastAtMs = nowMs;
    noteForecasts(alerts, budgets, { nowMs, pause: state.yieldToEventLoop })
      .then(() => {
        if (alerts.isChanged) writer.closeContributed();
      })
      .catch(ports.onBroken);
  };
  const stops: (() => void)[] = [];
  if (flushIntervalMs > 0) stops.push(ports.every(flushIntervalMs, () => void takeSnapshot()));
  stops.push(ports.every(usageFlushMs, () => void flush()));
  stops.push(
    ports.every(tickMs, () => {
      if (state.writer.journalBytes > journalBytesMax) void takeSnapshot();
      // An empty commit reports the missing file even if nothing else is written.
      if (!state.store.isInPlace()) void state.writer.tryWrite([]);
      closeTimedOutPeers(state, ports.nowMs());
      endRaises(state, ports.nowMs());
      sweepDenials(state, ports.nowMs());
      sweepObjects(state, ports.nowMs());
      void endInterrupted();
      void storeHolds(state);
      flushKeyUses(state);
      watchAlerts(ports.nowMs());
      writeTraffic(ports.nowMs(), trafficWriteMs);
      state.backTests.forgetIdle(ports.nowMs());
      void sweep(async () => {
        await sweepChildren(state, () => ports.nowMs(), state.yieldToEventLoop);
        await sweepSpends(state, () => ports.nowMs());
      });
      trim(ports.nowMs());
    }),
  );
  if (state.expectedProxies !== null) {
    stops.push(
      ports.after(reconnectGraceMs, () => {
        if (state.expectedProxies !== null) ports.onMissing(state.expectedProxies.size);
        endReconnectGrace(state);
      }),
    );
  }
  /** Resolves with false if the work isn't done in time. */
  const within = (ms: number, done: Promise<void>): Promise<boolean> =>
    new Promise((resolve, reject) => {
      const cancel = ports.after(ms, () => resolve(false));
      done.finally(cancel).then(() => resolve(true), reject);
    });
  const lastSnapshot = async (): Promise<void> => {
    await runningSnapshot;
    await takeSnapshot();
    await runningFlush;
    await flush();
    flushKeyUses(state, keysMax);
    await storeHolds(state);
    writeTraffic(ports.nowMs(), 0);
  };
  return {
    async stop() {
      state.isStopping = true;
      for (const stop of stops) stop();
      // Write while the proxies are connected, so that the next start waits for them.
      const written = await within(stopWriteMs, lastSnapshot());
      await ports.closeListener();
      return written && (await within(stopWriteMs, state.writer.close()));
    },
  };
}

function flushKeyUses(
  { keys, writer }: Pick<DaemonState, "keys" | "writer">,
  count = keyUsesPerFlush,
): void {
  // A failing store must not get more waiting changes.
  if (writer.failing !== null) return;
  void writeSlices(writer, keys.takeUsed(count).map(keyChange));
}
