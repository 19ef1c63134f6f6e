/**
 * Two builds of Sluice, or one in two set-ups, compared exactly: both run all the time, each with
 * its daemon, and take turns in bursts of a few hundredths of a second, so that the machine is the
 * same for both, fast or slow. Only the two bursts of one turn are compared with one another. Both
 * are started several times: what V8 makes of a program differs by some percent from start to
 * start.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { httpRequest } from "../load/chat-exchange.js";
import { type Build, startConfigured, twoRules } from "../peers/sluice.js";
import { providersAt, type Scenario } from "../table/scenarios.js";
import { type KeptConnections, keepConnections } from "./kept-connections.js";
import { cpuSource, cpuUsBetween, readCpu } from "./process-stat.js";
import type { RunContext } from "./rounds.js";

/** Of one build since one start, in microseconds per request. */
export interface StartMeasures {
  /** One per turn. */
  readonly cpuUs: readonly number[];
  readonly daemonUs: readonly number[];
  /** From the first burst to the last, with what was done between bursts, such as by a timer. */
  readonly wholeCpuUs: number;
  readonly wholeDaemonUs: number;
  readonly errors: number;
}

/** By the build's name, one for each start. */
export type BuildsMeasures = Readonly<Record<string, readonly StartMeasures[]>>;

export interface BuildsSize {
  readonly connections: number;
  readonly starts: number;
  /** Of each build, at each start. */
  readonly bursts: number;
  /** To each, so that V8 has compiled what it will before the first burst. */
  readonly warmUp: number;
  /** What both builds are called with. */
  readonly scenario: Scenario;
}

const requestsPerBurst = 256;

type BuildsContext = Pick<RunContext, "processes" | "dir" | "say">;

interface Contender {
  readonly name: string;
  readonly load: KeptConnections;
  readonly proxyPid: number;
  readonly daemonPid: number;
  readonly cpuUs: number[];
  readonly daemonUs: number[];
}

/** One endpoint, with two rules. */
export async function measureBuilds(
  context: BuildsContext,
  size: BuildsSize,
  builds: Readonly<Record<string, Build>>,
): Promise<BuildsMeasures> {
  // In steps of 10 ms a burst can't be measured.
  if (cpuSource() !== "schedstat")
    throw new Error("builds can't be compared: this kernel has no /proc/<pid>/schedstat");
  const measured: Record<string, StartMeasures[]> = {};
  for (const name of Object.keys(builds)) measured[name] = [];
  for (let start = 1; start <= size.starts; start++) {
    context.say(`start ${start} of ${size.starts}`);
    const dir = join(context.dir, `start-${start}`);
    mkdirSync(dir, { mode: 0o700 });
    const contenders = await startBuilds({ ...context, dir }, size, builds);
    for (const [name, measures] of await measureStart(contenders, size))
      measured[name]!.push(measures);
    await context.processes.stopAll();
  }
  return measured;
}

async function measureStart(
  contenders: readonly Contender[],
  { connections, bursts, warmUp }: BuildsSize,
): Promise<readonly (readonly [name: string, StartMeasures])[]> {
  for (let sent = 0; sent < warmUp; sent += 1000)
    for (const { load } of contenders) await load.send(1000);
  const before = contenders.map(readBoth);
  for (let turn = 0; turn < bursts; turn++) {
    const order = turn % 2 === 0 ? contenders : contenders.toReversed();
    for (const contender of order) await measureBurst(contender, connections);
  }
  const sent = bursts * (requestsPerBurst + connections);
  return contenders.map((contender, i) => {
    const after = readBoth(contender);
    const { name, load, cpuUs, daemonUs } = contender;
    const wholeCpuUs = cpuUsBetween(before[i]!.proxy, after.proxy) / sent;
    const wholeDaemonUs = cpuUsBetween(before[i]!.daemon, after.daemon) / sent;
    return [name, { cpuUs, daemonUs, wholeCpuUs, wholeDaemonUs, errors: load.errors }];
  });
}

async function measureBurst(contender: Contender, connections: number): Promise<void> {
  // Whatever waits for the next request, such as a delayed write, belongs to the pause before.
  await contender.load.send(connections);
  const before = readBoth(contender);
  await contender.load.send(requestsPerBurst);
  const after = readBoth(contender);
  contender.cpuUs.push(cpuUsBetween(before.proxy, after.proxy) / requestsPerBurst);
  contender.daemonUs.push(cpuUsBetween(before.daemon, after.daemon) / requestsPerBurst);
}

function readBoth({ proxyPid, daemonPid }: Contender) {
  return { proxy: readCpu([proxyPid], "schedstat"), daemon: readCpu([daemonPid], "schedstat") };
}

async function startBuilds(
  { processes, dir }: BuildsContext,
  { connections, scenario }: BuildsSize,
  builds: Readonly<Record<string, Build>>,
): Promise<readonly Contender[]> {
  const upstream = await processes.node(
    fileURLToPath(new URL("../peers/endpoints-upstream.js", import.meta.url)),
    [],
  );
  const providers = providersAt(upstream.url);
  const contenders: Contender[] = [];
  for (const [name, build] of Object.entries(builds)) {
    const home = join(dir, `build-${contenders.length}`);
    mkdirSync(home, { mode: 0o700 });
    const parts = { providers, rate_limits: twoRules, ...build.parts };
    const { proxy, daemon } = await startConfigured(processes, home, parts, build);
    const request = httpRequest(new URL(proxy.url).hostname, scenario.path, scenario.body);
    contenders.push({
      name,
      load: keepConnections(proxy.url, request, connections),
      proxyPid: proxy.pid,
      daemonPid: daemon.pid,
      cpuUs: [],
      daemonUs: [],
    });
  }
  return contenders;
}
