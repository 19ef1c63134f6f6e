/**
 * Which process owns the store: a mark of its number and its start, so that a number that was given
 * to another process since isn't taken for the owner.
 */
import { readFileSync } from "node:fs";

/** This process's mark: `pid startTicks`. */
export function ownerMark(): string {
  return `${process.pid} ${startTicks(process.pid)}`;
}

/** The process number in a mark. */
export function ownerPid(mark: string): number {
  return Number(mark.split(" ")[0]);
}

/** Whether another process that made this mark still runs. */
export function isOtherOwnerAlive(mark: string): boolean {
  const [, ticks] = mark.split(" ");
  const pid = ownerPid(mark);
  return pid !== process.pid && ticks !== "" && startTicks(pid) === ticks;
}

/** When a process started, in clock ticks since the boot; empty for one that doesn't run. */
function startTicks(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie holds nothing any more: the process that should reap it may never do so.
    return fields[0] === "Z" || fields[0] === "X" ? "" : (fields[19] ?? "");
  } catch {
    // No such process.
    return "";
  }
}
