/**
 * Finds the configuration that a command works with. What a valid one is, `shared/config/` says.
 */
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

export type LoadedConfiguration = ReturnType<typeof loadConfig>;

/** The configuration as a value, its problems included. */
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

/**
 * The checked configuration; its problems are thrown as `CommandFailure`, its warnings handed to
 * `onWarning`.
 */
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

/**
 * Where the daemon listens. With `--socket` no configuration is read, so that a broken one doesn't
 * keep an operator from the daemon.
 */
export function locateSocket(session: Session, flags: ConfigurationFlags): string {
  return flags.socket ?? requireConfiguration(session, flags, () => {}).limiter.socket;
}

/** The flags again, for a child process that is to find the same configuration. */
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
