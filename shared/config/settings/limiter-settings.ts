/**
 * The settings of the limiter daemon and of the connection to it, `limiter.*` in the file. The
 * defaults of socket and store depend on the user: `../build/default-paths.ts` computes them.
 */
import type { FailureMode } from "../config.js";
import { boolean, choice } from "../kinds/choice-kinds.js";
import { integer } from "../kinds/number-kinds.js";
import { filePath } from "../kinds/text-kinds.js";
import { setting } from "./setting.js";

export const limiterSettings = {
  socket: setting({
    path: "limiter.socket",
    env: "SLUICE_SOCKET",
    flag: "socket",
    kind: filePath,
    defaultValue: null,
    defaultText: "see below",
    unit: null,
    meaning: "The Unix socket between the proxies and the limiter daemon, at most 107 bytes long.",
  }),
  adminSocket: setting({
    path: "limiter.admin_socket",
    env: "SLUICE_ADMIN_SOCKET",
    flag: null,
    kind: filePath,
    defaultValue: null,
    defaultText: "see below",
    unit: null,
    meaning:
      "The daemon's Unix socket for administration, open to its user alone, at most 107 bytes long.",
  }),
  socketGroupAccess: setting({
    path: "limiter.socket_group_access",
    env: null,
    flag: null,
    kind: boolean,
    defaultValue: false,
    defaultText: "false",
    unit: null,
    meaning:
      "Opens the socket, but not the one for administration, to the daemon's group, not only to its user.",
  }),
  dataDir: setting({
    path: "limiter.data_dir",
    env: "SLUICE_DATA_DIR",
    flag: "dataDir",
    kind: filePath,
    defaultValue: null,
    defaultText: "see below",
    unit: null,
    meaning: "The directory in which the daemon keeps its store.",
  }),
  spoolDir: setting({
    path: "limiter.spool_dir",
    env: "SLUICE_SPOOL_DIR",
    flag: null,
    kind: filePath,
    defaultValue: null,
    defaultText: "see below",
    unit: null,
    meaning:
      "The directory in which a stopping proxy leaves what the daemon hasn't acknowledged, for the next proxy.",
  }),
  failureMode: setting<FailureMode>({
    path: "limiter.failure_mode",
    env: "LIMITER_FAILURE_MODE",
    flag: null,
    kind: choice(["closed", "open"]),
    defaultValue: "closed",
    defaultText: "closed",
    unit: null,
    meaning:
      "What a model request gets while the daemon is away: closed refuses it with 503, open lets it through and counts it later.",
  }),
  deadlineMs: setting({
    path: "limiter.deadline_ms",
    env: null,
    flag: null,
    kind: integer({ min: 1, max: 60_000 }),
    defaultValue: 2000,
    defaultText: "2000",
    unit: "milliseconds",
    meaning: "How long an admission waits for the daemon before failure_mode applies.",
  }),
} as const;
