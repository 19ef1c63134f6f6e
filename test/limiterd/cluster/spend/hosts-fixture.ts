/** Daemons in memory that share their budgets through one engine in memory. */
import type { Account } from "../../../../limiterd/budgets/budget-account.js";
import { SpendExchange } from "../../../../limiterd/cluster/spend/exchange-spend.js";
import { createSpendBoard } from "../../../../limiterd/cluster/spend/spend-board.js";
import type { BudgetDefinition } from "../../../../shared/domain/budget.js";
import {
  createFakeEngine,
  type FakeConnection,
  type FakeEngine,
} from "../../../support/cluster/fake-engine.js";
import { type Client, client, noon } from "../../budgets/budget-fixture.js";
import { startDaemon, type TestDaemon } from "../../in-memory-daemon.js";

export interface Host {
  readonly daemon: TestDaemon;
  readonly proxy: Client;
  readonly spend: SpendExchange;
  readonly connection: FakeConnection;
  readonly refused: string[];
  /** Runs what waits, whatever its time. */
  runTimers(): Promise<void>;
}

export interface Cluster {
  readonly engine: FakeEngine;
  readonly hosts: readonly Host[];
  /** The monotonic clock of all hosts. */
  monoMs: number;
  /** All hosts tell and read, twice. */
  settle(): Promise<void>;
}

export function clusterOf(
  count: number,
  budgets: readonly BudgetDefinition[],
  options: NonNullable<Parameters<typeof startDaemon>[1]> = {},
): Cluster {
  const engine = createFakeEngine();
  const cluster: Cluster = {
    engine,
    monoMs: 0,
    hosts: [],
    async settle() {
      for (let i = 0; i < 2; i++)
        for (const { spend } of cluster.hosts) {
          cluster.monoMs += 250;
          await spend.tick();
        }
    },
  };
  const hosts = Array.from({ length: count }, (_, i) =>
    join(cluster, `host${i}`, budgets, options),
  );
  return Object.assign(cluster, { hosts });
}

export function join(
  cluster: Cluster,
  host: string,
  budgets: readonly BudgetDefinition[],
  options: NonNullable<Parameters<typeof startDaemon>[1]> = {},
): Host {
  const daemon = startDaemon([], { nowMs: noon, budgets, ...options });
  const connection = cluster.engine.connect();
  const timers: (() => void)[] = [];
  const refused: string[] = [];
  const spend = new SpendExchange({
    book: daemon.state.budgets,
    host,
    board: createSpendBoard(connection.commands, { clusterName: "sluice" }),
    nowMs: () => daemon.nowMs,
    monoMs: () => cluster.monoMs,
    isLoading: () => daemon.state.accountsLoading,
    shares: null,
    isRestoring: () => daemon.state.expectedProxies !== null,
    onRefused: (reason) => void refused.push(reason),
    after: (_ms, run) => void timers.push(run),
  });
  daemon.state.budgets.others = spend;
  return {
    daemon,
    proxy: client(daemon),
    spend,
    connection,
    refused,
    async runTimers() {
      for (const run of timers.splice(0)) run();
      for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

/** The accounts of a path on a host. */
export const accountsOf = ({ daemon }: Host, path: string): Account[] =>
  daemon.state.budgets.copy({ userPath: path }, [], daemon.nowMs);
