/**
 * Several hosts in one process, for tests: daemons in memory that share one engine, which is its
 * twin. Time is virtual: nothing happens but by `pass`.
 */
import { settleMs } from "../../../limiterd/bounds.js";
import { EngineAwayError } from "../../../limiterd/cluster/engine/engine.js";
import type { SharedLimits } from "../../../limiterd/cluster/shared-limits.js";
import { SpendExchange, spendTickMs } from "../../../limiterd/cluster/spend/exchange-spend.js";
import { createSpendBoard } from "../../../limiterd/cluster/spend/spend-board.js";
import { endReconnectGrace } from "../../../limiterd/handlers/accept-hello.js";
import { restateBook } from "../../../limiterd/shares/sync/restate-book.js";
import { shareCounters } from "../../../limiterd/shares/sync/share-counters.js";
import type { ShareSync } from "../../../limiterd/shares/sync/share-sync.js";
import type { ClusterFailureMode } from "../../../shared/cluster/cluster-config.js";
import type { WaitLimits } from "../../../shared/config/config.js";
import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { Lease } from "../../../shared/wire/message-to-daemon.js";
import {
  type CounterTwin,
  createCounterTwin,
  createTwinLimits,
} from "../../support/cluster/counter-twin.js";
import { createFakeEngine, type FakeEngine } from "../../support/cluster/fake-engine.js";
import { startDaemon, type TestDaemon, type TestPeer } from "../in-memory-daemon.js";

export const beginMs = 1_767_225_600_000;

interface Timer {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

/** Virtual time, on every clock. */
export class VirtualTime {
  nowMs = 0;
  readonly #timers: Timer[] = [];
  #order = 0;

  schedule(ms: number, run: () => void): void {
    this.#timers.push({ atMs: this.nowMs + ms, order: this.#order++, run });
  }

  /** Runs all that is due in this time, each with the promises that follow from it. */
  async pass(ms: number): Promise<void> {
    const endMs = this.nowMs + ms;
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      const [next] = this.#timers.sort((a, b) => a.atMs - b.atMs || a.order - b.order);
      if (next === undefined || next.atMs > endMs) break;
      this.#timers.shift();
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.run();
    }
    this.nowMs = endMs;
  }
}

export interface Host {
  readonly id: string;
  daemon: TestDaemon;
  shares: ShareSync;
  proxy: TestPeer;
  /** Kills the daemon, and starts it again from its store; its proxy isn't back yet. */
  restart(): void;
  /** It has reached the engine again, which has lost its data. */
  reachesEmptied(): void;
  /** The proxy is back and reports these leases. */
  reconnect(leases: readonly Lease[]): void;
  /** Kills the proxy, and starts another one. */
  replaceProxy(): void;
  /** The engine can't be asked while this is set. */
  cutOff: boolean;
  /** The engine doesn't answer about these rules alone: its part that has them is away. */
  awayRule: string | null;
  /** The engine doesn't answer. */
  isSlow: boolean;
  /** Its answers are read so late. */
  answerMs: number;
  /** How often each rule was reset. */
  generation: number;
}

export interface Hosts {
  readonly time: VirtualTime;
  readonly twin: CounterTwin;
  /** What has the spend of budgets. */
  readonly engine: FakeEngine;
  readonly all: readonly Host[];
  /** Questions that the engine was asked. */
  asked: number;
  /** What the clocks of the hosts and of the engine show. */
  wallMs(): number;
  pass(ms: number): Promise<void>;
  /** The same, while the clocks stand still: only deadlines pass. */
  passQuietly(ms: number): Promise<void>;
}

export interface HostOptions {
  readonly count?: number;
  readonly failureMode?: ClusterFailureMode;
  readonly startMs?: number;
  readonly waiting?: WaitLimits;
  readonly budgets?: readonly BudgetDefinition[];
}

const noWaiting: WaitLimits = { maxMs: 0, defaultMs: 0, paths: [] };

export function startHosts(
  rules: readonly RuleDefinition[],
  {
    count = 2,
    failureMode = "closed",
    startMs = beginMs,
    waiting = noWaiting,
    budgets = [],
  }: HostOptions = {},
): Hosts {
  const time = new VirtualTime();
  const twin = createCounterTwin();
  const all: Host[] = [];
  let aheadMs = startMs;
  let stoppedMs: number | null = null;
  const hosts: Hosts = {
    time,
    twin,
    engine: createFakeEngine(startMs),
    all,
    asked: 0,
    wallMs: () => stoppedMs ?? Math.floor(aheadMs + time.nowMs),
    async pass(ms) {
      await time.pass(ms);
      for (const { daemon } of all) daemon.nowMs = hosts.wallMs();
    },
    async passQuietly(ms) {
      stoppedMs = hosts.wallMs();
      await time.pass(ms);
      aheadMs = stoppedMs - time.nowMs;
      stoppedMs = null;
    },
  };
  for (let i = 0; i < count; i++)
    all.push(startHost(hosts, rules, { index: i, count, failureMode, waiting, budgets }));
  return hosts;
}

function startHost(
  hosts: Hosts,
  rules: readonly RuleDefinition[],
  {
    index,
    count,
    failureMode,
    waiting,
    budgets,
  }: Required<Omit<HostOptions, "startMs">> & { readonly index: number },
): Host {
  const id = `host-${index + 1}`;
  let proxyId = `proxy-${index + 1}`;
  let lives = 0;
  const begin = (store?: TestDaemon["store"]): Pick<Host, "daemon" | "shares"> => {
    const start = ++lives;
    const isOver = (): boolean => start < lives;
    const daemon = startDaemon(rules, {
      ...{ nowMs: hosts.wallMs(), waiting, budgets },
      ...(store === undefined ? {} : { store }),
    });
    const shares = shareRules(hosts, { id, start, daemon, isOver, failureMode, host: () => host });
    shares.turn.hostCount = count;
    daemon.state.shares = shares;
    if (budgets.length > 0) shareBudgets(hosts, { id, daemon, isOver, host: () => host });
    return { daemon, shares };
  };
  const first = begin();
  const host: Host = {
    ...first,
    id,
    proxy: first.daemon.proxy(proxyId),
    restart() {
      Object.assign(host, begin(host.daemon.store.crash()));
    },
    reachesEmptied() {
      host.cutOff = false;
      const { state } = host.daemon;
      host.shares.restateAll(settleMs);
      const slices = { nowMs: hosts.wallMs(), yieldToEventLoop: async () => {} };
      void restateBook(state.book, host.shares, slices);
      if (state.budgets.others instanceof SpendExchange) state.budgets.others.reportAll();
    },
    reconnect(leases) {
      host.proxy = host.daemon.proxy(proxyId, leases);
      endReconnectGrace(host.daemon.state);
    },
    replaceProxy() {
      host.proxy.close();
      proxyId = `${proxyId}x`;
      host.proxy = host.daemon.proxy(proxyId);
    },
    cutOff: false,
    awayRule: null,
    isSlow: false,
    answerMs: 0,
    generation: 0,
  };
  return host;
}

/** One life of a host's daemon. */
interface HostLife {
  readonly id: string;
  readonly daemon: TestDaemon;
  /** Whether it was killed. */
  readonly isOver: () => boolean;
  readonly host: () => Host;
}

function shareRules(
  hosts: Hosts,
  life: HostLife & { readonly start: number; readonly failureMode: ClusterFailureMode },
): ShareSync {
  const { time, twin } = hosts;
  const { id, start, daemon, isOver } = life;
  const nowMs = (): number => hosts.wallMs();
  const engine = createTwinLimits(twin, { hostId: id, start }, nowMs);
  const shared: SharedLimits = {
    async sync(questions) {
      const host = life.host();
      if (host.cutOff || isOver()) throw new Error("cut off");
      hosts.asked += questions.length;
      if (host.isSlow) return await new Promise(() => {});
      const replies = (await engine.sync(questions)).map((reply, i) =>
        questions[i]!.ruleId === host.awayRule ? { ...reply, status: "away" as const } : reply,
      );
      if (host.answerMs > 0)
        await new Promise<void>((resolve) => time.schedule(host.answerMs, resolve));
      return replies;
    },
    read: (names) =>
      life.host().cutOff ? Promise.reject(new Error("cut off")) : engine.read(names),
  };
  const { book } = daemon.state;
  const slices = { yieldToEventLoop: async () => {} };
  const shares = shareCounters(
    book,
    {
      onShared: (rule) => void restateBook(book, shares, { nowMs: nowMs(), ...slices }, [rule]),
      shared,
      monoMs: () => time.nowMs,
      nowMs,
      lsn: () => daemon.state.writer.lsn,
      schedule: (ms, run) =>
        time.schedule(ms, () => {
          if (!isOver()) run();
        }),
      isRestoring: () => daemon.state.expectedProxies !== null,
      generationOf: () => life.host().generation,
    },
    life.failureMode,
  );
  return shares;
}

/** Its spend is exchanged as that of a host with an engine. */
function shareBudgets({ time, engine, wallMs }: Hosts, life: HostLife): void {
  const { state } = life.daemon;
  const board = createSpendBoard(engine.connect().commands, { clusterName: "sluice" });
  const spend = new SpendExchange({
    ...{ book: state.budgets, host: life.id, nowMs: wallMs, monoMs: () => time.nowMs },
    board: {
      async exchange(questions) {
        const host = life.host();
        if (host.cutOff || life.isOver()) throw new EngineAwayError("cut off");
        if (host.isSlow) return await new Promise(() => {});
        const answers = await board.exchange(questions);
        if (host.answerMs > 0)
          await new Promise<void>((resolve) => time.schedule(host.answerMs, resolve));
        return answers;
      },
    },
    after: (ms, run) =>
      time.schedule(ms, () => {
        if (!life.isOver()) run();
      }),
    isLoading: () => state.accountsLoading,
    shares: state.shares,
    isRestoring: () => state.expectedProxies !== null,
    onRefused(reason) {
      throw new Error(reason);
    },
  });
  state.budgets.others = spend;
  const tick = (): void => {
    if (life.isOver()) return;
    void spend.tick();
    time.schedule(spendTickMs, tick);
  };
  time.schedule(spendTickMs, tick);
}
