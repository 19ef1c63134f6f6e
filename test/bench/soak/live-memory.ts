/**
 * What a process still holds once V8 has collected its garbage, which it does the later the more
 * memory the machine has: until then a process that leaks nothing grows, too.
 */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { liveHeapBytes } from "../../support/memory/live-heap.js";

export interface LiveMemory {
  readonly name: string;
  readonly pid: number;
  /** Of JavaScript, with its buffers. */
  readonly heapBytes: number;
  /** All but the pages of files. */
  readonly ownBytes: number;
}

/** Node opens its inspector there when it gets SIGUSR1. */
const inspector = "http://127.0.0.1:9229/json/list";
const openMs = 5_000;
/** In which freed pages go back to the system. */
const returnMs = 2_000;

/** Of each of these processes by its name, one after the other: they share a port. */
export async function readLiveMemory(
  processes: ReadonlyMap<string, number>,
): Promise<readonly LiveMemory[]> {
  const read: LiveMemory[] = [];
  for (const [name, pid] of processes) {
    process.kill(pid, "SIGUSR1");
    const heapBytes = await liveHeapBytes(await debuggerUrl(), { pid, closes: true });
    await delay(returnMs);
    read.push({ name, pid, heapBytes, ownBytes: ownBytes(pid) });
  }
  return read;
}

/** Without the pages of files, such as the store's, which is mapped. */
export function ownBytes(pid: number): number {
  const own = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(own![1]) * 1024;
}

async function debuggerUrl(): Promise<string> {
  const until = performance.now() + openMs;
  while (performance.now() < until) {
    // It isn't open yet.
    const targets = await fetch(inspector).then(targetsIn, () => []);
    if (targets[0] !== undefined) return targets[0].webSocketDebuggerUrl;
    await delay(50);
  }
  throw new Error(`nothing answers at ${inspector}`);
}

interface Target {
  readonly webSocketDebuggerUrl: string;
}

async function targetsIn(answer: Response): Promise<readonly Target[]> {
  return (await answer.json()) as readonly Target[];
}
