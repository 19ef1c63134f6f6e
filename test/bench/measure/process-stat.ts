/**
 * What the operating system says of a process: CPU time of all its threads and resident memory.
 * Linux only (`/proc`), as Sluice's daemon is.
 */
import { readdirSync, readFileSync } from "node:fs";

/**
 * User + system time in nanoseconds, by thread (or by process where the kernel keeps no per-thread
 * nanoseconds).
 */
export type CpuReading = ReadonlyMap<string, number>;

/** USER_HZ, which Linux fixes at 100 for everything it shows in `/proc/<pid>/stat`. */
const ticksPerSecond = 100;

/** The process and its children: nginx works in a child of the process that was started. */
export function withChildren(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    const text = readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").trim();
    return text === "" ? [] : text.split(" ").map(Number);
  });
  return [pid, ...children.flatMap(withChildren)];
}

/** Which of the two clocks of `/proc` this kernel offers; the second counts in steps of 10 ms. */
export function cpuSource(): "schedstat" | "stat" {
  try {
    const [onCpuNs] = readFileSync("/proc/self/schedstat", "utf8").split(" ");
    return Number(onCpuNs) > 0 ? "schedstat" : "stat";
  } catch {
    // A kernel without scheduler statistics has no such file.
    return "stat";
  }
}

export function readCpu(pids: readonly number[], source: "schedstat" | "stat"): CpuReading {
  const reading = new Map<string, number>();
  for (const pid of pids) {
    if (source === "stat") {
      reading.set(String(pid), statNs(pid));
      continue;
    }
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const [onCpuNs] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ");
      reading.set(`${pid}/${thread}`, Number(onCpuNs));
    }
  }
  return reading;
}

/**
 * Microseconds of CPU between two readings of the same processes. A thread that ended in between
 * isn't counted; none of the measured programs end theirs.
 */
export function cpuUsBetween(before: CpuReading, after: CpuReading): number {
  let ns = 0;
  for (const [thread, value] of after) ns += value - (before.get(thread) ?? 0);
  return ns / 1000;
}

function statNs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The command's name may hold spaces; the fields after it don't. User time is the 14th of all,
  // system time the 15th.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[11]) + Number(fields[12])) * 1e9) / ticksPerSecond;
}

export interface Memory {
  /** The sum of what each process has resident: a page that several share counts for each. */
  readonly residentBytes: number;
  /** Each page once: a process's part of a page is the page, divided by those that map it. */
  readonly ownBytes: number;
}

/** RSS and PSS of processes together. */
export function memoryOf(pids: readonly number[]): Memory {
  const rollups = pids.map((pid) => readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"));
  const sum = (field: string): number =>
    rollups.reduce((bytes, text) => {
      const line = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(text);
      return bytes + Number(line?.[1] ?? 0) * 1024;
    }, 0);
  return { residentBytes: sum("Rss"), ownBytes: sum("Pss") };
}

/** Resident bytes (RSS), pages shared with other processes included. */
export function residentBytes(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return line === null ? 0 : Number(line[1]) * 1024;
}
