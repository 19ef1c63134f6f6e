/** What the processes of the soak hold, read every few seconds: memory, descriptors, sizes. */
import { readdirSync } from "node:fs";
import http from "node:http";
import type { DaemonStatus } from "../../../shared/api/gateway-status.js";
import { readCpu, residentBytes } from "../measure/process-stat.js";
import { type Gateway, master } from "./gateway.js";
import { type LiveMemory, ownBytes } from "./live-memory.js";

export interface ProcessSample {
  readonly atS: number;
  readonly name: string;
  readonly pid: number;
  readonly residentBytes: number;
  /** Without the pages of files, such as the store's, which is mapped. */
  readonly ownBytes: number;
  readonly files: number;
  readonly cpuMs: number;
}

export interface DaemonSample {
  readonly atS: number;
  readonly pid: number;
  readonly status: DaemonStatus;
}

/** V8's heap of a proxy. */
export interface HeapSample {
  readonly atS: number;
  readonly proxy: string;
  readonly startedAtS: number;
  readonly heapBytes: number;
}

export class Samples {
  readonly processes: ProcessSample[] = [];
  readonly daemon: DaemonSample[] = [];
  readonly heaps: HeapSample[] = [];
  /** After a collection: when memory begins to be watched, and at the end of that. */
  readonly live: (readonly LiveMemory[])[] = [];
  /** Questions that weren't answered, as while the daemon starts. */
  unanswered = 0;

  async take(gateway: Gateway, atS: number, beside: ReadonlyMap<string, number>): Promise<void> {
    for (const [name, pid] of [...gateway.processes(), ...beside]) {
      const sample = processSample(pid);
      if (sample !== null) this.processes.push({ atS, name, pid, ...sample });
    }
    try {
      const status = (await gateway.admin("GET /status")) as unknown as DaemonStatus;
      this.daemon.push({ atS, pid: status.pid, status });
      for (const heap of heapsIn(await readMetrics(gateway.url))) this.heaps.push({ atS, ...heap });
    } catch {
      // The daemon is just dead, or the proxy that was asked.
      this.unanswered++;
    }
  }

  /** Of the process that has this name last. */
  latestLife(name: string): readonly ProcessSample[] {
    const all = this.processes.filter((sample) => sample.name === name);
    return all.filter(({ pid }) => pid === all.at(-1)!.pid);
  }
}

function processSample(pid: number): Omit<ProcessSample, "atS" | "name" | "pid"> | null {
  try {
    const cpuNs = [...readCpu([pid], "schedstat").values()].reduce((sum, ns) => sum + ns, 0);
    return {
      residentBytes: residentBytes(pid),
      ownBytes: ownBytes(pid),
      files: readdirSync(`/proc/${pid}/fd`).length,
      cpuMs: cpuNs / 1e6,
    };
  } catch {
    // It has ended meanwhile.
    return null;
  }
}

async function readMetrics(url: string): Promise<string> {
  return new Promise<string>((resolve, reject) => {
    // A connection of its own, which no proxy has closed meanwhile.
    const options = { agent: false, headers: { authorization: `Bearer ${master}` } };
    const request = http.get(`${url}/metrics`, options, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (piece: string) => (body += piece));
      response.on("error", reject);
      response.on("end", () => resolve(body));
    });
    request.on("error", reject);
  });
}

/** Of each proxy that a scrape tells of: several proxies say which of them it is by a label. */
export function heapsIn(metrics: string): readonly Omit<HeapSample, "atS">[] {
  const valuesOf = (name: string): ReadonlyMap<string, number> =>
    new Map(
      [...metrics.matchAll(new RegExp(`^${name}(?:\\{proxy="([^"]*)"\\})? (\\S+)$`, "gm"))].map(
        ([, proxy = "", value]) => [proxy, Number(value)],
      ),
    );
  const starts = valuesOf("process_start_time_seconds");
  return [...valuesOf("nodejs_heap_size_used_bytes")].map(([proxy, heapBytes]) => ({
    ...{ proxy, heapBytes },
    startedAtS: starts.get(proxy) ?? Number.NaN,
  }));
}
