/**
 * systemd as the supervisor that takes notices. They are datagrams to a Unix socket, which Node
 * doesn't have, so the program `systemd-notify` sends each; it comes with systemd. Nothing of the
 * service waits for it: one that is missing, fails or hangs costs the notice, and the log says so
 * once.
 */
import { spawn } from "node:child_process";
import { type Notice, noNotices, type SupervisorNotices } from "./supervisor-notices.js";

interface SystemdOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called with the first notice that isn't taken, and why. */
  readonly onFailure: (reason: string) => void;
}

/** `systemd-notify` waits until systemd has read the notice, for five seconds at most. */
const noticeMsMax = 7_000;
const statusCharsMax = 300;

/** Those of a process that systemd has started with `Type=notify`; else none are taken. */
export function systemdNotices({ env, onFailure }: SystemdOptions): SupervisorNotices {
  const { NOTIFY_SOCKET: socket, PATH: path } = env;
  if (socket === undefined || socket === "") return noNotices;
  const ofProgram = { NOTIFY_SOCKET: socket, ...(path === undefined ? {} : { PATH: path }) };
  let failed = false;
  return {
    taken: true,
    async send(notice) {
      const reason = await run(assignmentsOf(notice), ofProgram);
      // A stop of the unit ends the program too.
      if (reason !== null && !failed && !reason.endsWith("SIGTERM")) onFailure(reason);
      failed = reason !== null;
      return !failed;
    },
  };
}

/**
 * How long systemd waits for a sign of life before it ends the service; null: it doesn't, or waits
 * for another process. `isSuccessor`: of one that was handed the service, the number is still that
 * of the process which systemd has started.
 */
export function watchdogMsOf(
  env: Readonly<Record<string, string | undefined>>,
  { pid, isSuccessor }: { readonly pid: number; readonly isSuccessor: boolean },
): number | null {
  const { WATCHDOG_USEC: usec, WATCHDOG_PID: of } = env;
  if (!isSuccessor && of !== undefined && of !== String(pid)) return null;
  return usec !== undefined && /^[1-9]\d{3,15}$/.test(usec) ? Number(usec) / 1000 : null;
}

/** As sd_notify(3) has them: `NAME=value`, none with a line break. */
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

/** Null once systemd has read it, or why it may not have. */
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
      // Such as no memory for another process.
      resolve(error instanceof Error ? error.message : String(error));
    }
  });
}
