/** Finds the configuration file and reads it: the only file of this folder that reads the disk. */
import { readFileSync, statSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { type Environment, variable } from "../environment.js";
import { configFileVariable } from "../settings/settings.js";

/** Ten thousand rules take about one megabyte: a larger file is not a configuration. */
const fileBytesMax = 16 * 1024 * 1024;

type ConfigFileRead =
  | { readonly kind: "none" }
  | { readonly kind: "read"; readonly path: string; readonly bytes: Buffer }
  | { readonly kind: "failed"; readonly path: string; readonly problem: string };

interface ConfigFileSearch {
  readonly file?: string | undefined;
  readonly env: Environment;
  readonly cwd: string;
}

/**
 * The paths to look at, in order (docs/configuration.md). A path with `namedBy`, the flag or the
 * variable that names it, must exist.
 */
export function searchOrder({
  file,
  env,
  cwd,
}: ConfigFileSearch): readonly { readonly path: string; readonly namedBy: string | null }[] {
  const absolute = (path: string): string => (isAbsolute(path) ? path : join(cwd, path));
  if (file !== undefined) return [{ path: absolute(file), namedBy: "--config" }];
  const named = variable(env, configFileVariable);
  if (named !== null) return [{ path: absolute(named), namedBy: configFileVariable }];
  return [
    { path: join(cwd, "sluice.yaml"), namedBy: null },
    { path: "/etc/sluice/sluice.yaml", namedBy: null },
  ];
}

/**
 * Reads the first file of the search order that exists. A file that exists but can't be read is a
 * failure and isn't skipped: its limits would be lost.
 */
export function readConfigFile(search: ConfigFileSearch): ConfigFileRead {
  for (const { path, namedBy } of searchOrder(search)) {
    try {
      const bytes = statSync(path).size;
      if (bytes > fileBytesMax)
        return { kind: "failed", path, problem: `the file is larger than ${fileBytesMax} bytes` };
      return { kind: "read", path, bytes: readFileSync(path) };
    } catch (cause) {
      const code = (cause as { readonly code?: unknown }).code;
      const missing = code === "ENOENT" || code === "ENOTDIR";
      if (missing && namedBy === null) continue;
      return {
        kind: "failed",
        path,
        problem: missing ? `${namedBy} names a file that doesn't exist` : readProblem(code, cause),
      };
    }
  }
  return { kind: "none" };
}

/** Null for bytes that are no UTF-8. */
export function decodeText(bytes: Buffer): string | null {
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
