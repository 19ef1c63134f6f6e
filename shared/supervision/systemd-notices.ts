/**
 * Notices to systemd. They are datagrams to a Unix socket, which Node can't send, so the program
 * `systemd-notify`, which comes with systemd, sends each. The service never waits for it: if it is
 * missing, fails or hangs, the notice is lost, and the log reports that once.
 */
import { spawn } from "node:child_process";
import { type Notice, noNotices, type SupervisorNotices } from "./supervisor-notices.js";

interface SystemdOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called with the reason when a notice first fails. */
  readonly onFailure: (reason: string) => void;
}

/** `systemd-notify` waits until systemd has read the notice, for five seconds at most. */
const noticeMsMax = 7_000;
const statusCharsMax = 300;

/** Notices of a process that systemd has started with `Type=notify`; other processes have none. */
export function systemdNotices({ env, onFailure }: SystemdOptions): SupervisorNotices {
  const { NOTIFY_SOCKET: socket, PATH: path } = env;
  if (socket === undefined || socket === "") return noNotices;
  const ofProgram = { NOTIFY_SOCKET: socket, ...(path === undefined ? {} : { PATH: path }) };
  let hasFailed = false;
  return {
    accepted: true,
    async send(notice) {
      const reason = await run(assignmentsOf(notice), ofProgram);
      // A stop of the unit ends the program, too.
      if (reason !== null && !hasFailed && !reason.endsWith("SIGTERM")) onFailure(reason);
      hasFailed = reason !== null;
      return !hasFailed;
    },
  };
}

/**
 * The watchdog's interval; null if there is none, or if it watches another process. `isSuccessor`:
 * the process took over the service, so the process id in the variable is still that of the process
 * that systemd started.
 */
export function watchdogMsOf(
  env: Readonly<Record<string, string | undefined>>,
  { pid, isSuccessor }: { readonly pid: number; readonly isSuccessor: boolean },
): number | null {
  const { WATCHDOG_USEC: usec, WATCHDOG_PID: watchdogPid } = env;
  if (!isSuccessor && watchdogPid !== undefined && watchdogPid !== String(pid)) return null;
  return usec !== undefined && /^[1-9]\d{3,15}$/.test(usec) ? Number(usec) / 1000 : null;
}

/** In the form of sd_notify(3): `NAME=value` without line breaks. */
export function assignmentsOf(notice: Notice): readonly string[] {
  const { ready, reloading, stopping, watchdog, status, mainPid } = notice;
  return [
    ...(mainPid === undefined ? [] : [`MAINPID=${mainPid}`]),
    ...(reloading === true ? ["RELOADING=1"] : []),
    ...(ready === true ? ["READY=1"] : []),
    ...(stopping === true ? ["STOPPING=1"] : []),
    ...(watchdog === true ? ["WATCHDOG=1"] : []),
    ...(status === undefined ? [] : [`STATUS=${oneLine(status)}`]),
  ];
}

function oneLine(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f]+/g, " ").slice(0, statusCharsMax);
}

/**
 * Runs the program. Null once systemd has read the notice; otherwise the reason for a possible
 * loss.
 */
function run(
  assignments: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string | null> {
  return new Promise((resolve) => {
    try {
      spawn("systemd-notify", assignments, {
        env,
        stdio: "ignore",
        timeout: noticeMsMax,
        killSignal: "SIGKILL",
      })
        .once("error", ({ message }) => resolve(message))
        .once("exit", (code, signal) =>
          resolve(code === 0 ? null : `systemd-notify ended with ${signal ?? `exit code ${code}`}`),
        );
    } catch (error) {
      // For example, no memory for another process.
      resolve(error instanceof Error ? error.message : String(error));
    }
  });
}
