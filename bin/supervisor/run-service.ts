/**
 * Runs one service process, daemon or proxy, from its arguments to its exit code: configuration,
 * start, ready, signal, stop. Its work in between is in `limiterd/` and `proxy/`; restarting it is
 * the supervisor's task.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import type { Config } from "../../shared/config/config.js";
import { createLog, type Log } from "../../shared/log.js";
import type { InheritedSockets } from "../../shared/supervision/inherited-sockets.js";
import { takeProxyName } from "../../shared/supervision/proxy-name.js";
import type { SupervisorNotices } from "../../shared/supervision/supervisor-notices.js";
import { systemdNotices, watchdogMsOf } from "../../shared/supervision/systemd-notices.js";
import {
  type ConfigurationFlags,
  type FlagName,
  flagOptions,
  requireConfiguration,
} from "../session/configuration.js";
import { exitCodeForStartError, exitCodeHelp, exitCodes } from "../session/exit-code.js";
import { newCommand } from "../session/new-command.js";
import { printFailure } from "../session/print-failure.js";
import { processSession, type Session } from "../session/terminal.js";
import { exitNow } from "./exit-now.js";
import { type Heartbeat, type ServiceHealth, startHeartbeat } from "./heartbeat.js";
import { loggedLevel, takePrintedLevel } from "./printed-level.js";
import { takeHeld } from "./ready-message.js";
import { collectGarbage, heapSize, processCpuMs, releaseWhenIdle } from "./release-memory.js";
import { type Predecessor, takePredecessors, waitForEnd } from "./reload/predecessors.js";
import { startSelfReload } from "./reload/self-reload.js";
import {
  onServiceRequests,
  type ServiceRequests,
  type StopRequest,
} from "./reload/service-requests.js";
import { takeSockets } from "./reload/take-sockets.js";
import { startErrorText } from "./start-error-text.js";
import { stopGraceMs } from "./stop-deadlines.js";

interface Service {
  readonly process: "proxy" | "limiterd";
  readonly description: string;
  /** The configuration flags that this process accepts. */
  readonly flags: readonly FlagName[];
  /** The names of the sockets that it can inherit. */
  readonly socketNames: readonly string[];
  /**
   * Does what needs no other process, while a supervisor may hold the service. Resolves with what
   * starts it. Both reject with an error whose message is printed. `ready` is sent to the parent
   * process, if there is an IPC channel.
   */
  prepare(options: StartOptions): Promise<() => Promise<StartedService>>;
}

interface StartOptions {
  readonly config: Config;
  readonly log: Log;
  readonly sockets: InheritedSockets;
  /** The name of this process among others of its kind. */
  readonly name: string;
}

interface StartedService {
  /**
   * Resolves with the reason why the service must end immediately, without a stop; it is printed.
   */
  readonly broken?: Promise<Error>;
  readonly ready: { readonly ready: string; readonly admin?: string; readonly open?: boolean };
  /** Whether the service continues after an uncaught error. Without this function it never does. */
  survives?(error: unknown): boolean;
  /** Called when its reload has failed and it keeps running. */
  reloadFailed?(): void;
  /** Its health, for a supervisor. */
  health(): ServiceHealth;
  /** `atOnce`: without the grace in which load balancers notice the stop. */
  stop(options: { readonly atOnce: boolean }): Promise<void>;
  /**
   * Ends a service that another process has replaced. It may take much longer; `stop` shortens it.
   */
  onReplaced?(): Promise<void>;
}

/** Each rule may cause a warning: 10,000 lines would delay a start by a third of a second. */
const warningsLoggedMax = 100;

/** How long flushing the last log lines may take. */
const flushDeadlineMs = 1_000;

/** Runs the service until it stops, then ends the process with a code of `exit-code.ts`. */
export async function runService(service: Service): Promise<never> {
  const proxyName = takeProxyName(process.env);
  const predecessors = takePredecessors(process.env);
  const isWaiting = takeHeld(process.env);
  const printed = takePrintedLevel(process.env);
  const session = processSession();
  const requests = onServiceRequests();
  // Its supervisor handles reloads.
  if (proxyName !== null) requests.onHangUp(() => {});
  let config: Config;
  let sockets: InheritedSockets;
  const warnings: string[] = [];
  try {
    const note = (warning: string): void => void warnings.push(warning);
    sockets = takeSockets(service.socketNames);
    config = requireConfiguration(session, parseFlags(service, session), note);
  } catch (error) {
    process.exit(printFailure(error, { terminal: session.terminal, json: false }));
  }
  const name = proxyName ?? service.process;
  const log = createLog(name, loggedLevel(config.logLevel, printed), config.logging.format);
  const notices = systemdNotices({
    env: session.env,
    onFailure: (reason) => log.warn({ reason }, "can't send the service's status to systemd"),
  });
  const lastResort: LastResort = { survives: () => false };
  onLastResort(log, lastResort);
  if (service.process === "proxy" && proxyName === null && config.server.proxies !== 1)
    log.warn("server.proxies is for sluice up; systemd has sluice-proxy-worker@.service for it");
  // `sluice up` has already printed them, once for both services.
  logWarnings(warnings, (text) => log[process.connected === true ? "info" : "warn"](text));
  const { drainGraceMs, drainMs, reloadDrainMs } = config.server;
  const hardExits = [
    requests.stop.then(() => exitAfter(drainGraceMs + drainMs + stopGraceMs, log)),
    requests.untilReplaced.then(() => exitAfter(reloadDrainMs + stopGraceMs, log)),
  ];
  const served = serve(service, {
    config,
    sockets,
    predecessors,
    isHeld: isWaiting,
    name,
    log,
    session,
    requests,
    lastResort,
    notices,
    check: () =>
      void requireConfiguration(session, parseFlags(service, session), (text) => log.warn(text)),
  });
  const exitCode = await Promise.race([served, ...hardExits]);
  await flushLog(log);
  exitNow(exitCode);
}

/** Logs the first warnings and the number of the others. */
function logWarnings(warnings: readonly string[], log: (text: string) => void): void {
  for (const warning of warnings.slice(0, warningsLoggedMax)) log(warning);
  const further = warnings.length - warningsLoggedMax;
  if (further > 0) log(`${further} further warnings: sluice config check prints all of them`);
}

async function serve(
  service: Service,
  options: {
    readonly config: Config;
    readonly sockets: InheritedSockets;
    readonly predecessors: readonly Predecessor[];
    /** Whether to wait for the supervisor before the start. */
    readonly isHeld: boolean;
    readonly name: string;
    readonly log: Log;
    readonly session: Session;
    readonly requests: ServiceRequests;
    readonly lastResort: LastResort;
    readonly notices: SupervisorNotices;
    /** Throws if the current configuration is invalid. */
    readonly check: () => void;
  },
): Promise<number> {
  const { config, sockets, name, log, session, requests, lastResort, notices } = options;
  const { predecessors } = options;
  let started: StartedService;
  try {
    const start = await service.prepare({ config, log, sockets, name });
    // A stop ends a service that hasn't started.
    if (options.isHeld && (await Promise.race([requests.begin, requests.stop])) !== undefined)
      return exitCodes.ok;
    started = await start();
  } catch (error) {
    session.terminal.err(`error: ${startErrorText(error, config)}`);
    return exitCodeForStartError(error);
  }
  lastResort.survives = (error) => started.survives?.(error) === true;
  // If the parent has died meanwhile, `disconnect` reports it.
  process.send?.(started.ready, undefined, undefined, () => {});
  const isSuccessor = sockets.from === "handed-over";
  const watchdogMs = watchdogMsOf(session.env, { pid: process.pid, isSuccessor });
  const heartbeat = beat(started, watchdogMs, { notices, log });
  releaseWhenIdle({ cpuMs: processCpuMs, heap: heapSize, collect: collectGarbage, every });
  const reload = await startSelfReload({
    ...options,
    process: service.process,
    onFailed: () => started.reloadFailed?.(),
  });
  const { broken = new Promise<never>(() => {}) } = started;
  // systemd has asked the predecessors to stop, too: they drain immediately, without a grace.
  const alone = requests.stop.then(() =>
    waitForEnd(predecessors, config.server.drainMs + stopGraceMs),
  );
  const end = await Promise.race([requests.stop, requests.untilReplaced, broken]);
  reload.stop();
  if (end instanceof Error) {
    session.terminal.err(`error: ${end.message}`);
    return exitCodeForStartError(end);
  }
  // The successor of a replaced service reports the health.
  if (end === undefined) heartbeat.end();
  else heartbeat.stopping();
  try {
    await (end === undefined
      ? endReplacedService(started, requests.stop, log)
      : endNow(started, end, log).then(() => alone));
    return exitCodes.ok;
  } catch (error) {
    log.error({ err: error }, "the stop failed");
    return exitCodes.failed;
  }
}

/** Notifies systemd that the service is ready, and of its health from then on. */
function beat(
  service: StartedService,
  watchdogMs: number | null,
  { notices, log }: { readonly notices: SupervisorNotices; readonly log: Log },
): Heartbeat {
  return startHeartbeat({
    notices,
    watchdogMs,
    health: () => service.health(),
    onStuck: (reason) =>
      log.error(
        { reason },
        "the service is stuck: it sends no more watchdog notices, so that systemd restarts it",
      ),
    every,
  });
}

function every(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms).unref();
  return () => clearInterval(timer);
}

function endNow(started: StartedService, { reason, atOnce }: StopRequest, log: Log): Promise<void> {
  log.info({ reason }, "stopping");
  return started.stop({ atOnce });
}

/** Replacing may take long; a request to stop shortens it. */
function endReplacedService(
  started: StartedService,
  stop: Promise<StopRequest>,
  log: Log,
): Promise<void> {
  log.info("replaced: this process accepts no more connections");
  const ended = started.onReplaced?.() ?? started.stop({ atOnce: true });
  return Promise.race([ended, stop.then((request) => endNow(started, request, log))]);
}

/** Throws commander's error, also after it has printed the help or the version. */
function parseFlags(service: Service, session: Session): ConfigurationFlags {
  const command: Command = newCommand(`sluice-${service.process}`, session).description(
    service.description,
  );
  for (const flag of service.flags) command.option(flagOptions[flag][0], flagOptions[flag][1]);
  command.addHelpText("after", exitCodeHelp());
  command.parse(process.argv.slice(2), { from: "user" });
  return command.opts<ConfigurationFlags>();
}

/** Decides about an uncaught error: before the service has started, every error is fatal. */
interface LastResort {
  survives: (error: unknown) => boolean;
}

/**
 * An uncaught error is a bug in Sluice. It is logged. The service continues if it survives the
 * error; otherwise it ends, and the supervisor starts a new process.
 */
function onLastResort(log: Log, lastResort: LastResort): void {
  const end = (error: unknown): void => {
    if (lastResort.survives(error))
      return log.error({ err: error }, "a bug in Sluice, outside any request");
    // `fatal` writes its line before it returns: nothing else may run in a process whose state is
    // unknown.
    log.fatal({ err: error }, "an unexpected error ends this process");
    exitNow(exitCodes.bug);
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}

async function exitAfter(ms: number, log: Log): Promise<number> {
  await delay(ms);
  log.fatal({ waitedMs: ms }, "the stop took too long");
  return exitCodes.bug;
}

async function flushLog(log: Log): Promise<void> {
  const flushed = new Promise<void>((resolve) => log.flush(() => resolve()));
  await Promise.race([flushed, delay(flushDeadlineMs)]);
}
