/**
 * Shares a daemon's counters with other hosts, and reports all of them again when the engine may
 * have lost its data.
 */
import type { ClusterFailureMode } from "../../../shared/cluster/cluster-config.js";
import { idOfRule } from "../../../shared/domain/rule.js";
import { settleMs } from "../../bounds.js";
import type { EngineConnection, EngineState } from "../../cluster/engine/engine.js";
import { createEngineLimits } from "../../cluster/engine-limits.js";
import type { HostBoard } from "../../cluster/hosts/host-board.js";
import type { Rule } from "../../counters/counter.js";
import { restateBook } from "../../shares/sync/restate-book.js";
import { shareCounters } from "../../shares/sync/share-counters.js";
import type { DaemonState } from "../../state.js";
import type { Change, Store } from "../../store/store.js";

interface SharingPorts {
  readonly engine: EngineConnection;
  readonly clusterName: string;
  readonly failureMode: ClusterFailureMode;
  readonly board: Pick<HostBoard, "identity" | "alive">;
  nowMs(): number;
  monoMs(): number;
  /** Runs `run` once after `ms`; at 0, in the next turn of the event loop. */
  after(ms: number, run: () => void): void;
  /** Runs `run` every `ms`; returns a function that stops it. */
  every(ms: number, run: () => void): () => void;
  onBroken(error: Error): void;
  /** Called when the engine refuses a counter; `reason` is a sentence for the log. */
  onRefused(reason: string): void;
}

/**
 * [epoch] in the table `cluster`: the engine's epoch to which this host has reported everything.
 */
const epochKey = "epoch";
const hostsMs = 1000;

/** Returns a function that stops sharing and gives held units back. */
export function shareLimits(state: DaemonState, ports: SharingPorts): () => Promise<void> {
  const { engine, clusterName, board, failureMode, onBroken } = ports;
  const { book, writer, store, sharedDefinitions, yieldToEventLoop } = state;
  const { id: hostId, start } = board.identity;
  const shares = shareCounters(
    book,
    {
      shared: createEngineLimits(engine, {
        clusterName,
        hostId,
        start,
        onRefused: ports.onRefused,
      }),
      monoMs: () => ports.monoMs(),
      nowMs: () => ports.nowMs(),
      lsn: () => writer.lsn,
      schedule: (ms, run) => ports.after(ms, run),
      onShared: (rule) => restate([rule]),
      isRestoring: () => state.expectedProxies !== null,
      generationOf: ({ id }) => sharedDefinitions?.generationOf(idOfRule(id)) ?? 0,
    },
    failureMode,
  );
  state.shares = shares;
  const restate = (rules?: readonly Rule[]): void => {
    const slices = { nowMs: ports.nowMs(), yieldToEventLoop };
    restateBook(book, shares, slices, rules).catch(onBroken);
  };
  const stored = store.get("cluster", epochKey)?.[0];
  let epoch = typeof stored === "string" ? stored : null;
  const onState = (now: EngineState): void => {
    if (now.kind !== "connected" || now.epoch === epoch) return;
    const isOther = epoch !== null;
    epoch = now.epoch;
    void writer.write([{ table: "cluster", key: epochKey, value: [epoch] }]);
    if (!isOther) return;
    shares.restateAll(settleMs);
    restate();
  };
  const stops = [
    engine.watch(onState),
    ports.every(hostsMs, () => {
      shares.turn.hostCount = board.alive;
    }),
  ];
  onState(engine.state);
  return async () => {
    for (const stop of stops) stop();
    await shares.stop();
  };
}

/** The changes for a host that has left the cluster. */
export function forgetEpoch(store: Pick<Store, "get">): Change[] {
  return store.get("cluster", epochKey) === undefined
    ? []
    : [{ table: "cluster", key: epochKey, value: undefined }];
}
