/**
 * `npm run bench`: measures Sluice beside its peers in one run and prints both, with the ratios that
 * hold on other machines too. It exits 0 whatever the figures say, and 1 only when Sluice couldn't
 * be measured. How to read it: docs/benchmark.md.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import { join } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { formatReport } from "./format-report.js";
import { findProgram, programVersion } from "./installed-peers.js";
import { measureDaemon } from "./measure-daemon.js";
import { measureProxy } from "./measure-proxy.js";
import { cpuSource } from "./process-stat.js";
import { createProcesses } from "./processes.js";
import { buildReport, type Head, type Report } from "./report.js";
import type { RunContext } from "./rounds.js";

interface Options {
  readonly json: boolean;
  readonly seconds: number;
  readonly rounds: number;
  readonly connections: number;
  readonly only?: "proxy" | "daemon";
}

function readOptions(): Options {
  return new Command("bench")
    .description("Measures Sluice beside its peers, in one run.")
    .option("--json", "print the report as JSON", false)
    .option("--seconds <n>", "length of each measured phase", atLeastOne, 3)
    .option("--rounds <n>", "how often the peers take turns", atLeastOne, 5)
    .option("--connections <n>", "connections of the HTTP part", atLeastOne, 32)
    .addOption(new Option("--only <part>", "measure one part alone").choices(["proxy", "daemon"]))
    .parse()
    .opts<Options>();
}

function atLeastOne(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError("It must be a whole number from 1 up.");
  return value;
}

async function run(options: Options, context: RunContext): Promise<Report> {
  const head = describeRun(options);
  const proxy = options.only === "daemon" ? null : await measureProxy(context, options.connections);
  const daemon = options.only === "proxy" ? null : await measureDaemon(context);
  return buildReport(head, proxy, daemon);
}

function describeRun({ rounds, seconds, connections }: Options): Head {
  const cpus = os.cpus();
  const require = createRequire(import.meta.url);
  const ofPackage = (name: string): string => (require(`${name}/package.json`) as { version: string }).version;
  const versions: Record<string, string> = { "undici": ofPackage("undici"), "http-proxy": ofPackage("http-proxy") };
  for (const [name, program, flag] of [["nginx", "nginx", "-v"], ["Redis", "redis-server", "--version"]] as const) {
    const file = findProgram(program);
    if (file !== null) versions[name] = programVersion(file, flag);
  }
  return {
    date: new Date().toISOString(), node: process.versions.node, cpu: cpus[0]?.model.trim() ?? "unknown CPU", cores: cpus.length, kernel: os.release(), loadBefore: os.loadavg()[0] ?? 0,
    cpuSource: `/proc (${cpuSource()})`, rounds, seconds, connections, versions,
  };
}

const options = readOptions();
const dir = mkdtempSync(join(os.tmpdir(), "sluice-bench-"));
const processes = createProcesses(dir);

async function clearAway(): Promise<void> {
  await processes.stopAll();
  rmSync(dir, { recursive: true, force: true });
}

const interruption = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    interruption.abort();
    void clearAway().finally(() => process.exit(130));
  });
}

try {
  const report = await run(options, { processes, dir, seconds: options.seconds, rounds: options.rounds, say: (line) => process.stderr.write(`${line}\n`) });
  process.stdout.write(`${options.json ? JSON.stringify(report, null, 2) : formatReport(report)}\n`);
  const isMeasured = report.skipped["sluice"] === undefined && report.skipped["daemon"] === undefined;
  process.exitCode = isMeasured ? 0 : 1;
} catch (error) {
  // Whoever interrupts a run knows why it ended.
  if (!interruption.signal.aborted) process.stderr.write(`the benchmark couldn't run: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await clearAway();
}
