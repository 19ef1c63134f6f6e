/**
 * The process that owns the store: a mark with its number and start time, so that a reused process
 * number isn't mistaken for the owner.
 */
import { processStat } from "../../../shared/supervision/process-stat.js";

/** This process's mark: `pid startTicks`. */
export function ownerMark(): string {
  return `${process.pid} ${processStat(process.pid)?.startTicks ?? ""}`;
}

/** The process number in a mark. */
export function ownerPid(mark: string): number {
  return Number(mark.split(" ")[0]);
}

/** Whether another process with this mark still runs. */
export function isOtherOwnerAlive(mark: string): boolean {
  const [, ticks] = mark.split(" ");
  const pid = ownerPid(mark);
  return pid !== process.pid && ticks !== "" && processStat(pid)?.startTicks === ticks;
}
