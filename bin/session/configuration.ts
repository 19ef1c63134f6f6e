/** Finds the configuration that a command works with. `shared/config/` defines what is valid. */
import type { Config } from "../../shared/config/config.js";
import { loadConfig } from "../../shared/config/load-config.js";
import { type Flags, flagName, type Setting } from "../../shared/config/settings/setting.js";
import { settings } from "../../shared/config/settings/settings.js";
import { adminSocketBeside } from "../../shared/socket/socket-place.js";
import { configurationFailure } from "./command-failure.js";
import type { Session } from "./terminal.js";

export type FlagName = keyof Flags | "config";

/**
 * The flags that override the configuration, as commander declares them: the flag and its help.
 * Each but `--config` is the `flag` of a setting.
 */
export const flagOptions: Readonly<Record<FlagName, readonly [flag: string, help: string]>> = {
  ...(Object.fromEntries(
    Object.values<Setting<unknown>>(settings).flatMap((setting) =>
      setting.flag === null ? [] : [[setting.flag, flagOption(setting.flag, setting)]],
    ),
  ) as Record<keyof Flags, readonly [string, string]>),
  config: [
    "--config <file>",
    "the configuration file (default: SLUICE_CONFIG, ./sluice.yaml, /etc/sluice/sluice.yaml)",
  ],
};

/** `--data-dir <path>`, with the setting's meaning. */
function flagOption(
  flag: keyof Flags,
  { kind, meaning }: Setting<unknown>,
): readonly [string, string] {
  const long = flagName(flag);
  const value = kind.isPath === true ? "path" : long.slice(long.lastIndexOf("-") + 1);
  const help = `${meaning.charAt(0).toLowerCase()}${meaning.slice(1).replace(/\.$/, "")}`;
  return [`${long} <${value}>`, help];
}

/** The texts that were given, by the names that commander gives the flags. */
export type ConfigurationFlags = { readonly [Name in FlagName]?: string };

export interface Sockets {
  readonly socketPath: string;
  readonly adminSocketPath: string;
}

export type LoadedConfiguration = ReturnType<typeof loadConfig>;

/** The configuration, or its problems, as a value. */
export function readConfiguration(
  session: Session,
  flags: ConfigurationFlags,
): LoadedConfiguration {
  const { config, ...ofSettings } = flags;
  return loadConfig({
    ...(config === undefined ? {} : { file: config }),
    flags: ofSettings,
    env: session.env,
    cwd: session.cwd,
    uid: session.uid,
  });
}

/** The checked configuration. Throws problems as `CommandFailure`; warnings go to `onWarning`. */
export function requireConfiguration(
  session: Session,
  flags: ConfigurationFlags,
  onWarning: (warning: string) => void,
): Config {
  return configOrThrow(readConfiguration(session, flags), onWarning);
}

function configOrThrow(loaded: LoadedConfiguration, onWarning: (warning: string) => void): Config {
  if (!loaded.ok) throw configurationFailure(loaded.file, loaded.problems);
  for (const warning of [...loaded.warnings, ...loaded.unset]) onWarning(warning);
  return loaded.config;
}

/** Where the configuration came from, for people. */
export function configurationSource(config: Config): string {
  return config.file ?? "built-in default (no file found)";
}

/**
 * Where the daemon listens. With `--socket` no configuration is read, so that the daemon can be
 * reached even if the configuration is broken. `loaded`: the configuration if it has been read.
 */
export function locateSockets(
  session: Session,
  flags: ConfigurationFlags,
  loaded: LoadedConfiguration | null = null,
): Sockets {
  if (flags.socket !== undefined)
    return { socketPath: flags.socket, adminSocketPath: adminSocketBeside(flags.socket) };
  const { limiter } = configOrThrow(loaded ?? readConfiguration(session, flags), () => {});
  return { socketPath: limiter.socket, adminSocketPath: limiter.adminSocket };
}

/** The flags as arguments for a child process, so that it finds the same configuration. */
export function flagsAsArguments(flags: ConfigurationFlags): readonly string[] {
  return flagNames.flatMap((name) => {
    const value = flags[name];
    return value === undefined ? [] : [`${withoutArgument(name)}=${value}`];
  });
}

const flagNames = Object.keys(flagOptions) as FlagName[];

/** A flag without its argument: `--data-dir`. */
function withoutArgument(name: FlagName): string {
  return flagOptions[name][0].split(" ")[0]!;
}
