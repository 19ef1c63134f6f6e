/**
 * What the daemon does by the clock: snapshots, the sweep of idle children, the end of the reunion;
 * and the order in which it stops.
 */
import { journalBytesMax, reconnectGraceMs } from "../../shared/bounds.js";
import { closeTimedOutPeers } from "../handlers/connection.js";
import { endReconnectGrace } from "../handlers/reconnect-grace.js";
import { writeSlices } from "../store/write-slices.js";
import { createUsageTrimmer } from "../usage/trim-usage.js";
import { flushUsage } from "./flush-usage.js";
import { removeStaleWindows, snapshot, sweepChildren, sweepSpends } from "./snapshot.js";
import type { Started } from "./start-state.js";

export interface TimerPorts {
  /** Wall time in ms since the epoch. */
  nowMs(): number;
  /** Runs `run` every `ms`; returns what ends it. */
  every(ms: number, run: () => void): () => void;
  /** Runs `run` once after `ms`; returns what prevents it. */
  after(ms: number, run: () => void): () => void;
  /** So many proxies of the last run haven't come back in time. */
  onMissing(proxies: number): void;
  /** Stops listening and closes every peer, once it has read what was sent to it. */
  closeListener(): Promise<void>;
}

export interface Timers {
  /**
   * Writes everything and closes every peer. False: the store can't be written, and something is
   * lost.
   */
  stop(): Promise<boolean>;
}

/** Between two looks at silent peers, idle children and the journal's size. */
const tickMs = 1000;
/** How long a stopping daemon tries to write to its store. */
const stopWriteMs = 5_000;

export interface TimerSettings {
  /** 0: no snapshot but the last, and those that the journal's size forces. */
  readonly flushIntervalMs: number;
  readonly usageRetentionDays: number;
  /** How often what records have moved is written, if it doesn't become much before. */
  readonly usageFlushMs: number;
}

export function startTimers(
  { state, staleWindows }: Started,
  ports: TimerPorts,
  { flushIntervalMs, usageRetentionDays, usageFlushMs }: TimerSettings,
): Timers {
  let running: Promise<void> | null = null;
  let flushing: Promise<void> | null = null;
  let sweeping: Promise<void> | null = null;
  const sweep = (run: () => Promise<void>): void => {
    sweeping ??= run().finally(() => {
      sweeping = null;
    });
  };
  const takeSnapshot = (): Promise<void> => {
    running ??= snapshot(state, ports.nowMs()).finally(() => {
      running = null;
    });
    return running;
  };
  const flush = (): Promise<void> => {
    flushing ??= flushUsage(state).finally(() => {
      flushing = null;
    });
    return flushing;
  };
  state.usage.onMuch(() => void flush());
  sweep(() => removeStaleWindows(state, staleWindows));
  const trimmer = createUsageTrimmer(state.store, usageRetentionDays);
  const trim = (nowMs: number): void => {
    // What waits for a store that fails needn't become more.
    const removals =
      state.writer.failing === null ? trimmer.next(nowMs, state.usage.rolledUpKey) : [];
    if (removals.length > 0) void writeSlices(state.writer, removals);
  };
  const stops: (() => void)[] = [];
  if (flushIntervalMs > 0) stops.push(ports.every(flushIntervalMs, () => void takeSnapshot()));
  stops.push(ports.every(usageFlushMs, () => void flush()));
  stops.push(
    ports.every(tickMs, () => {
      if (state.writer.journalBytes > journalBytesMax) void takeSnapshot();
      closeTimedOutPeers(state, ports.nowMs());
      sweepSpends(state, ports.nowMs());
      sweep(() => sweepChildren(state, ports.nowMs(), state.yieldToEventLoop));
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
  /** False: it wasn't done by then. */
  const within = (ms: number, done: Promise<void>): Promise<boolean> =>
    new Promise((resolve, reject) => {
      const cancel = ports.after(ms, () => resolve(false));
      done.finally(cancel).then(() => resolve(true), reject);
    });
  const lastSnapshot = async (): Promise<void> => {
    await running;
    await takeSnapshot();
    await flushing;
    await flush();
  };
  return {
    async stop() {
      state.stopping = true;
      for (const stop of stops) stop();
      // Written while the proxies are still there, so that the next life of the daemon waits for
      // them.
      const written = await within(stopWriteMs, lastSnapshot());
      await ports.closeListener();
      return written && (await within(stopWriteMs, state.writer.close()));
    },
  };
}
