/**
 * The default paths of the socket and the store, computed from the user and the environment.
 * Nothing here reads or creates a file.
 */
import type { Environment } from "../environment.js";

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

/** The directory of a file with an absolute path. */
export function directoryOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf("/")));
}

/** A path of the configuration; a relative one starts from `directory`. */
export function absolutePath(path: string, directory: string): string {
  if (path.startsWith("/")) return path;
  return `${directory.replace(/\/+$/, "")}/${path.replace(/^(?:\.\/+)+/, "")}`;
}
