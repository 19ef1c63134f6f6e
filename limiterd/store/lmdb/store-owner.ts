/**
 * Which process owns the store: a mark of its number and its start, so that a number that was given
 * to another process since isn't taken for the owner.
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

/** Whether another process that made this mark still runs. */
export function isOtherOwnerAlive(mark: string): boolean {
  const [, ticks] = mark.split(" ");
  const pid = ownerPid(mark);
  return pid !== process.pid && ticks !== "" && processStat(pid)?.startTicks === ticks;
}
