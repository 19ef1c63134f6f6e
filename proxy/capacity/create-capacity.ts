/** What this process can hold, from its settings and from what the system lets it have. */
import type { Socket } from "node:net";
import type { Config } from "../../shared/config/config.js";
import type { Log } from "../../shared/log.js";
import { ConnectionRoom, connectionsWithin } from "./connection-room.js";
import { type OpenFiles, watchOpenFiles } from "./open-files.js";
import { sayOnce } from "./say-once.js";

export interface ProxyCapacity {
  readonly connections: ConnectionRoom<Socket>;
  readonly files: OpenFiles;
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
  return { connections, files };
}
