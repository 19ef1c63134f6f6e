/**
 * What the doctor reads of this host's clock: whether something keeps it right, and since when a
 * process runs by a clock that can't be set. Whatever can't be read is null.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

const deadlineMs = 1_000;

/** Whether systemd says that it is synchronized. */
export function readSynchronized(): boolean | null {
  const asked = spawnSync("timedatectl", ["show", "--property=NTPSynchronized", "--value"], {
    timeout: deadlineMs,
    encoding: "utf8",
  });
  const answer = asked.status === 0 ? asked.stdout.trim() : "";
  return answer === "yes" ? true : answer === "no" ? false : null;
}

/** The kernel counts in hundredths of a second towards programs. */
const ticksPerSecond = 100;

/** How long a daemon of this host runs, by the clock since the boot. */
export function readDaemonAge(pid: number): number | null {
  try {
    if (!readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("limiterd")) return null;
    // The name before it, in parentheses, may hold anything.
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const startedTicks = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
    const upSeconds = Number(readFileSync("/proc/uptime", "latin1").split(" ")[0]);
    const age = upSeconds - startedTicks / ticksPerSecond;
    return Number.isFinite(age) ? age : null;
  } catch {
    // It is another host's, or another container's, or has ended.
    return null;
  }
}
