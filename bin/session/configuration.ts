/** Finds the configuration that a command works with. `shared/config/` defines what is valid. */
import type { Config } from "../../shared/config/config.js";
import { loadConfig } from "../../shared/config/load-config.js";
import { configurationFailure } from "./command-failure.js";
import type { Session } from "./terminal.js";

/** The flags that override the configuration; texts and numbers as commander gives them. */
export interface ConfigurationFlags {
  readonly config?: string;
  readonly socket?: string;
  readonly host?: string;
  readonly port?: string;
  readonly dataDir?: string;
}

type LoadedConfiguration = ReturnType<typeof loadConfig>;

/** The configuration, or its problems, as a value. */
export function readConfiguration(
  session: Session,
  flags: ConfigurationFlags,
): LoadedConfiguration {
  const { host, socket, dataDir } = flags;
  return loadConfig({
    ...(flags.config === undefined ? {} : { file: flags.config }),
    flags: {
      ...(host === undefined ? {} : { host }),
      ...(flags.port === undefined ? {} : { port: flags.port }),
      ...(socket === undefined ? {} : { socket }),
      ...(dataDir === undefined ? {} : { dataDir }),
    },
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
  const loaded = readConfiguration(session, flags);
  if (!loaded.ok) throw configurationFailure(loaded.file, loaded.problems);
  for (const warning of loaded.warnings) onWarning(warning);
  return loaded.config;
}

/** Where the configuration came from, for people. */
export function configurationSource(config: Config): string {
  return config.file ?? "built-in default (no file found)";
}

/**
 * Where the daemon listens. With `--socket` no configuration is read, so that the daemon can be
 * reached even if the configuration is broken.
 */
export function locateSocket(session: Session, flags: ConfigurationFlags): string {
  return flags.socket ?? requireConfiguration(session, flags, () => {}).limiter.socket;
}

/** The flags as arguments for a child process, so that it finds the same configuration. */
export function flagsAsArguments(flags: ConfigurationFlags): readonly string[] {
  const pairs: readonly (readonly [string, string | undefined])[] = [
    ["--config", flags.config],
    ["--socket", flags.socket],
    ["--host", flags.host],
    ["--port", flags.port],
    ["--data-dir", flags.dataDir],
  ];
  return pairs.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
}
