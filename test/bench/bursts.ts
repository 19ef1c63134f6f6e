/**
 * `npm run heavy -- bench:bursts`: a thousand streams that begin at the same moment, through Sluice
 * and through the undici forwarder in turns. How to read it: docs/contributing/benchmark.md.
 */
import { mkdirSync, readFileSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import type { BurstJob, BurstMeasured } from "./load/burst-load.js";
import { giveJob } from "./measure/job-channel.js";
import { cpuSource, cpuUsBetween, readCpu } from "./measure/process-stat.js";
import type { Running } from "./measure/processes.js";
import { withProcesses } from "./measure/with-processes.js";
import type { ProviderJob, ProviderState } from "./peers/slow-provider.js";
import { startConfigured, twoRules } from "./peers/sluice.js";
import { atLeastOne } from "./report/describe-run.js";
import { formatTable } from "./report/table.js";

const options = new Command("bench:bursts")
  .description("Measures a burst of streams through Sluice and the undici forwarder.")
  .option("--streams <n>", "streams of a burst", atLeastOne, 1000)
  .option("--rounds <n>", "bursts of each", atLeastOne, 5)
  .parse()
  .opts<{ streams: number; rounds: number }>();

const everyMs = 500;
const events = 5;

const program = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const fixed = (value: number): string => value.toFixed(1);

function rssBytes(pid: number): number {
  return 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]);
}

await withProcesses("bursts", async (processes, dir) => {
  const provider = await processes.node(program("./peers/slow-provider.js"), [String(everyMs)]);
  // The forwarder adds the path of the request to an address without one.
  const origin = new URL(provider.url).origin;
  const forwarder = await processes.node(program("./peers/undici-forwarder.js"), [origin]);
  const home = join(dir, "sluice");
  mkdirSync(home, { mode: 0o700 });
  const { proxy } = await startConfigured(processes, home, {
    providers: { test: { type: "openai", base_url: provider.url, api_key: "none", models: ["*"] } },
    rate_limits: twoRules,
  });
  const clients = await processes.node(program("./load/burst-load.js"), []);
  const source = cpuSource();
  const rows: string[][] = [];
  let failed = 0;

  async function burst(name: string, peer: Running): Promise<void> {
    const { streams } = options;
    const cpuBefore = readCpu([peer.pid], source);
    const restBytes = rssBytes(peer.pid);
    const job = { url: peer.url, streams, everyMs };
    let isOver = false;
    const measuring = giveJob<BurstJob, BurstMeasured>(clients.child, job).finally(() => {
      isOver = true;
    });
    await delay(events * everyMs);
    const heldBytes = rssBytes(peer.pid) - restBytes;
    // On a slow machine some streams begin later.
    while (!isOver) {
      await giveJob<ProviderJob, ProviderState>(provider.child, { finish: events });
      await delay(everyMs);
    }
    const { firstP50Us, firstP99Us, delayP99Us, errors } = await measuring;
    const cpuUs = cpuUsBetween(cpuBefore, readCpu([peer.pid], source));
    const errorTexts = Object.entries(errors).map(([error, times]) => `${times} × ${error}`);
    failed += errorTexts.length;
    rows.push([
      name,
      fixed(firstP50Us / 1000),
      fixed(firstP99Us / 1000),
      fixed(delayP99Us / 1000),
      fixed(cpuUs / streams),
      fixed(heldBytes / 1000 / streams),
      errorTexts.join(", ") || "0",
    ]);
    await delay(everyMs);
  }

  for (let round = 0; round < options.rounds; round++) {
    await burst("undici forwarder", forwarder);
    await burst("Sluice", proxy);
  }
  const head = ["", "first p50 ms", "p99", "event late p99 ms", "CPU µs/stream", "kB", "errors"];
  process.stdout.write(
    `${options.streams} streams at once, load ${os.loadavg()[0]!.toFixed(2)} after the run\n${formatTable(head, rows).join("\n")}\n`,
  );
  return failed === 0 ? 0 : 1;
});
