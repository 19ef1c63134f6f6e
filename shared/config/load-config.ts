/**
 * Loads the configuration of this process: finds the file, reads it and checks it
 * (docs/configuration.md). What is checked is in `build/build-config.ts`.
 */
import { buildConfig, type ConfigResult } from "./build/build-config.js";
import type { Environment } from "./environment.js";
import { readConfigFile } from "./file/read-config-file.js";
import type { Flags } from "./settings/setting.js";

interface ConfigInput {
  /** The file that `--config` names. */
  readonly file?: string | undefined;
  readonly flags?: Flags | undefined;
  readonly env: Environment;
  readonly cwd: string;
  readonly uid: number;
}

/** Finds, reads and checks the configuration. Mistakes of the operator are values, not errors. */
export function loadConfig(input: ConfigInput): ConfigResult {
  const read = readConfigFile(input);
  if (read.kind === "failed")
    return {
      ok: false,
      file: read.path,
      problems: [{ kind: "file", place: read.path, message: read.problem }],
    };
  return buildConfig({
    file: read.kind === "none" ? null : read,
    flags: input.flags ?? {},
    env: input.env,
    cwd: input.cwd,
    uid: input.uid,
  });
}
