/** Where the relative paths of settings start, by where they were given. */
import type { Environment } from "../environment.js";
import type { Flags, Setting } from "../settings/setting.js";
import { absolutePath } from "./default-paths.js";
import { decidedBy } from "./resolve-settings.js";

export interface PathSources {
  readonly flags: Flags;
  readonly env: Environment;
  /** The raw values of the file, by their paths. */
  readonly file: ReadonlyMap<string, unknown>;
  readonly cwd: string;
  /** Where the configuration file is. */
  readonly fileDirectory: string;
}

/** A path of the file starts from the file; of a flag or a variable from where it was given. */
export function absoluteSetting(
  setting: Setting<string | null>,
  path: string,
  sources: PathSources,
): string {
  const { place } = decidedBy(setting, sources);
  return absolutePath(path, place === "file" ? sources.fileDirectory : sources.cwd);
}
