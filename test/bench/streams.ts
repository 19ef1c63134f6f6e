/**
 * `npm run heavy -- bench:streams`: thousands of slow streams at once through one proxy. What each
 * costs in memory, how long the proxy's event loop stalls, and whether every slot is given back,
 * however the streams end. It exits 0 whatever the figures are; how to read them:
 * docs/contributing/benchmark.md.
 */
import { mkdirSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { connectDaemon } from "../../shared/wire/daemon-client.js";
import type { StreamsEnded } from "../support/providers/slow-streams.js";
import type { StreamJob } from "./load/stream-load.js";
import { giveJob } from "./measure/job-channel.js";
import type { Processes, Running } from "./measure/processes.js";
import type { Watched } from "./measure/watch-loop.js";
import { withProcesses } from "./measure/with-processes.js";
import type { ProviderJob, ProviderState } from "./peers/slow-provider.js";
import { buildIn, socketIn, writeConfig } from "./peers/sluice.js";
import type { WatchProxyJob } from "./peers/watched-proxy.js";
import { atLeastOne } from "./report/describe-run.js";
import { formatTable } from "./report/table.js";

const options = new Command("bench:streams")
  .description("Measures the proxy with thousands of slow streams.")
  .option("--streams <n>", "streams at once", atLeastOne, 2000)
  .option("--seconds <n>", "how long each is held", atLeastOne, 20)
  .option("--per-turn <n>", "streams that begin each 10 ms", atLeastOne, 20)
  .option("--prompt <bytes>", "the size of each prompt", atLeastOne, 2)
  .parse()
  .opts<{ streams: number; seconds: number; perTurn: number; prompt: number }>();

const eventEveryMs = 1000;
const settleDeadlineMs = 10_000;

interface Setting {
  readonly processes: Processes;
  readonly proxy: Running;
  readonly clients: Running;
  /** Requests in flight, as the daemon counts them. */
  inFlight(): Promise<number>;
}

const rows: string[][] = [];
const print = (text: string): void => void process.stdout.write(`${text}\n`);
const fixed = (value: number, digits = 1): string => value.toFixed(digits);

function watch({ proxy }: Setting, memory = false): Promise<Watched> {
  return giveJob<WatchProxyJob, Watched>(proxy.child, { memory });
}

function load({ clients }: Setting, job: StreamJob): Promise<StreamsEnded | null> {
  return giveJob<StreamJob, StreamsEnded | null>(clients.child, job);
}

function ask(provider: Running, job: ProviderJob = {}): Promise<ProviderState> {
  return giveJob<ProviderJob, ProviderState>(provider.child, job);
}

/** One line of the table: what the proxy's loop did meanwhile. */
async function stage<T>(setting: Setting, name: string, run: () => Promise<T>): Promise<T> {
  await watch(setting);
  const begun = performance.now();
  const result = await run();
  const tookMs = performance.now() - begun;
  const { stallMs, busyMs, calmBusyMs } = await watch(setting);
  rows.push([
    name,
    `${fixed(tookMs, 0)}`,
    fixed(busyMs),
    fixed(calmBusyMs),
    fixed(stallMs),
    String(await setting.inFlight()),
  ]);
  return result;
}

async function atRest({ inFlight }: Setting, expected: number): Promise<void> {
  const deadline = performance.now() + settleDeadlineMs;
  while ((await inFlight()) !== expected) {
    if (performance.now() > deadline)
      throw new Error(`${await inFlight()} requests are in flight, not ${expected}`);
    await delay(5);
  }
}

function expectEnded(ended: StreamsEnded | null, expected: Partial<StreamsEnded>): void {
  const wanted = { complete: 0, cut: 0, wrong: 0, refused: 0, left: 0, ...expected };
  if (JSON.stringify(ended) !== JSON.stringify(wanted))
    throw new Error(
      `the streams ended as ${JSON.stringify(ended)}, not as ${JSON.stringify(wanted)}`,
    );
}

async function measure(setting: Setting, provider: Running): Promise<void> {
  const { proxy, processes } = setting;
  const { streams, seconds, perTurn } = options;
  const open = { kind: "open", url: proxy.url, streams, perTurn } as const;
  const finish = async (): Promise<StreamsEnded | null> => {
    await ask(provider, { finish: 1 });
    return load(setting, { kind: "end" });
  };

  // Code and heap warm up with streams of one event.
  for (let i = 0; i < 2; i++) {
    await load(setting, open);
    expectEnded(await finish(), { complete: streams });
  }
  await atRest(setting, 0);
  await delay(2000);
  const before = await watch(setting, true);

  await stage(setting, `${streams} streams begin`, () => load(setting, open));
  await atRest(setting, streams);
  await stage(setting, `an event each second for ${seconds} s`, () => delay(seconds * 1000));
  const grown = await watch(setting);
  const live = await watch(setting, true);
  expectEnded(await stage(setting, "all end", finish), { complete: streams });
  await stage(setting, "until every slot is free", () => atRest(setting, 0));

  await stage(setting, `${streams} streams begin`, () => load(setting, open));
  await delay((seconds * 1000) / 2);
  const leaving = Math.floor(streams / 2);
  await stage(setting, `${leaving} clients leave, until their slots are free`, async () => {
    await load(setting, { kind: "leave", streams: leaving });
    await atRest(setting, streams - leaving);
  });
  await delay(eventEveryMs);
  const upstreams = (await ask(provider)).open;
  expectEnded(await stage(setting, "the others end", finish), {
    complete: streams - leaving,
    left: leaving,
  });
  await stage(setting, "until every slot is free", () => atRest(setting, 0));

  await stage(setting, `${streams} streams begin`, () => load(setting, open));
  await delay((seconds * 1000) / 2);
  await stage(setting, "the provider is killed, until every slot is free", async () => {
    provider.child.kill("SIGKILL");
    expectEnded(await load(setting, { kind: "end" }), { cut: streams });
    await atRest(setting, 0);
  });
  await delay(2000);
  const after = await watch(setting, true);

  const liveBytes = (watched: Watched): number => watched.heapBytes + watched.bufferBytes;
  print(
    formatTable(
      ["", "took ms", "longest turn, CPU ms", "beside collections", "by the clock", "in flight"],
      rows,
    ).join("\n"),
  );
  print(
    `\nMemory of the proxy\n${formatTable(null, [
      [
        "at rest before",
        `${fixed(liveBytes(before) / 1e6)} MB live`,
        `${fixed(before.rssBytes / 1e6, 0)} MB of RSS`,
      ],
      [
        `with ${streams} streams`,
        `${fixed(liveBytes(live) / 1e6)} MB live`,
        `${fixed(grown.rssBytes / 1e6, 0)} MB of RSS, ${fixed(live.rssBytes / 1e6, 0)} after a collection`,
      ],
      [
        "at rest afterwards",
        `${fixed(liveBytes(after) / 1e6)} MB live`,
        `${fixed(after.rssBytes / 1e6, 0)} MB of RSS`,
      ],
      [
        "per stream",
        `${fixed((liveBytes(live) - liveBytes(before)) / streams / 1000)} kB live`,
        `${fixed((grown.rssBytes - before.rssBytes) / streams / 1000)} kB of RSS`,
      ],
    ]).join("\n")}`,
  );
  print(`\nWhen ${leaving} clients had left, ${upstreams} streams were open at the provider.`);
  await processes.stop(proxy);
}

await withProcesses("streams", async (processes, dir) => {
  const cpus = os.cpus();
  print(
    `Sluice with ${options.streams} streams of prompts of ${options.prompt} bytes, ${new Date().toISOString()}\nNode ${process.versions.node} on ${cpus.length} × ${cpus[0]?.model.trim()}, Linux ${os.release()}, load ${fixed(os.loadavg()[0] ?? 0, 2)} before the run\n`,
  );
  const program = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
  const provider = await processes.node(program("./peers/slow-provider.js"), [
    String(eventEveryMs),
  ]);
  const home = join(dir, "sluice");
  mkdirSync(home, { mode: 0o700 });
  const config = writeConfig(home, {
    providers: { test: { type: "openai", base_url: provider.url, api_key: "none", models: ["*"] } },
    rate_limits: {
      user_paths: [
        {
          path: "/",
          limits: [
            { period: "day", max_requests: 1_000_000_000, max_tokens: 1_000_000_000 },
            { period: "concurrent", max_requests: options.streams },
          ],
        },
      ],
    },
  });
  await processes.node(buildIn(program("../..")).daemonFile, ["--config", config]);
  const proxy = await processes.node(program("./peers/watched-proxy.js"), ["--config", config]);
  const clients = await processes.node(program("./load/stream-load.js"), [String(options.prompt)]);
  const daemon = await connectDaemon({ socketPath: socketIn(home) });
  const inFlight = async (): Promise<number> => {
    const answer = await daemon.call("rate-limits.list", { after: null });
    if (!answer.ok) throw new Error(answer.failure.message);
    const { rate_limits: rules } = answer.body as {
      rate_limits: readonly { period_seconds: number; in_flight: number }[];
    };
    return rules.find((rule) => rule.period_seconds === 0)!.in_flight;
  };
  await measure({ processes, proxy, clients, inFlight }, provider);
  daemon.close();
  print(`load ${fixed(os.loadavg()[0] ?? 0, 2)} after the run`);
  return 0;
});
