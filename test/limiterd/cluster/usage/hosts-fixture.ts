/** Daemons in memory that share their usage through one engine in memory. */
import { UsagePublisher } from "../../../../limiterd/cluster/usage/publish-usage.js";
import { OtherUsage } from "../../../../limiterd/cluster/usage/read-other-usage.js";
import { createUsageBoard } from "../../../../limiterd/cluster/usage/usage-board.js";
import { dayMs } from "../../../../shared/time.js";
import {
  createFakeEngine,
  type FakeConnection,
  type FakeEngine,
} from "../../../support/cluster/fake-engine.js";
import { createMemoryStore, type MemoryStore } from "../../../support/memory-store.js";
import { startDaemon, type TestDaemon, type TestPeer } from "../../in-memory-daemon.js";
import { noonMs } from "../../usage/usage-fixture.js";

export interface UsageHost {
  readonly name: string;
  readonly daemon: TestDaemon;
  readonly store: MemoryStore;
  readonly peer: TestPeer;
  readonly publisher: UsagePublisher;
  readonly connection: FakeConnection;
  readonly unreadable: string[];
  readonly refused: string[];
  /** Begins with the engine's epoch, if it is connected, and publishes. */
  tick(): Promise<boolean>;
  seq: number;
}

export function engineAtNoon(): FakeEngine {
  return createFakeEngine(noonMs);
}

export function joinUsage(
  engine: FakeEngine,
  name: string,
  {
    store = createMemoryStore(),
    labelsOf = (_keyId: string): readonly string[] => [],
    monoMs = (): number => 0,
    seq = 0,
    retentionDays = 400,
    knowsTime = false,
  } = {},
): UsageHost {
  const daemon = startDaemon([], { store, nowMs: engine.nowMs, labelsOf });
  const { usage, writer } = daemon.state;
  const connection = engine.connect();
  const unreadable: string[] = [];
  const refused: string[] = [];
  const nowMs = (): number => engine.nowMs;
  const board = createUsageBoard(connection.commands, {
    clusterName: "sluice",
    host: name,
    keepMs: retentionDays * dayMs,
    nowMs,
  });
  const publisher = new UsagePublisher({
    board,
    rollups: usage.rollups,
    store,
    name: `${name}.example`,
    retentionDays,
    nowMs,
    engineMs: () => (knowsTime ? engine.nowMs : null),
    yieldToEventLoop: daemon.state.yieldToEventLoop,
    write: (changes) => void writer.tryWrite(changes),
    onRefused: (reason) => void refused.push(reason),
  });
  usage.otherHosts = new OtherUsage({
    board,
    host: name,
    name: `${name}.example`,
    monoMs,
    onUnreadable: ({ message }) => void unreadable.push(message),
  });
  return {
    name,
    daemon,
    store,
    peer: daemon.proxy(`proxy-${name}`),
    publisher,
    connection,
    unreadable,
    refused,
    tick() {
      daemon.nowMs = engine.nowMs;
      const { state } = connection;
      if (state.kind === "connected") publisher.begin(state.epoch);
      return publisher.tick();
    },
    seq,
  };
}
