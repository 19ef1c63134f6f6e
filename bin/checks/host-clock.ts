/**
 * The doctor's readings of this host's clock: whether it is synchronized, and a process's age by a
 * clock that can't be set. A failed reading is null.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { processStat } from "../../shared/supervision/process-stat.js";

const deadlineMs = 1_000;

/** Whether systemd reports that the clock is synchronized. */
export function readSynchronized(): boolean | null {
  const result = spawnSync("timedatectl", ["show", "--property=NTPSynchronized", "--value"], {
    timeout: deadlineMs,
    encoding: "utf8",
  });
  const answer = result.status === 0 ? result.stdout.trim() : "";
  return answer === "yes" ? true : answer === "no" ? false : null;
}

/** The kernel reports times to programs in hundredths of a second. */
const ticksPerSecond = 100;

/** How long a daemon of this host has been running, by the clock since boot. */
export function readDaemonAgeSeconds(pid: number): number | null {
  try {
    if (!readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("limiterd")) return null;
    const startedTicks = Number(processStat(pid)?.startTicks);
    const upSeconds = Number(readFileSync("/proc/uptime", "latin1").split(" ")[0]);
    const ageSeconds = upSeconds - startedTicks / ticksPerSecond;
    return Number.isFinite(ageSeconds) ? ageSeconds : null;
  } catch {
    // The daemon is on another host or in another container, or has ended.
    return null;
  }
}
