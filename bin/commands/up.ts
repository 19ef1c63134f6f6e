/**
 * `sluice up`: daemon and proxies as child processes, for a laptop or a container. Supervision
 * itself is in `supervise-services.ts`, what a reload does in `supervised-configuration.ts`.
 */
import { closeSync, openSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { isatty } from "node:tty";
import type { Command } from "commander";
import type { Config } from "../../shared/config/config.js";
import { isText } from "../../shared/logging/log-format.js";
import type { InheritedSockets } from "../../shared/supervision/inherited-sockets.js";
import { CommandFailure } from "../session/command-failure.js";
import {
  type ConfigurationFlags,
  flagOptions,
  flagsAsArguments,
  requireConfiguration,
} from "../session/configuration.js";
import { exitCodeForStartError } from "../session/exit-code.js";
import type { Session } from "../session/terminal.js";
import { isEchoed, onParentGone } from "../supervisor/npm-script.js";
import { bannerText, readyText, startingText } from "../supervisor/ready-text.js";
import { bindSocket } from "../supervisor/reload/bind-socket.js";
import { controlSocketPath, listenForReloads } from "../supervisor/reload/control-socket.js";
import { type HeldSocket, heldFromUnit, holdSockets } from "../supervisor/reload/held-sockets.js";
import { Reloads } from "../supervisor/reload/reloads.js";
import { takeSockets } from "../supervisor/reload/take-sockets.js";
import { watchFile } from "../supervisor/reload/watch-file.js";
import { startErrorText } from "../supervisor/start-error-text.js";
import { killGraceMs, stopGraceMs } from "../supervisor/stop-deadlines.js";
import {
  forkDaemon,
  type Supervisor,
  superviseServices,
} from "../supervisor/supervise-services.js";
import { SupervisedConfiguration } from "../supervisor/supervised-configuration.js";

function every(ms: number, run: () => void): { stop(): void } {
  const timer = setInterval(run, ms).unref();
  return { stop: () => clearInterval(timer) };
}

interface UpFlags extends ConfigurationFlags {
  readonly verbose?: boolean;
  readonly watch?: boolean;
}

/** How often a start with many rules says what it does, in ms. */
const startingMs = 2_000;

/** Adds `up` to the program. */
export function addUp(program: Command, session: Session): void {
  program
    .command("up")
    .description("run the daemon and the proxy until Ctrl-C; restart one that dies")
    .option(...flagOptions.host)
    .option(...flagOptions.port)
    .option(...flagOptions.dataDir)
    .option(...flagOptions.logLevel)
    .option(
      "-v, --verbose",
      "print every log line of both processes, including one for each request",
    )
    .option("--watch", "reload when the configuration file changes")
    .action((_options, command: Command) => runUp(session, command.optsWithGlobals<UpFlags>()));
}

async function runUp(session: Session, flags: UpFlags): Promise<void> {
  const { terminal } = session;
  const readConfig = (): Config =>
    requireConfiguration(session, flags, (warning) => terminal.err(`warning: ${warning}`));
  const inherited = takeSockets(["http", "admin"]);
  const { host, port, ...sharedFlags } = flags;
  const verbose = flags.verbose === true;
  const limiterd = {
    name: "limiterd",
    script: join(session.programs, "sluice-limiterd.js"),
    args: flagsAsArguments(sharedFlags),
  };
  // It loads while this process reads the configuration, and hasn't started anything before that.
  const forked = forkDaemon(limiterd, verbose);
  let config: Config;
  let sockets: readonly HeldSocket[];
  try {
    config = readConfig();
    sockets = await holdOrFail(config, inherited);
  } catch (error) {
    forked.kill("SIGKILL");
    throw error;
  }
  const proxyArguments = flagsAsArguments({
    ...sharedFlags,
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port }),
  });
  const proxiesOf = ({ server }: Config, sockets: readonly HeldSocket[]) => ({
    script: join(session.programs, "sluice-proxy.js"),
    args: proxyArguments,
    sockets,
    count: server.proxies === "auto" ? availableParallelism() : server.proxies,
  });
  const { drainGraceMs, drainMs } = config.server;
  const supervisor = superviseServices({
    limiterd: { ...limiterd, waitingProcess: forked },
    proxies: proxiesOf(config, sockets),
    terminal,
    verbose,
    logsText: isText(config.logging.format, isatty(verbose ? 1 : 2)),
    stopDeadlineMs: drainGraceMs + drainMs + stopGraceMs + killGraceMs,
    onReady: ({ ready, admin, open }) => {
      starting.stop();
      terminal.out(readyText({ url: ready, admin, open, config }));
    },
  });
  const current = new SupervisedConfiguration(config, sockets, {
    read: readConfig,
    bind: bindSocket,
    proxiesOf,
  });
  const reloads = new Reloads(
    () => current.reload(supervisor),
    ({ ok, lines }) => {
      if (!ok) supervisor.reloadFailed();
      for (const line of [...lines, ok ? "reloaded" : "the reload failed"]) terminal.err(line);
    },
  );
  const stop = onSignals(session, supervisor, reloads);
  onParentGone({ env: session.env, parentPid: () => process.ppid, every }, () => stop("SIGTERM"));
  terminal.out(bannerText(config));
  const begunMs = session.monoMs();
  const starting = every(startingMs, () => {
    const text = startingText(config, Math.round((session.monoMs() - begunMs) / 1000));
    if (text !== null) terminal.out(text);
  });
  const control = await listenForReloads(
    controlSocketPath(config.limiter.socket, process.pid, session.env),
    () => reloads.request(),
  ).catch((error: Error) => {
    terminal.err(`warning: sluice reload won't find this process: ${error.message}`);
    return null;
  });
  const unwatch =
    flags.watch === true && config.file !== null
      ? watchFile(config.file, () => reloads.signal())
      : null;
  const exitCode = await supervisor.done;
  starting.stop();
  control?.close();
  unwatch?.();
  if (exitCode !== 0) throw new CommandFailure({ exitCode, lines: [], error: {} });
}

async function holdOrFail(
  config: Config,
  inherited: InheritedSockets,
): Promise<readonly HeldSocket[]> {
  try {
    return await holdSockets(config.server, heldFromUnit(inherited), bindSocket);
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure({
      exitCode: exitCodeForStartError(error),
      lines: [`error: ${startErrorText(error, config)}`],
      error: {},
    });
  }
}

/**
 * SIGHUP reloads, unless it means that the terminal is gone. That is a stop, also of the services,
 * which have sessions of their own and don't receive the signal. Returns the handler of stop
 * signals.
 */
function onSignals(
  session: Session,
  supervisor: Supervisor,
  reloads: Reloads,
): (signal: "SIGINT" | "SIGTERM") => void {
  const hadTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  const stop = (signal: "SIGINT" | "SIGTERM"): void => {
    reloads.stop();
    supervisor.stop(signal);
  };
  let previous: Parameters<typeof isEchoed>[0] = null;
  for (const name of ["SIGINT", "SIGTERM"] as const)
    process.on(name, () => {
      const signal = { name, atMonoMs: session.monoMs() };
      const isEcho = isEchoed(previous, signal, session.env);
      previous = signal;
      if (!isEcho) stop(name);
    });
  process.on("SIGHUP", () => {
    if (hadTerminal && !hasTerminal()) stop("SIGTERM");
    else reloads.signal();
  });
  return stop;
}

/** Whether this process has a controlling terminal. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}
