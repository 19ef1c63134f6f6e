/**
 * Loads the configuration of this process: finds the file, reads it and checks it
 * (docs/reference/configuration.md). The checks are in `resolve/resolve-config.ts`.
 */
import { readFileSync, statSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { type Environment, variable } from "./environment.js";
import { type ConfigResult, resolveConfig } from "./resolve/resolve-config.js";
import type { Flags } from "./settings/setting.js";
import { configFileVariable } from "./settings/settings.js";

interface ConfigInput {
  /** The file from `--config`. */
  readonly file?: string | undefined;
  readonly flags?: Flags | undefined;
  readonly env: Environment;
  readonly cwd: string;
  readonly uid: number;
}

/** Finds, reads and checks the configuration. Returns the operator's mistakes as values. */
export function loadConfig(input: ConfigInput): ConfigResult {
  const file = readConfigFile(input);
  if (file.kind === "failed") return failedResult(file.path, file.problem);
  const { flags = {}, env, cwd, uid } = input;
  const process = { flags, env, cwd, uid };
  if (file.kind === "none") return resolveConfig({ file: null, ...process });
  const { path, bytes } = file;
  const text = decodeText(bytes);
  if (text === null) return failedResult(path, "the file isn't UTF-8 text");
  return resolveConfig({ file: { path, text }, ...process });
}

function failedResult(path: string, message: string): ConfigResult {
  return { ok: false, file: path, problems: [{ kind: "file", place: path, message }] };
}

/** Ten thousand rules take about 1 MB: a larger file isn't a configuration. */
const fileBytesMax = 16 * 1024 * 1024;

type ReadConfigFile =
  | { readonly kind: "none" }
  | { readonly kind: "read"; readonly path: string; readonly bytes: Buffer }
  | { readonly kind: "failed"; readonly path: string; readonly problem: string };

interface ConfigFileSearch {
  readonly file?: string | undefined;
  readonly env: Environment;
  readonly cwd: string;
}

/**
 * The paths to try, in order (docs/reference/configuration.md). A path with `namedBy`, its flag or
 * variable, must exist.
 */
export function searchOrder({
  file,
  env,
  cwd,
}: ConfigFileSearch): readonly { readonly path: string; readonly namedBy: string | null }[] {
  const absolute = (path: string): string => (isAbsolute(path) ? path : join(cwd, path));
  if (file !== undefined) return [{ path: absolute(file), namedBy: "--config" }];
  const configuredFile = variable(env, configFileVariable);
  if (configuredFile !== null)
    return [{ path: absolute(configuredFile), namedBy: configFileVariable }];
  return [
    { path: join(cwd, "sluice.yaml"), namedBy: null },
    { path: "/etc/sluice/sluice.yaml", namedBy: null },
  ];
}

/**
 * Reads the first existing file of the search order. An unreadable file is a failure, not skipped:
 * its limits would be lost.
 */
function readConfigFile(search: ConfigFileSearch): ReadConfigFile {
  for (const { path, namedBy } of searchOrder(search)) {
    try {
      const bytes = statSync(path).size;
      if (bytes > fileBytesMax)
        return { kind: "failed", path, problem: `the file is larger than ${fileBytesMax} bytes` };
      return { kind: "read", path, bytes: readFileSync(path) };
    } catch (cause) {
      const code = (cause as { readonly code?: unknown }).code;
      const isMissing = code === "ENOENT" || code === "ENOTDIR";
      if (isMissing && namedBy === null) continue;
      return {
        kind: "failed",
        path,
        problem: isMissing
          ? `${namedBy} names a file that doesn't exist`
          : readProblem(code, cause),
      };
    }
  }
  return { kind: "none" };
}

/** Null for bytes that aren't UTF-8. */
function decodeText(bytes: Buffer): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // The decoder's only error.
    return null;
  }
}

function readProblem(code: unknown, cause: unknown): string {
  switch (code) {
    case "EACCES":
    case "EPERM":
      return "the file can't be read: permission denied";
    case "EISDIR":
      return "the file can't be read: it is a directory";
    default:
      return `the file can't be read: ${cause instanceof Error ? cause.message : String(cause)}`;
  }
}
