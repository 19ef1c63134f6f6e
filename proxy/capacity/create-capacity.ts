/** The limits of this process, from its settings and from those of the system. */
import type { Socket } from "node:net";
import { availableParallelism, totalmem } from "node:os";
import { constrainedMemory } from "node:process";
import {
  heldBytesMaxByDefault,
  heldMemoryShare,
  memoryForUnauthenticatedShare,
} from "../../shared/bounds.js";
import type { Config } from "../../shared/config/config.js";
import type { Log } from "../../shared/log.js";
import { ConnectionRoom, connectionsWithin } from "./connection-room.js";
import { MemoryLedger } from "./memory-ledger.js";
import { type OpenFiles, watchOpenFiles } from "./open-files.js";

export interface ProxyCapacity {
  readonly connections: ConnectionRoom<Socket>;
  readonly files: OpenFiles;
  /** Memory of requests and answers. */
  readonly memory: MemoryLedger;
  /** Memory of bodies whose callers the daemon hasn't checked yet. */
  readonly unauthenticated: MemoryLedger;
}

/** A bound that is lowered to less than this share of the setting is worth a warning. */
const noticeableShare = 0.9;

/** How many idle connections to close when file descriptors run out. */
const closedForFiles = 16;

export function createCapacity(server: Config["server"], log: Log): ProxyCapacity {
  const files = watchOpenFiles(log, () => connections.closeIdle(closedForFiles));
  const max = connectionsWithin(files.max, server.connectionsMax);
  if (max < server.connectionsMax * noticeableShare)
    log.warn(
      { max, wanted: server.connectionsMax, files_max: files.max },
      "server.max_connections is lowered: the process may not open more files",
    );
  const connections = new ConnectionRoom<Socket>(
    max,
    sayOnce(
      () =>
        log.warn(
          { connections: connections.open, requests: connections.requests, max },
          "connection limit reached: idle connections are closed, further requests get 503",
        ),
      () => performance.now(),
    ),
  );
  return { connections, files, ...createMemory(server, log) };
}

function createMemory(
  { heldBytesMax, proxies }: Config["server"],
  log: Log,
): Pick<ProxyCapacity, "memory" | "unauthenticated"> {
  const max =
    heldBytesMax ??
    Math.min(
      heldBytesMaxByDefault,
      Math.floor((memoryLimit() * heldMemoryShare) / processesOf(proxies)),
    );
  const memory = new MemoryLedger(
    max,
    sayOnce(
      () =>
        log.warn(
          { held_bytes: memory.held, max },
          "memory limit reached: further requests get 503",
        ),
      () => performance.now(),
    ),
  );
  return {
    memory,
    unauthenticated: new MemoryLedger(Math.floor(max * memoryForUnauthenticatedShare)),
  };
}

/** The number of proxies that share the memory. */
function processesOf(proxies: Config["server"]["proxies"]): number {
  return proxies === "auto" ? availableParallelism() : proxies;
}

/** The memory limit of the control group, or the machine's memory. */
function memoryLimit(): number {
  const limit = constrainedMemory();
  // 0 if unknown; larger than any memory without a limit.
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

const againMs = 60_000;

/** Returns a throttled `say`, which runs at most once a minute. */
export function sayOnce(say: () => void, monoMs: () => number): () => void {
  let saidMonoMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMonoMs = monoMs();
    if (nowMonoMs - saidMonoMs < againMs) return;
    saidMonoMs = nowMonoMs;
    say();
  };
}
