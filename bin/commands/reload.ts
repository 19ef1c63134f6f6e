/**
 * `sluice reload`: asks the processes on this host to reload their configuration, and waits until
 * they have. The reload itself is in `../supervisor/`.
 */
import type { Command } from "commander";
import { CommandFailure } from "../session/command-failure.js";
import type { CommandFlags } from "../session/command-flags.js";
import { locateSockets } from "../session/configuration.js";
import { exitCodes } from "../session/exit-code.js";
import type { Session } from "../session/terminal.js";
import {
  askForReload,
  findControlSockets,
  removeDeadSocket,
} from "../supervisor/reload/control-socket.js";

interface ReloadFlags extends CommandFlags {
  readonly pid?: string;
}

/** Adds `reload` to the program. */
export function addReload(program: Command, session: Session): void {
  program
    .command("reload")
    .description("read the configuration again, without losing a request")
    .option("--pid <pid>", "the process to reload, if several run on this host")
    .action((_options, command: Command) =>
      runReload(session, command.optsWithGlobals<ReloadFlags>()),
    );
}

async function runReload({ terminal, ...session }: Session, flags: ReloadFlags): Promise<void> {
  const { socketPath } = locateSockets({ terminal, ...session }, flags);
  const running = findControlSockets(socketPath, session.env).filter(
    ({ pid }) => flags.pid === undefined || flags.pid === String(pid),
  );
  let reloaded = 0;
  let exitCode: number = exitCodes.ok;
  for (const { path, pid } of running) {
    const answer = await askForReload(path);
    if ("kind" in answer) {
      if (answer.kind === "gone") removeDeadSocket(path);
      else {
        exitCode ||= exitCodes.failed;
        terminal.err(`error: process ${pid}: ${answer.reason}`);
      }
      continue;
    }
    reloaded++;
    for (const line of answer.lines) terminal[answer.ok ? "out" : "err"](line);
    if (!answer.ok) exitCode ||= answer.exitCode;
  }
  if (reloaded === 0 && exitCode === exitCodes.ok)
    throw failure(exitCodes.unreachable, [
      `error: nothing that can be reloaded runs beside ${socketPath}${flags.pid === undefined ? "; services of systemd: systemctl reload" : ` with the process id ${flags.pid}`}`,
    ]);
  if (exitCode !== exitCodes.ok) throw failure(exitCode, []);
}

function failure(exitCode: number, lines: readonly string[]): CommandFailure {
  return new CommandFailure({ exitCode, lines, error: { message: lines.join("; ") } });
}
