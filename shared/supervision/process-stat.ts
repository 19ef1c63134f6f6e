/** A process of this host as `/proc` describes it. */
import { readFileSync } from "node:fs";

interface ProcessStat {
  /** Only the parent can wait for the process's end. */
  readonly parentPid: number;
  /**
   * The start in clock ticks since boot: distinguishes it from a later process with the same id.
   */
  readonly startTicks: string;
}

/** Null for a process that doesn't run; a zombie counts as ended. */
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
