/** Where the daemon listens and keeps its store, and how proxies treat it. */
import { socketPathBytesMax } from "../../bounds.js";
import { adminSocketBeside } from "../../socket/socket-place.js";
import { utf8Bytes } from "../../text/utf8-bytes.js";
import type { Config } from "../config.js";
import type { Problems } from "../problems.js";
import type { Setting } from "../settings/setting.js";
import { limiterSettings, type SettingValues, settings } from "../settings/settings.js";
import { defaultDataDir, defaultSocket } from "./default-paths.js";
import { decidedBy, type SettingSources, valuesOf } from "./resolve-settings.js";

export function buildLimiter(
  values: SettingValues,
  sources: SettingSources & { readonly uid: number },
  problems: Problems,
): Config["limiter"] {
  const { env, uid } = sources;
  const socket = values.socket ?? defaultSocket(env, uid);
  const adminSocket = values.adminSocket ?? adminSocketBeside(socket);
  const report = (setting: Setting<string | null>, problem: string): void => {
    const { name, place } = decidedBy(setting, sources);
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
  const dataDir = values.dataDir ?? defaultDataDir(env, uid);
  const spoolDir = values.spoolDir ?? `${dataDir.replace(/\/+$/, "")}/spool`;
  return { ...valuesOf(limiterSettings, values), socket, adminSocket, dataDir, spoolDir };
}
