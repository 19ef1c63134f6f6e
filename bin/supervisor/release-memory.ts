/**
 * Returns memory to the system once a service is idle. V8 keeps the space that a load has needed:
 * without allocations it collects nothing.
 */
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

interface ReleasePorts {
  /** The CPU time that this process has used. */
  readonly cpuMs: () => number;
  readonly heap: () => HeapSize;
  readonly collect: () => void;
  /** Runs `run` every `ms`; returns a function that stops it. */
  readonly every: (ms: number, run: () => void) => () => void;
}

interface HeapSize {
  /** Taken from the system. */
  readonly takenBytes: number;
  readonly usedBytes: number;
}

/** Not sooner than V8 itself: after a collection the code for requests must be optimized again. */
const lookMs = 30_000;
/** With less CPU in `lookMs` a service is idle. */
const idleCpuMs = 300;
/** The least that a collection must be worth. */
const unusedBytesMin = 8 * 1024 * 1024;
/** A collection stops the process for half a millisecond per megabyte in use. */
const usedBytesMax = 48 * 1024 * 1024;

export function releaseWhenIdle({ cpuMs, heap, collect, every }: ReleasePorts): () => void {
  let lastCpuMs = cpuMs();
  /** The bytes that V8 keeps after any collection. */
  let keptBytes = 0;
  const unusedBytes = ({ takenBytes, usedBytes }: HeapSize): number => takenBytes - usedBytes;
  return every(lookMs, () => {
    const spentMs = cpuMs() - lastCpuMs;
    lastCpuMs += spentMs;
    const size = heap();
    const isWorthIt =
      size.usedBytes <= usedBytesMax && unusedBytes(size) - keptBytes >= unusedBytesMin;
    if (spentMs >= idleCpuMs || !isWorthIt) return;
    collect();
    keptBytes = unusedBytes(heap());
  });
}

export function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

export function heapSize(): HeapSize {
  const { total_heap_size: takenBytes, used_heap_size: usedBytes } = getHeapStatistics();
  return { takenBytes, usedBytes };
}

/** Collects all garbage. Only a new context gets the function of a flag that is set later. */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc()");
}
