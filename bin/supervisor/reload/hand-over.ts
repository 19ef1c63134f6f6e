/**
 * A service that replaces itself, under systemd: it starts a new process on the same sockets, tells
 * systemd that this one is the main process (`MAINPID=`) once it is ready, and finishes.
 * `supervised-proxies.ts` does the same from outside for the proxies of a supervisor of Sluice.
 *
 * systemd waits for its own children alone: it doesn't notice the end of another main process, and
 * with control groups of version 1 it kills such a process at a stop instead of waiting for it. So
 * a shell starts the successor and ends before `MAINPID=` is sent, which makes the successor a
 * child of the process that started this one.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import {
  handOverVariables,
  type InheritedSockets,
} from "../../../shared/supervision/inherited-sockets.js";
import { processStat } from "../../../shared/supervision/process-stat.js";
import type { SupervisorNotices } from "../../../shared/supervision/supervisor-notices.js";
import { exitCodes } from "../../session/exit-code.js";
import { type Predecessor, predecessorsVariable } from "./predecessors.js";
import type { ReloadOutcome } from "./reload-outcome.js";

/** How long a successor may take until it is ready. */
export const successorReadyMs = 60_000;

/** The shell's command: it exits with the successor's status, unless a signal ends it. */
const startAndWait = '"$@" & wait $!';

/** The message to the successor once it is the service: it outlives this process. */
const released = { released: true } as const;

/** Whether this is that message, from the process that started this one. */
export function isRelease(message: unknown): boolean {
  return typeof message === "object" && message !== null && "released" in message;
}

interface HandOverOptions {
  readonly script: string;
  readonly args: readonly string[];
  readonly sockets: InheritedSockets;
  /** The processes that this one has replaced. */
  readonly predecessors: readonly Predecessor[];
  readonly notices: SupervisorNotices;
  /** Resolves when this process is asked to stop. */
  readonly untilStopped: Promise<unknown>;
  /** Whether another reload was requested meanwhile, which the successor then does. */
  readonly isAskedAgain: () => boolean;
}

/**
 * Starts a successor and makes it the service. Until it is ready, and if it never is, nothing
 * changes.
 */
export async function handOver(options: HandOverOptions): Promise<ReloadOutcome> {
  const { script, args, sockets, notices } = options;
  const handles = [...sockets.byName].flatMap(([name, fds]) => fds.map((fd) => ({ name, fd })));
  const shell = fork(script, [...args], {
    execPath: "/bin/sh",
    execArgv: ["-c", startAndWait, "sh", process.execPath, ...process.execArgv],
    env: {
      ...process.env,
      ...handOverVariables(handles.map(({ name }) => name)),
      ...predecessorsVariable(options.predecessors, process.pid),
    },
    stdio: ["ignore", "inherit", "inherit", ...handles.map(({ fd }) => fd), "ipc"],
  });
  // The channel belongs to the successor, which may have accepted connections: without the channel
  // it finishes them and ends.
  const giveUp = (): void => {
    if (shell.connected) shell.disconnect();
  };
  let isService = false;
  void options.untilStopped.then(() => {
    if (!isService) giveUp();
  });
  const failure = await untilReady(shell);
  if (failure !== null) {
    giveUp();
    return failure;
  }
  const pid = childOf(shell.pid!);
  const problem = (await leaveToSupervisor(shell, pid)) ?? (await announce(notices, pid));
  if (problem !== null) {
    giveUp();
    return failedOutcome(exitCodes.failed, `error: ${problem}`);
  }
  isService = true;
  if (options.isAskedAgain()) process.kill(pid, "SIGHUP");
  shell.send(released, giveUp);
  return { ok: true, lines: [`process ${pid} has taken over from ${process.pid}`] };
}

/** The id of the shell's child; 0: none runs. */
function childOf(parentPid: number): number {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return Number(pids.find((pid) => processStat(Number(pid))?.parentPid === parentPid) ?? 0);
}

/**
 * Ends the shell. Returns why the successor didn't become the supervisor's child, or null if it
 * did.
 */
async function leaveToSupervisor(shell: ChildProcess, pid: number): Promise<string | null> {
  const ended = shell.exitCode ?? shell.signalCode ?? once(shell, "exit");
  shell.kill("SIGTERM");
  await ended;
  const parentPid = processStat(pid)?.parentPid;
  if (parentPid === undefined) return "the new process has ended";
  // A user's systemd is this one's parent; the system's is the first process.
  const isSupervisor = parentPid === process.ppid || (parentPid === 1 && process.pid !== 1);
  return isSupervisor
    ? null
    : `process ${parentPid} has taken in the new process, and systemd wouldn't wait for it: start the service without a program around it`;
}

async function announce(notices: SupervisorNotices, mainPid: number): Promise<string | null> {
  const isSent = await notices.send({ mainPid });
  return isSent ? null : "the supervisor didn't take the id of the new process (MAINPID)";
}

function untilReady(shell: ChildProcess): Promise<(ReloadOutcome & { ok: false }) | null> {
  return new Promise((resolve) => {
    const end = (outcome: (ReloadOutcome & { ok: false }) | null): void => {
      clearTimeout(late);
      resolve(outcome);
    };
    const late = setTimeout(
      () =>
        end(failedOutcome(exitCodes.failed, `error: it isn't ready after ${successorReadyMs} ms`)),
      successorReadyMs,
    );
    shell.once("error", ({ message }) =>
      end(failedOutcome(exitCodes.failed, `error: it couldn't be started: ${message}`)),
    );
    shell.once("exit", (code) =>
      end(
        failedOutcome(
          // A shell reports 128 and more for a signal.
          code === null || code === exitCodes.ok || code >= 128 ? exitCodes.failed : code,
          "error: the new process ended before it was ready; its reason is in the log",
        ),
      ),
    );
    shell.once("message", () => end(null));
  });
}

function failedOutcome(exitCode: number, line: string): ReloadOutcome & { ok: false } {
  return { ok: false, exitCode, lines: [line] };
}
