/** What `/proc` says of a process of this host. */
import { readFileSync } from "node:fs";

interface ProcessStat {
  /** Only this process can wait for its end. */
  readonly parentPid: number;
  /** When it started, in clock ticks since the boot: tells it from a later one of the same id. */
  readonly startTicks: string;
}

/** Null for a process that doesn't run; a zombie holds nothing any more. */
export function processStat(pid: number): ProcessStat | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field is the program's name in brackets, which may hold any character.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields[0] === "Z" || fields[0] === "X") return null;
    return { parentPid: Number(fields[1]), startTicks: fields[19] ?? "" };
  } catch {
    // No such process.
    return null;
  }
}
