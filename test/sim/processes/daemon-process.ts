/**
 * The daemon's own steps, wired to simulated sockets, disk and clock as `limiterd/main.ts` wires
 * them to real ones.
 */
import { connect, receive } from "../../../limiterd/handlers/connection.js";
import { freeSlotsOfLostPeer } from "../../../limiterd/handlers/free-slots-of-lost-peer.js";
import { startState } from "../../../limiterd/lifecycle/start-state.js";
import { startTimers, type Timers } from "../../../limiterd/lifecycle/start-timers.js";
import type { PeerState } from "../../../limiterd/peer.js";
import { configuredText } from "../../../limiterd/rules/stored-rule.js";
import type { DaemonState } from "../../../limiterd/state.js";
import type { Store } from "../../../limiterd/store/store.js";
import { frameBytesMaxToDaemon } from "../../../shared/bounds.js";
import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { TokenWeights } from "../../../shared/domain/token-weights.js";
import { createFrameReader, encodeFrame, type FrameReader } from "../../../shared/wire/codec.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { writeFromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { parseToDaemon } from "../../../shared/wire/message-to-daemon.js";
import { oracleProviderTypes } from "../../limiterd/oracle.js";
import { noCopies } from "../../support/no-copies.js";
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
  readonly tokenWeights: TokenWeights | null;
  readonly flushIntervalMs: number;
  readonly usageFlushMs: number;
  readonly release: Release;
  /** Whether requests may wait for room. */
  readonly waits: boolean;
  /** The host's wall clock. */
  nowMs(): number;
  isAlive(proxyId: string): boolean;
}

export class DaemonProcess {
  readonly process: Process;
  readonly #options: DaemonOptions;
  readonly #peers = new Map<End, PeerState>();
  #state: DaemonState | null = null;
  #timers: Timers | null = null;
  #isListening = false;
  /** The ids of alerts whose delivery is on the disk. */
  readonly #delivered = new Set<string>();
  #isStopping = false;

  constructor(options: DaemonOptions) {
    const { world, disk, witness } = options;
    this.#options = options;
    this.process = world.process("daemon");
    world.trace("daemon starts");
    witness.starting();
    const store = disk.open(this.process);
    this.process.onDeath.push(() => {
      this.#isListening = false;
      witness.dead();
    });
    world.after(world.random.between(5, 60), this.process, () => void this.#start(store));
  }

  get listening(): boolean {
    return this.#isListening && this.process.alive;
  }

  /** Null until it listens. */
  get state(): DaemonState | null {
    return this.process.alive ? this.#state : null;
  }

  /** The daemon's state of the connection with this end. */
  peerOf(end: End): PeerState | undefined {
    return this.#peers.get(end);
  }

  /** Takes the daemon's end of a connection, which the kernel has accepted already. */
  accept(end: End): void {
    const { world, witness, nowMs } = this.#options;
    let peer: PeerState | null = null;
    const reader = this.#witnessedReader(() => peer!);
    end.onBytes = (bytes) => {
      const state = this.#state!;
      const closedBefore = state.counts.closedPeers;
      receive(state, { peer: peer!, reader }, bytes, nowMs());
      if (state.counts.closedPeers !== closedBefore)
        world.fail("the daemon closes a proxy that keeps to the grammar");
    };
    end.onClose = () => {
      if (peer === null) return;
      this.#peers.delete(end);
      witness.closed(peer);
      freeSlotsOfLostPeer(this.#state!, peer, nowMs());
    };
    world.after(0, this.process, () => {
      if (!end.open) return;
      peer = this.#connect(end, () => peer!);
      witness.opened(peer, end);
      this.#peers.set(end, peer);
    });
  }

  /**
   * Takes an alert as a proxy does and, often, reports that it was delivered. Then the alert must
   * not come again, unless the clock was set back to an earlier period.
   */
  #deliverAlert(state: DaemonState): void {
    const { world, witness, nowMs } = this.#options;
    const { alert } = state.alerts.take("hook", nowMs());
    if (alert === null) return;
    world.count("alert handed out");
    if (this.#delivered.has(alert.id) && !witness.clockStepped)
      world.fail(`the alert ${alert.id} of ${alert.subject} was delivered and comes again`);
    if (world.random.chance(0.1)) return;
    const report = { destination: "hook", id: alert.id, reason: null };
    void state.writer.write(state.alerts.report(report, nowMs())).then(() => {
      this.#delivered.add(alert.id);
    });
  }

  /** SIGTERM. */
  stop(): void {
    const { world, disk } = this.#options;
    if (this.#timers === null || this.#isStopping || !this.process.alive) return;
    this.#isStopping = true;
    world.trace("daemon gets SIGTERM");
    void this.#timers.stop().then((written) => {
      world.count(written ? "daemon stopped, all written" : "daemon stopped, not all written");
      const missing = written ? unwrittenSum(disk) : null;
      if (missing !== null) world.fail(missing);
      world.kill(this.process);
    });
  }

  async #start(store: Store): Promise<void> {
    const { world, disk, witness, nowMs, isAlive } = this.#options;
    const state = await this.#startState(store);
    if (!this.process.alive) return;
    this.#state = state;
    witness.started(state, isAlive);
    const { clockStepped } = witness;
    // In half of the cases, because the comparison reads accounts that would be read later.
    const wrong = world.random.chance(0.5)
      ? usageDifference(disk, state, { nowMs: nowMs(), clockStepped, hasStarted: true })
      : null;
    if (wrong !== null) world.fail(`after a start ${wrong}`);
    this.#timers = this.#startTimers(state);
    world.every(500, this.process, () => this.#deliverAlert(state));
    this.#isListening = true;
    world.trace("daemon listens");
  }

  #startState(store: Store): Promise<DaemonState> {
    const { world, rules, budgets, release, nowMs } = this.#options;
    const owner = this.process;
    const settings = {
      version: "simulated",
      wireVersions: release.wireVersions,
      pid: 1,
      rateLimitsEnabled: true,
      usageEnabled: true,
      showsAncestors: true,
      requestDetailsMax: 0,
      background: { lookMs: 60_000, waitMs: 86_400_000, max: 100 },
      quotaTemplatesEntitled: true,
      tokenWeights: this.#options.tokenWeights,
      budgetsEnabled: true,
      alerts: [{ id: "hook", at: [0.02, 0.1, 0.5, 1], forecast: true, rateLimits: true }],
      unpriced: "allow" as const,
      upstreams: new Map(),
      inertReason: () => null,
      useProblem: () => null,
      configFile: null,
      waiting: { maxMs: this.#options.waits ? 60_000 : 0, defaultMs: 0, paths: [] },
      settingText: (path: string) => path,
    };
    return startState(
      {
        store,
        schedule: (ms, run) => void world.after(ms, owner, run),
        onStoreState: () => {},
        onInert: () => {},
        onUnentitled: () => {},
        onUnreadable: (error) => world.fail(error.message),
        onBroken: (error) => world.fail(error.message),
        onDroppedRecord: (proxyId, field) =>
          world.fail(`the record of ${proxyId} is invalid: ${field}`),
        onLimitsApplied: () => {},
        onUnsureSpend: () => {},
        onRaise: ({ event }) => world.count(`raise ${event}`),
        onUnsupportedVersion: ({ wireVersion }) =>
          world.count(`hello of version ${wireVersion} refused`),
        measures: { monoMs: () => world.nowMs, readProcess: () => Promise.reject(new Error()) },
        beginCopy: noCopies,
        wallMs: nowMs,
        yieldToEventLoop: () =>
          new Promise<void>(
            (resolve) => void world.after(world.random.skewed(5, 100), owner, resolve),
          ),
      },
      {
        settings,
        rules,
        digest: configuredText(rules),
        budgets,
        providers: oracleProviderTypes,
        hashKey: [1, 2],
        host: "test",
        newStoreId: "test",
        nowMs: nowMs(),
        uptime: { boot: "boot", upMs: Math.floor(world.nowMs) },
      },
    );
  }

  #startTimers(state: DaemonState): Timers {
    const { world, nowMs, flushIntervalMs, usageFlushMs } = this.#options;
    const owner = this.process;
    return startTimers(
      state,
      {
        nowMs,
        every: (ms, run) => world.every(ms, owner, run),
        after: (ms, run) => world.after(ms, owner, run),
        onBroken: (error) => world.fail(error.message),
        onFill: () => {},
        onMissing: (proxies) => world.count("proxy missing after the grace period", proxies),
        closeListener: () => {
          this.#isListening = false;
          for (const end of this.#peers.keys()) end.close();
          return Promise.resolve();
        },
      },
      {
        flushIntervalMs,
        usageRetentionDays: 400,
        auditRetentionDays: 365,
        storeBytesMax: null,
        usageFlushMs,
        loadedPerSlice: Math.floor(world.random.between(1, 8)),
      },
    );
  }

  /** A reader that shows each message to the witness before the daemon handles it. */
  #witnessedReader(peer: () => PeerState): FrameReader {
    const { world, witness, release, nowMs } = this.#options;
    const reader = createFrameReader(frameBytesMaxToDaemon);
    return {
      feed: (bytes, onFrame) =>
        reader.feed(bytes, (frame) => {
          const message = parseToDaemon(frame, release.wireVersions);
          if (message === null)
            return world.fail(
              `a proxy sent a frame that isn't in the grammar: ${JSON.stringify(frame)}`,
            );
          witness.frame(peer(), message, nowMs(), () => onFrame(frame));
        }),
    };
  }

  #connect(end: End, peer: () => PeerState): PeerState {
    const { witness, nowMs } = this.#options;
    const send = (message: FromDaemon): void => {
      witness.sent(peer(), message, nowMs());
      end.send(encodeFrame(writeFromDaemon(message)));
    };
    return connect(
      this.#state!,
      {
        mayAdminister: true,
        send,
        sendBulk(message, then) {
          send(message);
          end.whenSent(() => then(nowMs()));
        },
        close: () => end.close(),
      },
      nowMs(),
    );
  }
}
