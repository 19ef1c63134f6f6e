/**
 * Wires the daemon: store, memory, socket, timers. Every decision is made elsewhere; here is what is
 * connected to what, and in which order it starts and stops.
 */
import type { Config } from "../shared/config/config.js";
import { commitDelayMs, frameBytesMaxToDaemon, helloDeadlineMs, journalBytesMax, reunionMs } from "../shared/bounds.js";
import { listen, type Peer } from "../shared/ipc.js";
import type { Log } from "../shared/log.js";
import { version } from "../shared/version.js";
import { createFrameReader, encodeFrame, type FrameReader } from "../shared/wire/codec.js";
import { toWire } from "../shared/wire/to-wire.js";
import { endReunion, handleClose, handleFrame } from "./handle-message.js";
import { createInertReason } from "./inert-rule.js";
import { openLmdbStore } from "./lmdb-store.js";
import { createRefusals } from "./refusals.js";
import { restore } from "./restore.js";
import { removeVoid, snapshot, sweepChildren } from "./snapshot.js";
import { type DaemonState, newCounts, type PeerState } from "./state.js";
import { countInert, inertRules } from "./status.js";
import type { Store } from "./store.js";
import { createWriter } from "./writer.js";

export interface LimiterdOptions {
  readonly config: Config;
  readonly log: Log;
  /** Wall time in ms since the epoch; tests hand in their own. */
  readonly nowMs?: () => number;
}

export interface Limiterd {
  /** Writes all windows, closes every peer and the store. Nothing is lost by it. */
  stop(): Promise<void>;
}

interface Connection {
  readonly peer: Peer;
  readonly state: PeerState;
  readonly reader: FrameReader;
}

/** Between two attempts to write to a store that fails, and between two looks at silent peers. */
const tickMs = 1000;
/** How long a stopping daemon tries to write to its store. */
const stopWriteMs = 5_000;

/** Starts a daemon; resolved, it answers on its socket. Rejects with `SocketTakenError`, `StoreLockedError` or `StoreUnreadableError`. */
export async function startLimiterd({ config, log, nowMs = Date.now }: LimiterdOptions): Promise<Limiterd> {
  const store = await openLmdbStore(config.limiter.dataDir);
  const { state, voidWindows } = await startState(store, config, log, nowMs).catch(closing(store));
  const connections = new Map<Peer, Connection>();
  let stopping = false;
  const listener = await listen({
    path: config.limiter.socket,
    groupAccess: config.limiter.socketGroupAccess,
    onConnect(peer) {
      const connection = connect(peer, nowMs());
      connections.set(peer, connection);
      state.peers.add(connection.state);
    },
    onBytes(peer, bytes) {
      const connection = connections.get(peer);
      // What a stopping daemon still counted might be on disk and its verdict not arrive: all is left to the next one, to whom it is said again.
      if (connection !== undefined && !stopping) receive(state, connection, bytes, nowMs);
    },
    onClose(peer) {
      const connection = connections.get(peer);
      connections.delete(peer);
      if (connection !== undefined) handleClose(state, connection.state, nowMs());
    },
  }).catch(closing(store));
  log.info({ socket: config.limiter.socket, store: store.file, rules: state.book.rules.size }, "limiter daemon listens");
  const timers = startTimers(state, voidWindows, config, log, nowMs);
  return {
    async stop() {
      stopping = true;
      timers.stop();
      // Written while the proxies are still there, so that the next life of the daemon waits for them.
      const written = await within(stopWriteMs, timers.lastSnapshot());
      await listener.close();
      if (!written || !(await within(stopWriteMs, state.writer.close()))) {
        log.error({ reason: state.writer.failing?.message ?? "it takes too long" }, "limiter daemon stopped without writing all: the store can't be written");
        return;
      }
      await store.close();
      log.info("limiter daemon stopped, windows written");
    },
  };
}

/** False: it wasn't done by then. */
function within(ms: number, done: Promise<void>): Promise<boolean> {
  return Promise.race([done.then(() => true), new Promise<boolean>((resolve) => setTimeout(resolve, ms, false).unref())]);
}

function closing(store: Store): (error: unknown) => Promise<never> {
  return async (error) => {
    await store.close();
    throw error;
  };
}

async function startState(store: Store, config: Config, log: Log, nowMs: () => number): Promise<{ readonly state: DaemonState; readonly voidWindows: readonly string[] }> {
  const startedAtMs = nowMs();
  const restored = restore(store, config.rateLimits.enabled ? config.rateLimits.rules : null, startedAtMs);
  const writer = createWriter(
    {
      store,
      schedule: (ms, run) => void setTimeout(run, ms),
      onStoreState(error) {
        if (error === null) return log.info({ store: store.file }, "the store can be written again");
        state.counts.failedCommits++;
        log.error({ store: store.file, reason: error.message }, "the store can't be written: settles are kept by the proxies, windows in memory");
      },
    },
    { firstLsn: restored.bornLsn, journaled: restored.journaled, commitDelayMs, retryMs: tickMs },
  );
  const inertReason = createInertReason(config);
  const state: DaemonState = {
    settings: {
      version,
      pid: process.pid,
      rateLimitsEnabled: config.rateLimits.enabled,
      usageEnabled: config.usageEnabled,
      quotaTemplatesEntitled: config.quotaTemplatesEntitled,
      inertReason,
    },
    book: restored.book,
    proxies: restored.proxies,
    writer,
    peers: new Set(),
    bornLsn: restored.bornLsn,
    startedAtMs,
    awaited: restored.awaited.size > 0 ? restored.awaited : null,
    store,
    refusals: createRefusals(),
    inertRules: countInert(restored.book, inertReason),
    onInertRule: (rule) => log.warn({ rule }, "inert rule: it is loaded, but not enforced as it is written"),
    counts: newCounts(),
    lastSnapshotAtMs: null,
  };
  await writer.write(restored.changes);
  for (const rule of inertRules(state)) state.onInertRule(rule);
  return { state, voidWindows: restored.voidWindows };
}

function connect(peer: Peer, nowMs: number): Connection {
  const state: PeerState = {
    connectedAtMs: nowMs,
    send: (message) => peer.send(encodeFrame(toWire(message))),
    close: () => peer.close(),
    role: null,
    proxy: null,
    welcomed: false,
    helloId: 0,
    leases: new Map(),
  };
  return { peer, state, reader: createFrameReader(frameBytesMaxToDaemon) };
}

/** Time is read once for all that arrived together. */
function receive(state: DaemonState, connection: Connection, bytes: Buffer, nowMs: () => number): void {
  const now = nowMs();
  let grammatical = true;
  const framed = connection.reader.feed(bytes, (frame) => {
    grammatical &&= handleFrame(state, connection.state, frame, now);
  });
  if (framed && grammatical) return;
  state.counts.closedPeers++;
  connection.peer.close();
}

function startTimers(state: DaemonState, voidWindows: readonly string[], config: Config, log: Log, nowMs: () => number): { stop(): void; lastSnapshot(): Promise<void> } {
  let running: Promise<void> | null = null;
  let sweeping: Promise<void> | null = null;
  const sweep = (run: () => Promise<void>): void => {
    sweeping ??= run().finally(() => {
      sweeping = null;
    });
  };
  const takeSnapshot = (): Promise<void> => {
    running ??= snapshot(state, nowMs()).finally(() => {
      running = null;
    });
    return running;
  };
  sweep(() => removeVoid(state, voidWindows));
  const intervalMs = config.rateLimits.flushIntervalMs;
  const timers: NodeJS.Timeout[] = [];
  if (intervalMs > 0) timers.push(setInterval(() => void takeSnapshot(), intervalMs));
  timers.push(setInterval(() => {
    if (state.writer.journalBytes > journalBytesMax) void takeSnapshot();
    closeSilentPeers(state, nowMs());
    sweep(() => sweepChildren(state, nowMs(), nextTurn));
  }, tickMs));
  if (state.awaited !== null) {
    timers.push(setTimeout(() => {
      if (state.awaited !== null) log.warn({ missing: state.awaited.size }, "proxies of the last run have not come back");
      endReunion(state);
    }, reunionMs));
  }
  return {
    stop: () => timers.forEach((timer) => clearTimeout(timer)),
    async lastSnapshot() {
      await running;
      await takeSnapshot();
    },
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function closeSilentPeers(state: DaemonState, nowMs: number): void {
  for (const peer of state.peers) {
    if (peer.role !== null || nowMs - peer.connectedAtMs < helloDeadlineMs) continue;
    state.counts.closedPeers++;
    peer.close();
  }
}
