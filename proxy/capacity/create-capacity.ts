/** What this process can hold, from its settings and from what the system lets it have. */
import type { Socket } from "node:net";
import { availableParallelism, totalmem } from "node:os";
import { constrainedMemory } from "node:process";
import { heldBytesMaxByDefault, heldMemoryShare } from "../../shared/bounds.js";
import type { Config } from "../../shared/config/config.js";
import { memoryForStrangersShare } from "../../shared/domain/credential-bounds.js";
import type { Log } from "../../shared/log.js";
import { ConnectionRoom, connectionsWithin } from "./connection-room.js";
import { MemoryLedger } from "./memory-ledger.js";
import { type OpenFiles, watchOpenFiles } from "./open-files.js";

export interface ProxyCapacity {
  readonly connections: ConnectionRoom<Socket>;
  readonly files: OpenFiles;
  /** What requests and answers hold. */
  readonly memory: MemoryLedger;
  /** Bodies on their way, of callers whose key the daemon hasn't checked yet. */
  readonly strangers: MemoryLedger;
}

/** Idle connections that are closed at once when no file descriptor is left. */
const closedForFiles = 16;

export function createCapacity(server: Config["server"], log: Log): ProxyCapacity {
  const files = watchOpenFiles(log, () => connections.closeIdle(closedForFiles));
  const max = connectionsWithin(files.max, server.connectionsMax);
  if (max < server.connectionsMax)
    log.warn(
      { max, wanted: server.connectionsMax, files_max: files.max },
      "fewer connections than server.max_connections: the process may not open more files",
    );
  const connections = new ConnectionRoom<Socket>(
    max,
    sayOnce(
      () =>
        log.warn(
          { connections: connections.open, requests: connections.requests, max },
          "as many connections or requests as the proxy holds: idle connections are closed, further requests get 503",
        ),
      () => performance.now(),
    ),
  );
  return { connections, files, ...createMemory(server, log) };
}

function createMemory(
  { heldBytesMax, proxies }: Config["server"],
  log: Log,
): Pick<ProxyCapacity, "memory" | "strangers"> {
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
          "as many bytes of requests and answers as the proxy holds: further requests get 503",
        ),
      () => performance.now(),
    ),
  );
  return { memory, strangers: new MemoryLedger(Math.floor(max * memoryForStrangersShare)) };
}

/** How many proxies share the memory. */
function processesOf(proxies: Config["server"]["proxies"]): number {
  return proxies === "auto" ? availableParallelism() : proxies;
}

/** The limit of its control group, or else what the machine has. */
function memoryLimit(): number {
  const limit = constrainedMemory();
  // 0 where it isn't known; without a limit it is larger than any memory.
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

const againMs = 60_000;

/** Returns what says it, unless it has been said within the last minute. */
export function sayOnce(say: () => void, monoMs: () => number): () => void {
  let saidMonoMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMonoMs = monoMs();
    if (nowMonoMs - saidMonoMs < againMs) return;
    saidMonoMs = nowMonoMs;
    say();
  };
}
