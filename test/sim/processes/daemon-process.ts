/**
 * The daemon's own steps, wired to simulated sockets, disk and clock as `limiterd/main.ts` wires
 * them to real ones.
 */
import { connect, disconnect, receive } from "../../../limiterd/handlers/connection.js";
import { startState } from "../../../limiterd/lifecycle/start-state.js";
import { startTimers, type Timers } from "../../../limiterd/lifecycle/start-timers.js";
import type { PeerState } from "../../../limiterd/peer.js";
import type { DaemonState } from "../../../limiterd/state.js";
import { frameBytesMaxToDaemon } from "../../../shared/bounds.js";
import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import { createFrameReader, encodeFrame, type FrameReader } from "../../../shared/wire/codec.js";
import { parseToDaemon } from "../../../shared/wire/parse-to-daemon.js";
import { toWire } from "../../../shared/wire/to-wire.js";
import { oracleProviderTypes } from "../../limiterd/rules/oracle.js";
import { unwrittenSum, usageDifference } from "../checks/compare-usage.js";
import type { Witness } from "../checks/witness.js";
import type { Release } from "../releases.js";
import type { Process, World } from "../world.js";
import type { Disk } from "./disk.js";
import type { End } from "./stream-socket.js";

export interface DaemonOptions {
  readonly world: World;
  readonly disk: Disk;
  readonly witness: Witness;
  readonly rules: readonly RuleDefinition[];
  readonly budgets: readonly BudgetDefinition[];
  readonly flushIntervalMs: number;
  readonly usageFlushMs: number;
  readonly release: Release;
  /** The host's wall clock. */
  nowMs(): number;
  isAlive(proxyId: string): boolean;
}

export interface DaemonProcess {
  readonly process: Process;
  readonly listening: boolean;
  /** Null until it listens. */
  readonly state: DaemonState | null;
  /** Takes a connection's end; the kernel has accepted it already. */
  accept(end: End): void;
  /** SIGTERM. */
  stop(): void;
  /** What the daemon holds of the connection with this end. */
  peerOf(end: End): PeerState | undefined;
}

export function startDaemonProcess({
  world,
  disk,
  witness,
  rules,
  budgets,
  flushIntervalMs,
  usageFlushMs,
  release,
  nowMs,
  isAlive,
}: DaemonOptions): DaemonProcess {
  const owner = world.process("daemon");
  const peers = new Map<End, PeerState>();
  let state: DaemonState | null = null;
  let timers: Timers | null = null;
  let listening = false;
  let stopping = false;
  world.trace("daemon starts");
  witness.starting();
  const store = disk.open(owner);
  owner.onDeath.push(() => {
    listening = false;
    witness.dead();
  });

  async function start(): Promise<void> {
    const settings = {
      version: "simulated",
      wireVersions: release.wireVersions,
      pid: 1,
      rateLimitsEnabled: true,
      usageEnabled: true,
      quotaTemplatesEntitled: true,
      budgetsEnabled: true,
      inertReason: () => null,
    };
    const started = await startState(
      {
        store,
        schedule: (ms, run) => void world.after(ms, owner, run),
        onStoreState: () => {},
        onInert: () => {},
        onUnentitled: () => {},
        onUnreadable: (error) => world.fail(error.message),
        onDroppedRecord: (proxyId, field) =>
          world.fail(`the record of ${proxyId} is invalid: ${field}`),
        onForeignVersion: ({ wireVersion }) =>
          world.count(`hello of version ${wireVersion} refused`),
        yieldToEventLoop: () =>
          new Promise<void>(
            (resolve) => void world.after(world.random.skewed(5, 100), owner, resolve),
          ),
      },
      {
        settings,
        rules,
        budgets,
        providers: oracleProviderTypes,
        hashKey: [1, 2],
        nowMs: nowMs(),
        uptime: { boot: "boot", upMs: Math.floor(world.nowMs) },
      },
    );
    if (!owner.alive) return;
    state = started;
    witness.started(started, isAlive);
    const wrong = usageDifference(disk, started, {
      nowMs: nowMs(),
      clockStepped: witness.clockStepped,
    });
    if (wrong !== null) world.fail(`after a start ${wrong}`);
    timers = startTimers(
      started,
      {
        nowMs,
        every: (ms, run) => world.every(ms, owner, run),
        after: (ms, run) => world.after(ms, owner, run),
        onBroken: (error) => world.fail(error.message),
        onMissing: (proxies) => world.count("proxy missing after the grace period", proxies),
        closeListener() {
          listening = false;
          for (const end of peers.keys()) end.close();
          return Promise.resolve();
        },
      },
      {
        flushIntervalMs,
        usageRetentionDays: 400,
        usageFlushMs,
        loadedPerSlice: Math.floor(world.random.between(1, 8)),
      },
    );
    listening = true;
    world.trace("daemon listens");
  }

  function accept(end: End): void {
    let peer: PeerState | null = null;
    const reader = createFrameReader(frameBytesMaxToDaemon);
    const witnessed: FrameReader = {
      feed: (bytes, onFrame) =>
        reader.feed(bytes, (frame) => {
          const message = parseToDaemon(frame, release.wireVersions);
          if (message === null)
            return world.fail(
              `a proxy sent a frame that isn't in the grammar: ${JSON.stringify(frame)}`,
            );
          witness.frame(peer!, message, nowMs(), () => onFrame(frame));
          if (message.kind === "foreign hello" && release.hangsUp) end.close();
        }),
    };
    end.onBytes = (bytes) => {
      const closedBefore = state!.counts.closedPeers;
      receive(state!, { peer: peer!, reader: witnessed }, bytes, nowMs());
      if (state!.counts.closedPeers !== closedBefore)
        world.fail("the daemon closes a proxy that keeps to the grammar");
    };
    end.onClose = () => {
      if (peer === null) return;
      peers.delete(end);
      witness.closed(peer);
      disconnect(state!, peer, nowMs());
    };
    world.after(0, owner, () => {
      if (!end.open) return;
      peer = connect(
        state!,
        {
          mayAdminister: true,
          send(message) {
            witness.sent(peer!, message);
            end.send(encodeFrame(toWire(message)));
          },
          sendBulk(message, then) {
            witness.sent(peer!, message);
            end.send(encodeFrame(toWire(message)));
            end.whenSent(() => then(nowMs()));
          },
          close: () => end.close(),
        },
        nowMs(),
      );
      peers.set(end, peer);
    });
  }

  world.after(world.random.between(5, 60), owner, () => void start());
  return {
    process: owner,
    get listening() {
      return listening && owner.alive;
    },
    get state() {
      return owner.alive ? state : null;
    },
    accept,
    stop() {
      if (timers === null || stopping || !owner.alive) return;
      stopping = true;
      world.trace("daemon gets SIGTERM");
      void timers.stop().then((written) => {
        world.count(written ? "daemon stopped, all written" : "daemon stopped, not all written");
        const missing = written ? unwrittenSum(disk) : null;
        if (missing !== null) world.fail(missing);
        world.kill(owner);
      });
    },
    peerOf: (end) => peers.get(end),
  };
}
