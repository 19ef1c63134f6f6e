/** The sockets and the store of the daemon, and the failure mode of proxies. */
import { socketPathBytesMax } from "../../bounds.js";
import { adminSocketBeside } from "../../socket/socket-place.js";
import { utf8Bytes } from "../../text/utf8-bytes.js";
import type { Config } from "../config.js";
import type { Environment } from "../environment.js";
import type { Problems } from "../problems.js";
import type { Setting } from "../settings/setting.js";
import { limiterSettings, type SettingValues, settings } from "../settings/settings.js";
import { decidedBy, type SettingSources, valuesOf } from "./resolve-settings.js";

export function resolveLimiter(
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
  const socketFlaw = tooLong(socket);
  const adminSocketFlaw = tooLong(adminSocket);
  if (socketFlaw !== null) report(settings.socket, socketFlaw);
  else if (adminSocketFlaw !== null && values.adminSocket === null)
    report(settings.socket, `shorter: the admin socket beside it must be ${adminSocketFlaw}`);
  if (adminSocketFlaw !== null && values.adminSocket !== null)
    report(settings.adminSocket, adminSocketFlaw);
  if (adminSocket === socket)
    report(settings.adminSocket, `another path than limiter.socket, not ${adminSocket}`);
  const dataDir = values.dataDir ?? defaultDataDir(env, uid);
  const spoolDir = values.spoolDir ?? `${dataDir.replace(/\/+$/, "")}/spool`;
  return { ...valuesOf(limiterSettings, values), socket, adminSocket, dataDir, spoolDir };
}

// The default paths. Nothing here reads or creates a file.

export function defaultSocket(env: Environment, uid: number): string {
  if (uid === 0) return "/run/sluice/limiterd.sock";
  const runtimeDir = absoluteOnly(env["XDG_RUNTIME_DIR"]);
  return runtimeDir === null
    ? `/tmp/sluice-${uid}/limiterd.sock`
    : `${runtimeDir}/sluice/limiterd.sock`;
}

export function defaultDataDir(env: Environment, uid: number): string {
  // systemd lists several directories with colons between them; the first is the unit's own.
  const stateDirectory = absoluteOnly(env["STATE_DIRECTORY"]?.split(":")[0]);
  if (stateDirectory !== null) return stateDirectory;
  if (uid === 0) return "/var/lib/sluice";
  const stateHome = absoluteOnly(env["XDG_STATE_HOME"]);
  if (stateHome !== null) return `${stateHome}/sluice`;
  const home = absoluteOnly(env["HOME"]);
  return home === null ? "/var/lib/sluice" : `${home}/.local/state/sluice`;
}

/** An absolute path, or null: the XDG specification says to ignore relative values. */
function absoluteOnly(directory: string | undefined): string | null {
  return directory?.startsWith("/") === true ? directory.replace(/\/+$/, "") : null;
}
