/**
 * Where to look for what was kept of a configuration file, before the file is parsed, which says
 * where. A guess that is wrong costs a start the time of parsing, and nothing else: what is found
 * opens only with this very file.
 */
import { absolutePath, defaultDataDir } from "../build/default-paths.js";
import { type Environment, variable } from "../environment.js";
import type { Flags } from "../settings/setting.js";
import { limiterSettings } from "../settings/settings.js";

/** The programs that keep it: the daemon in its data directory, the proxy in its spool. */
export type Keeper = "limiterd" | "proxy";

interface Process {
  readonly flags: Flags;
  readonly env: Environment;
  readonly cwd: string;
  /** Where the configuration file is. */
  readonly fileDirectory: string;
  readonly uid: number;
}

/** How often a key is looked for in the file: it may stand in comments, too. */
const mentionsMax = 8;
const lineBytesMax = 4096;

/** Directories, the likeliest first. */
export function keptPlaces(keeper: Keeper, file: Buffer, of: Process): readonly string[] {
  const { flags, env, cwd, fileDirectory, uid } = of;
  const absolute = (paths: readonly (string | null | undefined)[]): readonly string[] =>
    paths.flatMap((path) => (path === null || path === undefined ? [] : absolutePath(path, cwd)));
  const inFile = (path: string): readonly string[] =>
    mentioned(file, path).map((mention) => absolutePath(mention, fileDirectory));
  const { dataDir, spoolDir } = limiterSettings;
  const dataDirs = [
    ...absolute([flags.dataDir, variable(env, dataDir.env!)]),
    ...inFile(dataDir.path),
    defaultDataDir(env, uid),
  ];
  if (keeper === "limiterd") return [...new Set(dataDirs)];
  const spools = [...absolute([variable(env, spoolDir.env!)]), ...inFile(spoolDir.path)];
  return [...new Set([...spools, ...dataDirs.map((dir) => `${dir.replace(/\/+$/, "")}/spool`)])];
}

/** What stands behind the key of a setting, wherever the file has it. */
function mentioned(file: Buffer, settingPath: string): readonly string[] {
  const key = settingPath.slice(settingPath.lastIndexOf(".") + 1);
  const found: string[] = [];
  for (let at = -1; found.length < mentionsMax; ) {
    at = file.indexOf(key, at + 1);
    if (at === -1) break;
    const from = at + key.length;
    const line = file.subarray(from, from + lineBytesMax).toString("utf8");
    const [, double, single, plain] =
      /^["']?[ \t]*:[ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"',#}]+))/.exec(line) ?? [];
    const path = double ?? single ?? plain;
    if (path !== undefined) found.push(path);
  }
  return found;
}
