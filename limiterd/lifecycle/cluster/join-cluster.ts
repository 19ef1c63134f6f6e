/**
 * Makes a daemon one of several hosts: takes an id, reports itself, and shares definitions, limits
 * and usage.
 */
import type { ClusterFailureMode } from "../../../shared/cluster/cluster-config.js";
import { DefinitionCopy } from "../../cluster/definitions/definition-copy.js";
import { definitionsChannel } from "../../cluster/definitions/definition-engine.js";
import {
  EngineAwayError,
  type EngineConnection,
  EngineRefusedError,
} from "../../cluster/engine/engine.js";
import { differingHosts } from "../../cluster/hosts/differing-hosts.js";
import { beatMs, HostBoard, type HostFacts } from "../../cluster/hosts/host-board.js";
import { freshIdentity, identityChange, nextIdentity } from "../../cluster/hosts/host-identity.js";
import { shareSpending } from "../../cluster/sharing/share-spending.js";
import { noteClusterState } from "../../handlers/announcements/announce.js";
import { type SharingLog, shareDefinitions } from "../../handlers/definitions/share-definitions.js";
import type { DaemonState } from "../../state.js";
import { refusals } from "./refusals.js";
import { shareKeyUses } from "./share-key-uses.js";
import { forgetEpoch, shareLimits } from "./share-limits.js";

interface ClusterPorts {
  readonly engine: EngineConnection;
  readonly clusterName: string;
  readonly failureMode: ClusterFailureMode;
  readonly facts: HostFacts;
  readonly usageRetentionDays: number;
  nowMs(): number;
  /** A clock that is never set. */
  monoMs(): number;
  /** Runs `run` once after `ms`; at 0, in the next turn of the event loop. */
  after(ms: number, run: () => void): void;
  /** Runs `run` every `ms`; returns a function that stops it. */
  every(ms: number, run: () => void): () => void;
  /** A random id. */
  newId(): string;
  readonly accountsLoaded: Promise<void>;
  readonly log: ClusterLog;
  /** Called when the daemon must exit and be restarted. */
  onBroken(error: Error): void;
}

interface ClusterLog extends SharingLog {
  /** Logs a line for each live host that is configured differently from this one. */
  differing(hosts: readonly string[]): void;
  /** Logs that another live daemon has the id in this host's store. */
  copiedDisk(id: string): void;
}

/**
 * Resolves when the host has joined, or will join once the engine is reached. Returns a function
 * that leaves the cluster.
 */
export async function joinCluster(
  state: DaemonState,
  ports: ClusterPorts,
): Promise<() => Promise<void>> {
  const { engine, clusterName, failureMode } = ports;
  let refusing: string | null = null;
  let partSaid: string | null = null;
  let unheardBeats = 0;
  const heardState = (): void => {
    const now = engine.state;
    const part = now.kind === "connected" && now.serversAway.length > 0 ? partAway(now) : null;
    if (part !== null && part !== partSaid) ports.log.refused(part);
    partSaid = part;
    const unheard = unheardBeats >= unheardBeatsMax ? changesUnheard : null;
    noteClusterState(state, now.kind === "away" ? now.reason : (refusing ?? part ?? unheard));
  };
  const { refused, check } = refusals({
    ...ports,
    onRefused: (reason) => ports.log.refused(reason),
    onRefusing(reason) {
      refusing = reason;
      heardState();
    },
  });
  const log = { ...ports.log, refused };
  const board = await firstBoard(state, ports);
  const { commands } = engine;
  state.cluster = {
    name: clusterName,
    failureMode,
    board,
    commands,
    engineState: () => engine.state,
    reception: () => engine.reception(definitionsChannel(clusterName)),
  };
  let saidDiffering = "";
  const beat = (): void => {
    if (engine.state.kind !== "connected") return;
    const done = board.beat().then(async (status) => {
      if (status === "heard") {
        const differing = differingHosts(board.hosts, board.facts);
        if (differing.length > 0 && differing.join() !== saidDiffering) log.differing(differing);
        saidDiffering = differing.join();
        return;
      }
      log.copiedDisk(board.identity.id);
      // Keep the daemon running while the disk is full: the next start would have the same id
      // again.
      const fresh = identityChange(freshIdentity(ports.newId, ports.nowMs()));
      if ((await state.writer.tryWrite([fresh])) !== null) return;
      ports.onBroken(new Error("another host has this host's id: it starts under another one"));
    });
    done.catch((error: unknown) => {
      if (error instanceof EngineRefusedError) log.refused(error.message);
      else if (!(error instanceof EngineAwayError)) ports.onBroken(error as Error);
    });
  };
  const stops = [
    engine.watch(() => {
      heardState();
      beat();
    }),
    ports.every(beatMs, () => {
      check();
      const isUnheard =
        engine.state.kind === "connected" && !state.cluster?.reception().isConfirmed;
      unheardBeats = isUnheard ? unheardBeats + 1 : 0;
      heardState();
      beat();
    }),
    shareDefinitions(state, { ...ports, log }),
    shareKeyUses(state, { ...ports, onRefused: refused }),
  ];
  const stopSharing = shareLimits(state, { ...ports, board, onRefused: refused });
  const stopSpending = shareSpending(state, {
    ...ports,
    host: board.identity.id,
    machine: ports.facts.name,
    engineMs: () => board.engineMs,
    onRefused: refused,
  });
  heardState();
  return async () => {
    for (const stop of stops) stop();
    await Promise.all([stopSharing(), stopSpending()]);
    await engine.close();
  };
}

/** Beats in a row without confirmed reception before it is reported. */
const unheardBeatsMax = 5;
const changesUnheard = "what other hosts change isn't heard at once, and is read each second";

function partAway({ serversAway }: { readonly serversAway: readonly string[] }): string {
  return `a part of the engine's Cluster is away: ${serversAway.join(", ")}`;
}

/** Returns a board with an id that no other live daemon has, as far as the engine knows. */
async function firstBoard({ store, writer }: DaemonState, ports: ClusterPorts): Promise<HostBoard> {
  let identity = nextIdentity(store, ports.newId);
  const mark = ports.newId();
  for (;;) {
    // On a full disk it continues without writing its id, so the next start may count as another
    // host.
    await writer.tryWrite([identityChange(identity)]);
    const board = new HostBoard({ ...ports, identity, mark });
    const status = await board.beat().catch(() => "away" as const);
    if (status !== "taken") return board;
    ports.log.copiedDisk(identity.id);
    identity = freshIdentity(ports.newId, ports.nowMs());
  }
}

/**
 * Removes the stored cluster state of a host that has left. If the host joins again, its
 * definitions are its own, as at its first join.
 */
export async function leaveCluster({ store, writer }: DaemonState): Promise<void> {
  const changes = [...new DefinitionCopy(store).removals(), ...forgetEpoch(store)];
  if (changes.length > 0) await writer.tryWrite(changes);
}
