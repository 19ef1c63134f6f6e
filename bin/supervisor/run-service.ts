/**
 * The life of one long-running process, daemon or proxy: configuration, start, ready, a signal,
 * stop. What the process does in between is in `limiterd/` and `proxy/`; starting it again is the
 * supervisor's.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import type { Config } from "../../shared/config/config.js";
import { createLog, type Log } from "../../shared/log.js";
import { type ConfigurationFlags, requireConfiguration } from "../session/configuration.js";
import { exitCodeForStartError, exitCodeHelp, exitCodes } from "../session/exit-code.js";
import { newCommand } from "../session/new-command.js";
import { printFailure } from "../session/print-failure.js";
import { processSession, type Session } from "../session/terminal.js";
import { stopGraceMs } from "./stop-deadlines.js";

export interface Part {
  readonly process: "proxy" | "limiterd";
  readonly description: string;
  /** Which of the configuration's flags this process takes. */
  readonly flags: readonly (keyof typeof flagOptions)[];
  /**
   * Rejects with an error whose message is for people. `ready` is sent to a parent process that
   * listens.
   */
  start(options: { readonly config: Config; readonly log: Log }): Promise<StartedPart>;
}

export interface StartedPart {
  readonly ready: { readonly ready: string; readonly open?: boolean };
  stop(): Promise<void>;
}

/** How long the last log lines may take to leave. */
const flushDeadlineMs = 1_000;

const flagOptions = {
  config: [
    "--config <file>",
    "the configuration file (default: SLUICE_CONFIG, ./sluice.yaml, /etc/sluice/sluice.yaml)",
  ],
  socket: ["--socket <path>", "the daemon's Unix socket"],
  host: ["--host <host>", "the address to listen on"],
  port: ["--port <port>", "the port to listen on"],
  "data-dir": ["--data-dir <directory>", "where the daemon keeps its store"],
} as const;

/**
 * Runs the process to its end; never returns before that, and ends it with one of `exit-code.ts`.
 */
export async function runPart(part: Part): Promise<never> {
  const stopRequested = onStopRequest();
  const session = processSession();
  let config: Config;
  const warnings: string[] = [];
  try {
    config = requireConfiguration(session, parseFlags(part, session), (warning) =>
      warnings.push(warning),
    );
  } catch (error) {
    process.exit(printFailure(error, { terminal: session.terminal, json: false }));
  }
  const log = createLog(part.process, config.logLevel);
  onLastResort(log);
  // `sluice up` has told them already, once for both parts.
  for (const warning of warnings) log[process.connected === true ? "info" : "warn"](warning);
  const hardExit = stopRequested.then(() => exitAfter(config.server.drainMs + stopGraceMs, log));
  const served = serve(part, { config, log, session, stopRequested });
  const exitCode = await Promise.race([served, hardExit]);
  await flushLog(log);
  process.exit(exitCode);
}

async function serve(
  part: Part,
  options: {
    readonly config: Config;
    readonly log: Log;
    readonly session: Session;
    readonly stopRequested: Promise<string>;
  },
): Promise<number> {
  const { config, log, session, stopRequested } = options;
  let started: StartedPart;
  try {
    started = await part.start({ config, log });
  } catch (error) {
    session.terminal.err(`error: ${error instanceof Error ? error.message : String(error)}`);
    return exitCodeForStartError(error);
  }
  // A parent that went away meanwhile is heard of through `disconnect`.
  process.send?.(started.ready, undefined, undefined, () => {});
  const reason = await stopRequested;
  log.info({ reason }, "stopping");
  try {
    await started.stop();
    return exitCodes.ok;
  } catch (error) {
    log.error({ err: error }, "the stop failed");
    return exitCodes.failed;
  }
}

/** Throws commander's error when help or version was printed, too. */
function parseFlags(part: Part, session: Session): ConfigurationFlags {
  const command: Command = newCommand(`sluice-${part.process}`, session).description(
    part.description,
  );
  for (const flag of part.flags) command.option(flagOptions[flag][0], flagOptions[flag][1]);
  command.addHelpText("after", exitCodeHelp());
  command.parse(process.argv.slice(2), { from: "user" });
  return command.opts<ConfigurationFlags>();
}

/**
 * Resolves with the first request to stop: a signal, or the end of the parent that started us over
 * an IPC channel (`sluice up`, killed before it could say anything). A second signal ends the
 * process at once.
 */
function onStopRequest(): Promise<string> {
  return new Promise((resolve) => {
    let requested = false;
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
      process.on(signal, () => {
        if (requested) process.exit(exitCodes.killed);
        requested = true;
        resolve(signal);
      });
    }
    process.once("disconnect", () => resolve("the parent process is gone"));
    // Undefined without a channel; false when the parent died while this module was being loaded.
    if (process.connected === false) resolve("the parent process is gone");
  });
}

async function exitAfter(ms: number, log: Log): Promise<number> {
  await delay(ms);
  log.fatal({ waitedMs: ms }, "the stop took too long");
  return exitCodes.bug;
}

/** An error that nobody caught is ours: it is told, and the supervisor starts a fresh process. */
function onLastResort(log: Log): void {
  const end = (error: unknown): void => {
    // `fatal` writes what is left before it returns: nothing more runs in a process that can't be
    // trusted.
    log.fatal({ err: error }, "a mistake of ours ends this process");
    process.exit(exitCodes.bug);
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}

async function flushLog(log: Log): Promise<void> {
  const flushed = new Promise<void>((resolve) => log.flush(() => resolve()));
  await Promise.race([flushed, delay(flushDeadlineMs)]);
}
