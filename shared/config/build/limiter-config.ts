/** Where the daemon listens and keeps its store, and how proxies treat it. */
import { socketPathBytesMax } from "../../bounds.js";
import { adminSocketBeside } from "../../socket/socket-place.js";
import { utf8Bytes } from "../../text/utf8-bytes.js";
import type { Config } from "../config.js";
import type { ConfigFile } from "../file/config-file.js";
import type { Problems } from "../problems.js";
import type { Setting } from "../settings/setting.js";
import { type SettingValues, settings } from "../settings/settings.js";
import { absoluteSetting, type PathSources } from "./absolute-setting.js";
import { defaultDataDir, defaultSocket } from "./default-paths.js";
import { decidedBy } from "./resolve-settings.js";

interface LimiterSources extends Omit<PathSources, "file"> {
  readonly uid: number;
}

export function buildLimiter(
  values: SettingValues,
  shape: ConfigFile,
  sources: LimiterSources,
  problems: Problems,
): Config["limiter"] {
  const { flags, env, uid } = sources;
  const absolute = (setting: Setting<string | null>, path: string): string =>
    absoluteSetting(setting, path, { ...sources, file: shape.settings });
  const socket = absolute(settings.socket, values.socket ?? defaultSocket(env, uid));
  const adminSocket = absolute(
    settings.adminSocket,
    values.adminSocket ?? adminSocketBeside(socket),
  );
  const report = (setting: Setting<string | null>, problem: string): void => {
    const { name, place } = decidedBy(setting, { flags, env, file: shape.settings });
    problems[place].push(`${name} must be ${problem}`);
  };
  const tooLong = (path: string): string | null =>
    utf8Bytes(path) > socketPathBytesMax
      ? `at most ${socketPathBytesMax} bytes long, not ${utf8Bytes(path)}: ${path}`
      : null;
  const ofSocket = tooLong(socket);
  const ofAdminSocket = tooLong(adminSocket);
  if (ofSocket !== null) report(settings.socket, ofSocket);
  else if (ofAdminSocket !== null && values.adminSocket === null)
    report(settings.socket, `shorter: the admin socket beside it must be ${ofAdminSocket}`);
  if (ofAdminSocket !== null && values.adminSocket !== null)
    report(settings.adminSocket, ofAdminSocket);
  if (adminSocket === socket)
    report(settings.adminSocket, `another path than limiter.socket, not ${adminSocket}`);
  const dataDir = absolute(settings.dataDir, values.dataDir ?? defaultDataDir(env, uid));
  return {
    socket,
    adminSocket,
    socketGroupAccess: values.socketGroupAccess,
    dataDir,
    spoolDir: absolute(
      settings.spoolDir,
      values.spoolDir ?? `${dataDir.replace(/\/+$/, "")}/spool`,
    ),
    failureMode: values.failureMode,
    deadlineMs: values.deadlineMs,
  };
}
