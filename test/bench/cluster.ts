/**
 * `npm run heavy -- bench:cluster`: daemons that share an engine beside one that doesn't, on this
 * machine. Operations of the engine and CPU for each admission, far from the cap; and how many
 * requests are refused too early, and never too late, when hosts use 99% of a cap and more. It
 * prints what it measured and holds no run to it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { engineProgram, noEngine, startEngine } from "../support/processes/start-engine.js";
import { type AdmissionPort, unattended } from "./load/admission-port.js";
import { connectDaemon } from "./load/daemon-port.js";
import { type Counted, driveAtOnce, drivePaced } from "./load/hosts-load.js";
import { measureBuilds } from "./measure/measure-builds.js";
import { cpuSource, cpuUsBetween, readCpu } from "./measure/process-stat.js";
import { createProcesses, type Processes } from "./measure/processes.js";
import { ownBuild, startSharingDaemon } from "./peers/sluice.js";
import { buildBuildsReport, formatBuilds } from "./report/builds-report.js";
import { scenarioOf } from "./table/scenarios.js";

const farCap = 1_000_000_000;
/** Daemons with and without an engine take turns, so often, for so long each. */
const { values: flags } = parseArgs({ options: { rounds: { type: "string", default: "5" } } });
const rounds = Math.max(1, Number(flags.rounds));
const seconds = 4;
/** As fast as it goes, until what is measured is compiled: a daemon lives for weeks. */
const warmSeconds = 3;
/** `perSecond`: of each host; null: as fast as it goes, which several on one machine can't. */
const phases = [
  { hosts: 1, perSecond: null },
  { hosts: 1, perSecond: 1000 },
  { hosts: 3, perSecond: 1000 },
  { hosts: 10, perSecond: 100 },
] as const;
/** Of the phase near the cap. */
const nearCap = 20_000;
const nearSeconds = 8;
const tenants = 10;

interface Site {
  readonly ports: readonly AdmissionPort[];
  readonly pids: readonly number[];
}

async function startHosts(
  processes: Processes,
  dir: string,
  {
    hosts,
    cap,
    cluster,
  }: { readonly hosts: number; readonly cap: number; readonly cluster: Cluster | null },
): Promise<Site> {
  const rules = Array.from({ length: tenants }, (_, tenant) => ({
    path: `/t${tenant}`,
    limits: [{ period: "hour", max_requests: farCap }],
  }));
  const config = {
    user_paths: [{ path: "/", limits: [{ period: "hour", max_requests: cap }] }, ...rules],
  };
  const daemons = await Promise.all(
    Array.from({ length: hosts }, (_, host) =>
      startSharingDaemon(processes, join(dir, String(host)), config, cluster),
    ),
  );
  // Hosts know of each other within a second.
  await delay(2500);
  return {
    ports: await Promise.all(daemons.map(({ socket }) => connectDaemon(socket, cap))),
    pids: daemons.map(({ daemon }) => daemon.pid),
  };
}

/** As in the configuration; each phase has counters of its own. */
interface Cluster {
  readonly url: string;
  readonly name: string;
}

interface FarPhase {
  readonly hosts: number;
  readonly perSecond: number | null;
  readonly cluster: Cluster | null;
  /** Of the engine, since its start. */
  readonly operations: () => Promise<number>;
}

interface Round {
  readonly admitted: number;
  readonly unavailable: number;
  readonly us: number;
  readonly asked: number;
}

/** Those of one phase, each round with and without an engine; and what they take at rest. */
async function measureFar(
  dir: string,
  { hosts, perSecond, cluster, operations }: FarPhase,
): Promise<readonly Variant[]> {
  const processes = createProcesses(dir);
  const driveFor = (port: AdmissionPort, forSeconds: number): Promise<Counted> =>
    perSecond === null
      ? driveAtOnce(port, forSeconds, tenants)
      : drivePaced(port, { requests: perSecond * forSeconds, seconds: forSeconds, tenants });
  const drive = (port: AdmissionPort): Promise<Counted> => driveFor(port, seconds);
  const measure = async (
    { ports, pids }: Site,
    run: (port: AdmissionPort) => Promise<Counted>,
  ): Promise<Round> => {
    const before = { cpu: readCpu(pids, cpuSource()), operations: await operations() };
    const counts = await Promise.all(ports.map(run));
    const us = cpuUsBetween(before.cpu, readCpu(pids, cpuSource()));
    return { ...sumOf(counts), us, asked: (await operations()) - before.operations };
  };
  const rest = async (): Promise<Counted> => {
    await delay(seconds * 1000);
    return nothing;
  };
  try {
    const variants: Variant[] = [];
    for (const [name, shared] of [
      ["alone", null],
      ["sharing", cluster],
    ] as const) {
      const place = join(dir, name);
      const site = await startHosts(processes, place, { hosts, cap: farCap, cluster: shared });
      // One after the other: several on one machine can't all go as fast as they could.
      for (const port of site.ports) await driveAtOnce(port, warmSeconds, tenants);
      variants.push({ name, site, rounds: [], restUs: 0 });
    }
    for (let round = 0; round < rounds; round++)
      for (const each of round % 2 === 0 ? variants : variants.toReversed()) {
        // Of a counter that was idle, hosts don't know yet how much they will need.
        await Promise.all(each.site.ports.map((port) => driveFor(port, warmSeconds)));
        each.rounds.push(await measure(each.site, drive));
      }
    // Counters are forgotten some seconds after their last use.
    await delay(7000);
    for (const each of variants)
      each.restUs = (await measure(each.site, rest)).us / seconds / hosts;
    for (const { site } of variants) leave(site);
    return variants;
  } finally {
    await processes.stopAll();
  }
}

/** Whole requests, in bursts that take turns: what differs by some percent shows in these alone. */
async function compareRequests(dir: string, url: string): Promise<readonly string[]> {
  const own = mkdtempSync(join(dir, "bursts-"));
  const processes = createProcesses(own);
  try {
    const measures = await measureBuilds(
      { processes, dir: own, say() {} },
      {
        connections: 32,
        starts: 6,
        bursts: 80,
        warmUp: 15_000,
        scenario: scenarioOf("chat"),
      },
      {
        "no engine": ownBuild,
        "an engine": { ...ownBuild, parts: { cluster: { url, name: "bursts" } } },
      },
    );
    return ["", ...formatBuilds(buildBuildsReport(measures))];
  } finally {
    await processes.stopAll();
  }
}

interface Variant {
  readonly name: string;
  readonly site: Site;
  readonly rounds: Round[];
  /** CPU of one host in a second without a request. */
  restUs: number;
}

const nothing: Counted = { admitted: 0, refused: 0, unavailable: 0 };

/** They end with the phase. */
function leave({ ports }: Site): void {
  for (const port of ports) port.events = { ...unattended, onLost() {} };
}

async function main(): Promise<void> {
  if (engineProgram === null) return say(noEngine);
  const dir = mkdtempSync(join(tmpdir(), "sluice-bench-cluster-"));
  const ends: (() => unknown)[] = [];
  const engine = await startEngine({ teardown: (end: () => unknown) => void ends.push(end) });
  const operations = async (): Promise<number> => {
    const stats = String(await engine.cli("INFO", "commandstats"));
    return ["eval", "evalsha"]
      .map((name) => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0))
      .reduce((sum, calls) => sum + calls, 0);
  };
  try {
    say(
      `Node ${process.versions.node} on ${cpus().length} × ${cpus()[0]?.model ?? "unknown"}, load ${loadavg()[0]!.toFixed(2)} before the run; ${engineProgram}`,
    );
    say(
      `\nfar from the cap: two counters for each admission, ${tenants} tenants; as many daemons without an engine take turns with those of a cluster, ${rounds} rounds of ${seconds} s each: the middle, and the range`,
    );
    for (const { hosts, perSecond } of phases) {
      const cluster = { url: engine.url, name: `far-${hosts}-${perSecond ?? 0}` };
      const own = mkdtempSync(join(dir, "far-"));
      sayFar(
        `${hosts} ${perSecond === null ? "as fast as it can" : `at ${number(perSecond)}/s each`}`,
        await measureFar(own, { hosts, perSecond, cluster, operations }),
      );
    }
    for (const line of await compareRequests(dir, engine.url)) say(line);
    for (const share of [0.99, 1.2]) {
      const processes = createProcesses(dir);
      try {
        const site = await startHosts(processes, join(dir, `near-${share}`), {
          hosts: 3,
          cap: nearCap,
          cluster: { url: engine.url, name: `near-${share}` },
        });
        const before = await operations();
        const perHost = Math.floor((nearCap * share) / site.ports.length);
        const counts = await Promise.all(
          site.ports.map((port) =>
            drivePaced(port, { requests: perHost, seconds: nearSeconds, tenants }),
          ),
        );
        leave(site);
        const { admitted, refused, unavailable } = sumOf(counts);
        const early = Math.max(0, Math.min(nearCap, admitted + refused) - admitted);
        say(
          `\n3 hosts, ${number(perHost * 3)} requests in ${nearSeconds} s at a cap of ${number(nearCap)}: ${number(admitted)} admitted, ${number(refused)} refused; ${number(early)} too early (${((early / nearCap) * 100).toFixed(2)}% of the cap), ${number(Math.max(0, admitted - nearCap))} too many; ${(((await operations()) - before) / (admitted + refused)).toFixed(3)} operations for each request${unavailable === 0 ? "" : `; ${number(unavailable)} got 503: this machine is too busy`}`,
        );
      } finally {
        await processes.stopAll();
      }
    }
  } finally {
    for (const end of ends) await end();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The middle of the rounds, and the lowest and the highest; ratios are those of each round. */
function sayFar(title: string, variants: readonly Variant[]): void {
  const [alone] = variants;
  const each = ({ us, admitted }: Round): number => us / admitted;
  say(`\n  ${title}`);
  for (const { name, rounds: own, restUs } of variants) {
    const admitted = own.reduce((sum, round) => sum + round.admitted, 0);
    const asked = own.reduce((sum, round) => sum + round.asked, 0);
    const unavailable = own.reduce((sum, round) => sum + round.unavailable, 0);
    const ratios = own.map((round, i) => each(round) / each(alone!.rounds[i]!));
    say(
      [
        `    ${name.padEnd(7)}`,
        `${number(Math.round(admitted / own.length / seconds)).padStart(8)} admissions/s`,
        `${spread(own.map(each), 1)} µs CPU each`,
        ...(name === "alone"
          ? []
          : [
              `${spread(ratios, 2)} ×`,
              `${(asked / admitted).toFixed(4)} operations each, ${number(Math.round(asked / own.length / seconds))}/s`,
            ]),
        `at rest ${(restUs / 1000).toFixed(2)} ms CPU/s a host`,
        ...(unavailable === 0 ? [] : [`${number(unavailable)} got 503: this machine is too busy`]),
      ].join("  "),
    );
  }
}

function spread(values: readonly number[], digits: number): string {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)]!;
  const [low, high] = [sorted[0]!, sorted.at(-1)!].map((value) => value.toFixed(digits));
  return `${middle.toFixed(digits)} (${low} to ${high})`;
}

function sumOf(counts: readonly Counted[]): Counted {
  const sum = (of: (count: Counted) => number): number =>
    counts.reduce((total, count) => total + of(count), 0);
  return {
    admitted: sum(({ admitted }) => admitted),
    refused: sum(({ refused }) => refused),
    unavailable: sum(({ unavailable }) => unavailable),
  };
}

function number(value: number): string {
  return value.toLocaleString("en-US");
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
process.exit(0);
