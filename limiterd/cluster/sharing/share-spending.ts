/** Shares the spend of budgets and the usage with the other hosts of a cluster. */

import { dayMs } from "../../../shared/time.js";
import type { DaemonState } from "../../state.js";
import type { EngineConnection, EngineState } from "../engine/engine.js";
import { SpendExchange, spendTickMs } from "../spend/exchange-spend.js";
import { createSpendBoard } from "../spend/spend-board.js";
import { sharedDays, UsagePublisher } from "../usage/publish-usage.js";
import { OtherUsage } from "../usage/read-other-usage.js";
import { createUsageBoard } from "../usage/usage-board.js";

const publishMs = 1000;

export interface SpendingPorts {
  readonly engine: EngineConnection;
  readonly clusterName: string;
  /** This host's id. */
  readonly host: string;
  /** The name of its machine. */
  readonly machine: string;
  readonly usageRetentionDays: number;
  nowMs(): number;
  /** A lower bound of the engine's clock; null if unknown. */
  engineMs(): number | null;
  monoMs(): number;
  /** Runs `run` every `ms`; returns a function that stops it. */
  every(ms: number, run: () => void): () => void;
  /** Runs `run` once after `ms`. */
  after(ms: number, run: () => void): void;
  /** Called when the engine has answered with an error; `reason` is a sentence for the log. */
  onRefused(reason: string): void;
}

/**
 * Returns a function that stops sharing, after it has reported to the engine what it can within
 * about a second.
 */
export function shareSpending(state: DaemonState, ports: SpendingPorts): () => Promise<void> {
  const { engine } = ports;
  const spend = new SpendExchange({
    ...ports,
    book: state.budgets,
    board: createSpendBoard(engine.commands, ports),
    isLoading: () => state.accountsLoading,
    shares: state.shares,
    isRestoring: () => state.expectedProxies !== null,
  });
  state.budgets.others = spend;
  const publisher = state.settings.usageEnabled ? shareUsage(state, ports) : null;
  let epoch = "";
  const connected = (now: EngineState): void => {
    if (now.kind !== "connected" || now.epoch === epoch) return;
    epoch = now.epoch;
    spend.reportAll();
    publisher?.begin(epoch);
  };
  connected(engine.state);
  const ends = [
    engine.watch(connected),
    ports.every(spendTickMs, () => void spend.tick()),
    ...(publisher === null ? [] : [ports.every(publishMs, () => void publisher.tick())]),
  ];
  return async () => {
    for (const end of ends) end();
    // Each question ends within a second. After the first unanswered one, no other follows.
    await spend.stop();
    await publisher?.tick();
  };
}

function shareUsage(
  { usage, store, writer, onUnreadable, yieldToEventLoop }: DaemonState,
  ports: SpendingPorts,
): UsagePublisher {
  const { engine, host, machine: name, usageRetentionDays: retentionDays, monoMs } = ports;
  const keepMs = sharedDays(retentionDays) * dayMs;
  const board = createUsageBoard(engine.commands, { ...ports, keepMs });
  usage.otherHosts = new OtherUsage({ board, host, name, monoMs, onUnreadable });
  return new UsagePublisher({
    ...ports,
    board,
    rollups: usage.rollups,
    store,
    name,
    retentionDays,
    yieldToEventLoop,
    write: (changes) => void writer.tryWrite(changes),
  });
}
