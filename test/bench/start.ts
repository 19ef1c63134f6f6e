/**
 * `npm run heavy -- bench:start`: what a start costs until the first verdict, with many rules,
 * windows and other entries; the shipped programs, in turns with those of another build on demand.
 * It prints figures and no judgement; how to read them: docs/contributing/benchmark.md.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { Command, Option } from "commander";
import { childPath, scaleRules } from "./load/scale-rules.js";
import { fillStore, type StoreSize, startBudgets } from "./load/start-stores.js";
import { cpuSource, cpuUsBetween, readCpu } from "./measure/process-stat.js";
import type { Processes } from "./measure/processes.js";
import { withProcesses } from "./measure/with-processes.js";
import { connectPeer } from "./peers/scale-peer.js";
import { type Build, buildIn, sluiceMissing } from "./peers/sluice.js";
import { atLeastOne } from "./report/describe-run.js";
import { formatTable, whole } from "./report/table.js";

const nothing: StoreSize = {
  windows: 0,
  accounts: 0,
  keys: 0,
  denials: 0,
  objects: 0,
  records: 0,
};

/** What there is at the start, besides ten rules. */
const scenarios: Readonly<Record<string, Partial<StoreSize> & { readonly rules?: number }>> = {
  nothing: {},
  rules: { rules: 100_000, windows: 1_000_000, accounts: 200_000 },
  keys: { keys: 200_000 },
  denials: { denials: 200_000 },
  objects: { objects: 200_000 },
  records: { records: 200_000 },
};

interface Options {
  readonly rounds: number;
  readonly beside?: string;
  readonly only: readonly string[];
  readonly json: boolean;
}

const options = new Command("bench:start")
  .description("Measures how long a start takes until the first verdict.")
  .option("--rounds <n>", "how often each build is started with each store", atLeastOne, 5)
  .option("--beside <dir>", "a built checkout of another version, in turns with this one")
  .option("--json", "write the rules as JSON on one line, not as YAML", false)
  .addOption(
    new Option("--only <stores...>", "measure these alone")
      .choices(Object.keys(scenarios))
      .default(Object.keys(scenarios)),
  )
  .parse()
  .opts<Options>();

/** The configuration and the store of one scenario. */
interface Place {
  readonly config: string;
  readonly socket: string;
}

/** Of one start, in ms. */
interface Start {
  readonly listeningCpuMs: number;
  readonly listeningMs: number;
  readonly verdictCpuMs: number;
  readonly verdictMs: number;
}

async function prepare(dir: string, name: string): Promise<Place> {
  const home = join(dir, name);
  mkdirSync(home, { mode: 0o700 });
  const { rules = 10, ...size } = scenarios[name]!;
  const document = {
    server: { host: "127.0.0.1", port: 0 },
    limiter: { socket: join(home, "d.sock"), data_dir: join(home, "data") },
    providers: { bench: { type: "simulator" } },
    entitlements: ["quota_templates"],
    budgets: startBudgets,
    rate_limits: scaleRules(rules),
  };
  const config = join(home, "sluice.yaml");
  writeFileSync(config, options.json ? JSON.stringify(document) : yamlOf(document));
  await fillStore(join(home, "data"), { ...nothing, ...size }, Date.now());
  return { config, socket: join(home, "d.sock") };
}

/** A value as block YAML, as people and their templates write it. */
function yamlOf(value: unknown, indent = ""): string {
  if (Array.isArray(value))
    return value
      .map((item: unknown) => `${indent}- ${yamlOf(item, `${indent}  `).trimStart()}`)
      .join("");
  if (typeof value !== "object" || value === null) return `${indent}${String(value)}\n`;
  return Object.entries(value)
    .map(([key, item]: [string, unknown]) =>
      typeof item === "object"
        ? `${indent}${key}:\n${yamlOf(item, `${indent}  `)}`
        : `${indent}${key}: ${String(item)}\n`,
    )
    .join("");
}

async function startDaemon(
  processes: Processes,
  build: Build,
  place: Place,
  end: "stopped" | "killed",
): Promise<Start> {
  const source = cpuSource();
  const cpuMs = (pid: number): number => cpuUsBetween(new Map(), readCpu([pid], source)) / 1000;
  const begun = performance.now();
  const running = await processes.node(build.daemonFile, ["--config", place.config]);
  const listening = { listeningMs: performance.now() - begun, listeningCpuMs: cpuMs(running.pid) };
  // Always the same one, so that no start waits for another that was there before.
  const peer = await connectPeer(place.socket, "bench-start");
  let verdict = { verdictMs: 0, verdictCpuMs: 0 };
  await peer.run({
    count: 1,
    inFlight: 1,
    pathOf: () => childPath(7),
    onVerdict() {
      verdict = { verdictMs: performance.now() - begun, verdictCpuMs: cpuMs(running.pid) };
    },
  });
  peer.close();
  if (end === "stopped") await processes.stop(running);
  else running.child.kill("SIGKILL");
  return { ...listening, ...verdict };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

const columns: readonly (readonly [string, keyof Start])[] = [
  ["CPU listening", "listeningCpuMs"],
  ["CPU verdict", "verdictCpuMs"],
  ["wall listening", "listeningMs"],
  ["wall verdict", "verdictMs"],
];

function cells(name: string, starts: readonly Start[]): string[] {
  const of = (key: keyof Start): number[] => starts.map((start) => start[key]);
  const verdicts = of("verdictCpuMs");
  return [
    name,
    ...columns.map(([, key]) => whole(median(of(key)))),
    `${whole(Math.min(...verdicts))} – ${whole(Math.max(...verdicts))}`,
  ];
}

const own = buildIn(join(import.meta.dirname, "..", ".."));
const builds: Readonly<Record<string, Build>> =
  options.beside === undefined
    ? { "this one": own }
    : { "the other": buildIn(join(options.beside, "dist")), "this one": own };

await withProcesses("start", async (processes, dir) => {
  for (const build of Object.values(builds)) {
    const missing = sluiceMissing(build);
    if (missing !== null) throw new Error(missing);
  }
  const load = (): string => `load ${os.loadavg()[0]!.toFixed(2)}`;
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  print(`Node ${process.versions.node}, ${os.cpus().length} × ${os.cpus()[0]?.model}, ${load()}`);
  print(
    `the daemon's start in ms, median of ${options.rounds}; last the range of CPU to a verdict`,
  );
  const lines: string[][] = [];
  for (const name of options.only) {
    const place = await prepare(dir, name);
    const starts = new Map(Object.keys(builds).map((build): [string, Start[]] => [build, []]));
    for (let round = 0; round <= options.rounds; round++) {
      for (const [build, taken] of starts) {
        // The first ones write what a configuration adds to the store and keep what they parse of
        // it; records must not be summed up by a stop. The others end as a crash ends them, so that
        // the next one finds the same.
        const end = round === 0 && name === "rules" ? "stopped" : "killed";
        const start = await startDaemon(processes, builds[build]!, place, end);
        if (round > 0) taken.push(start);
      }
    }
    for (const [build, taken] of starts)
      lines.push(cells(starts.size === 1 ? name : `${name}, ${build}`, taken));
  }
  for (const line of formatTable(["", ...columns.map(([title]) => title), ""], lines)) print(line);
  print(`${load()} after the run`);
  return 0;
});
