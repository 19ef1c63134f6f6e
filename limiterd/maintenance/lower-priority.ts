/**
 * Lowers the priority of this process, so that processes that answer requests come first. Call it
 * when the work begins, not earlier: on a busy host, a process of low priority takes ten times as
 * long to start, and does no work meanwhile.
 */
import { readdirSync } from "node:fs";
import { getPriority, setPriority } from "node:os";

/** At 10 a host whose processors are all busy gives it next to nothing. */
export const politePriority = 5;

/** Of all threads of this process; those that are made later have the priority of their maker. */
export function lowerPriority(): void {
  for (const thread of threadsOfThis()) {
    try {
      setPriority(Number(thread), Math.max(politePriority, getPriority(Number(thread))));
    } catch {
      // It has ended already, or this system doesn't allow it.
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
