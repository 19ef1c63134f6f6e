/** What the processes of the soak hold, read every few seconds: memory, descriptors, sizes. */
import { readdirSync, readFileSync } from "node:fs";
import http from "node:http";
import type { DaemonStatus } from "../../../shared/api/gateway-status.js";
import { readCpu, residentBytes } from "../measure/process-stat.js";
import { type Gateway, master } from "./gateway.js";

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

/** V8's heap of one of the proxies, whichever the scrape has met. */
export interface HeapSample {
  readonly atS: number;
  readonly startedAtS: number;
  readonly heapBytes: number;
}

export class Samples {
  readonly processes: ProcessSample[] = [];
  readonly daemon: DaemonSample[] = [];
  readonly heaps: HeapSample[] = [];
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
      const heap = await readHeap(gateway.url);
      this.heaps.push({ atS, ...heap });
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
    const own = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    const cpuNs = [...readCpu([pid], "schedstat").values()].reduce((sum, ns) => sum + ns, 0);
    return {
      residentBytes: residentBytes(pid),
      ownBytes: Number(own![1]) * 1024,
      files: readdirSync(`/proc/${pid}/fd`).length,
      cpuMs: cpuNs / 1e6,
    };
  } catch {
    // It has ended meanwhile.
    return null;
  }
}

async function readHeap(url: string): Promise<{ startedAtS: number; heapBytes: number }> {
  const text = await new Promise<string>((resolve, reject) => {
    // A connection of its own, and so any of the proxies.
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
  const value = (name: string): number =>
    Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? Number.NaN);
  return {
    startedAtS: value("process_start_time_seconds"),
    heapBytes: value("nodejs_heap_size_used_bytes"),
  };
}
