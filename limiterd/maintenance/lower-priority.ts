/**
 * Lowers the priority of this process, so that processes that answer requests come first. Call it
 * when the work begins, not earlier: on a busy host, a process of low priority takes ten times as
 * long to start.
 */
import { readdirSync } from "node:fs";
import { getPriority, setPriority } from "node:os";

/** At 10, a host whose processors are all busy gives the process almost no time. */
export const politePriority = 5;

/** Lowers the priority of all threads of this process; later threads inherit it. */
export function lowerPriority(): void {
  for (const thread of threadsOfThis()) {
    try {
      setPriority(Number(thread), Math.max(politePriority, getPriority(Number(thread))));
    } catch {
      // The thread has ended, or this system doesn't allow it.
    }
  }
}

function threadsOfThis(): readonly string[] {
  try {
    return readdirSync("/proc/self/task");
  } catch {
    // Without /proc the work has the usual priority.
    return [];
  }
}
