/**
 * `sluice up`: daemon and proxy as two child processes, for a laptop or a container. Supervision
 * itself is in `supervise-services.ts`.
 */
import { join } from "node:path";
import type { Command } from "commander";
import { CommandFailure } from "../session/command-failure.js";
import {
  type ConfigurationFlags,
  flagOptions,
  flagsAsArguments,
  requireConfiguration,
} from "../session/configuration.js";
import type { Session } from "../session/terminal.js";
import { isEchoed } from "../supervisor/echoed-signal.js";
import { bannerText, readyText } from "../supervisor/ready-text.js";
import { killGraceMs, stopGraceMs } from "../supervisor/stop-deadlines.js";
import { superviseServices } from "../supervisor/supervise-services.js";
import { whenOrphaned } from "../supervisor/when-orphaned.js";

function every(ms: number, run: () => void): { stop(): void } {
  const timer = setInterval(run, ms).unref();
  return { stop: () => clearInterval(timer) };
}

interface UpFlags extends ConfigurationFlags {
  readonly verbose?: boolean;
}

/** Adds `up` to the program. */
export function addUp(program: Command, session: Session): void {
  program
    .command("up")
    .description("run the daemon and the proxy until Ctrl-C; one that dies is started again")
    .option(...flagOptions.host)
    .option(...flagOptions.port)
    .option(...flagOptions.dataDir)
    .option(...flagOptions.logLevel)
    .option("--verbose", "print every log line of both, as JSON")
    .action((_options, command: Command) => runUp(session, command.optsWithGlobals<UpFlags>()));
}

async function runUp(session: Session, flags: UpFlags): Promise<void> {
  const { terminal } = session;
  const config = requireConfiguration(session, flags, (warning) =>
    terminal.err(`warning: ${warning}`),
  );
  const { host, port, ...both } = flags;
  const supervisor = superviseServices({
    limiterd: {
      name: "limiterd",
      script: join(session.programs, "sluice-limiterd.js"),
      args: flagsAsArguments(both),
    },
    proxy: {
      name: "proxy",
      script: join(session.programs, "sluice-proxy.js"),
      args: flagsAsArguments({
        ...both,
        ...(host === undefined ? {} : { host }),
        ...(port === undefined ? {} : { port }),
      }),
    },
    terminal,
    verbose: flags.verbose === true,
    stopDeadlineMs: config.server.drainGraceMs + config.server.drainMs + stopGraceMs + killGraceMs,
    readyText: ({ ready, admin, open }) => readyText({ url: ready, admin, open, config }),
  });
  // A terminal that closes (SIGHUP) is a stop too: the children have sessions of their own and
  // don't get that signal.
  let previous: Parameters<typeof isEchoed>[0] = null;
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(name, () => {
      const signal = { name, atMonoMs: session.monoMs() };
      const echoed = isEchoed(previous, signal, session.env);
      previous = signal;
      if (!echoed) supervisor.stop(name === "SIGINT" ? "SIGINT" : "SIGTERM");
    });
  whenOrphaned({ env: session.env, parentPid: () => process.ppid, every }, () =>
    supervisor.stop("SIGTERM"),
  );
  terminal.out(bannerText(config));
  const exitCode = await supervisor.done;
  if (exitCode !== 0) throw new CommandFailure({ exitCode, lines: [], error: {} });
}
