/**
 * Loads the configuration of this process: finds the file, reads it and checks it
 * (docs/configuration.md). What is checked is in `build/build-config.ts`.
 */
import { buildConfig, type ConfigResult } from "./build/build-config.js";
import type { Environment } from "./environment.js";
import { decodeText, readConfigFile } from "./file/read-config-file.js";
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
  if (read.kind === "failed") return failed(read.path, read.problem);
  const { flags = {}, env, cwd, uid } = input;
  const process = { flags, env, cwd, uid };
  if (read.kind === "none") return buildConfig({ file: null, ...process });
  const { path, bytes } = read;
  const text = decodeText(bytes);
  if (text === null) return failed(path, "the file isn't UTF-8 text");
  return buildConfig({ file: { path, text }, ...process });
}

function failed(path: string, message: string): ConfigResult {
  return { ok: false, file: path, problems: [{ kind: "file", place: path, message }] };
}
