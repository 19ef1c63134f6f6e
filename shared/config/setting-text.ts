/** A setting and its value, named as in the source that set it, for errors. Pure. */
import type { Config } from "./config.js";

/** The part of a configuration that the texts use. */
export type SettingsInForce = Pick<Config, "file" | "settings">;

/**
 * `RATE_LIMITS_ENABLED is false`, `--port is 80`, or `rate_limits.enabled is false in
 * /etc/sluice/sluice.yaml`. Only the path for a setting that isn't in the configuration.
 */
export function settingText({ file, settings }: SettingsInForce, path: string): string {
  const setting = settings.find((candidate) => candidate.path === path);
  if (setting === undefined) return path;
  const { source, name, value } = setting;
  switch (source) {
    case "flag":
    case "variable":
      return `${name ?? path} is ${value}`;
    case "file":
      return `${path} is ${value} in ${file ?? "the configuration"}`;
    case "default":
      return `${path} is ${value} by default`;
  }
}
