/**
 * How soon each contender gives its first answer after its start, what memory it takes at rest and
 * after a load, and how long `sluice status` takes. Each runs alone.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { programPath } from "../../support/processes/program-path.js";
import type { HttpJob } from "../load/http-load.js";
import { giveJob } from "../measure/job-channel.js";
import type { Phase } from "../measure/phase.js";
import { memoryOf } from "../measure/process-stat.js";
import type { Processes, Running } from "../measure/processes.js";
import type { RunContext } from "../measure/rounds.js";
import { twoRules } from "../peers/sluice.js";
import type { Line } from "../report/table-report.js";
import {
  type Contender,
  type ContenderName,
  contenderKinds,
  contenderNames,
  requestTo,
  type Setting,
  startPair,
  startUp,
} from "./contenders.js";
import { scenarioOf } from "./scenarios.js";

/** After the start, before memory is read. */
const restSeconds = 10;
/** The same after the load: a service looks every 30 s whether it is idle. */
const restAfterLoadSeconds = 65;
const retryMs = 5;
const connections = 16;

interface Measured {
  readonly firstMs: Record<string, number[]>;
  readonly restMb: Record<string, number[]>;
  readonly loadedMb: Record<string, number[]>;
  readonly statusMs: number[];
}

export async function measureStarts(
  context: RunContext,
  skipped: Readonly<Record<string, string>>,
): Promise<readonly Line[]> {
  const { dir, rounds, say } = context;
  const upstream = await context.processes.node(program("../peers/endpoints-upstream.js"), []);
  const generator = await context.processes.node(program("../load/http-load.js"), []);
  const measured: Measured = { firstMs: {}, restMb: {}, loadedMb: {}, statusMs: [] };
  const processes = withOwnNode(context);
  for (let round = 1; round <= rounds; round++)
    for (const name of contenderNames) {
      if (skipped[name] !== undefined) continue;
      say(`start ${round} of ${rounds}: ${name}`);
      const home = join(dir, `start-${round}-${name.replaceAll(/\W+/g, "-")}`);
      mkdirSync(home, { mode: 0o700 });
      const startedAt = performance.now();
      const contender = await starterOf(name)({ home, processes, providerUrl: upstream.url });
      await untilAnswered(contender);
      const firstMs = performance.now() - startedAt;
      measured.firstMs[name] = [...(measured.firstMs[name] ?? []), firstMs];
      if (name === "Sluice") measured.statusMs.push(timeStatus(processes, home));
      if (round === rounds) await measureMemory(context, { name, contender, generator }, measured);
      await contender.stop();
    }
  await context.processes.stopAll();
  const of = (name: string, values: Record<string, number[]>, reach: Line["reach"]): Line => ({
    ...{ name, values, reach, base: null },
    unit: name.startsWith("memory") ? "MB" : "ms",
  });
  const ofSluice = (atMost: number): Line["reach"] => ({ of: "Sluice", atMost });
  return [
    of("memory at rest", measured.restMb, ofSluice(110)),
    {
      ...of("memory at rest, proxy and daemon alone", {}, { of: "Sluice, no limits", atMost: 85 }),
      values: { "Sluice, no limits": measured.restMb["Sluice, no limits"] ?? [] },
    },
    of("memory after a load", measured.loadedMb, ofSluice(160)),
    of("start to the first answer", measured.firstMs, ofSluice(450)),
    { ...of("start ÷ undici's", measured.firstMs, ofSluice(2)), base: "undici" },
    of("sluice status", { Sluice: measured.statusMs }, ofSluice(120)),
  ];
}

/** An open gateway: the first answer needs no key. */
function starterOf(name: ContenderName): (setting: Setting) => Promise<Contender> {
  if (name === "Sluice") return (setting) => startUp(setting, false);
  if (name === "Sluice, no limits")
    return (setting) => startPair(setting, { rate_limits: twoRules });
  return contenderKinds[name].start;
}

/**
 * A copy of Node of their own: a page that is shared with the processes of the benchmark would
 * count in part only. The variable is as in the units of systemd.
 */
function withOwnNode({ processes, dir }: RunContext): Processes {
  const execPath = join(dir, "node");
  copyFileSync(process.execPath, execPath);
  return {
    ...processes,
    execPath,
    node: (file, args, nodeFlags = []) =>
      processes.node(file, args, nodeFlags, { execPath, env: { ["MALLOC_ARENA_MAX"]: "1" } }),
  };
}

async function measureMemory(
  { seconds }: RunContext,
  {
    name,
    contender,
    generator,
  }: { readonly name: string; readonly contender: Contender; readonly generator: Running },
  { restMb, loadedMb }: Measured,
): Promise<void> {
  const { url, pids, besidePids } = contender;
  const megabytes = (): number[] => [memoryOf([...pids, ...besidePids]).ownBytes / 1e6];
  await delay(restSeconds * 1000);
  restMb[name] = megabytes();
  const request = requestTo(contender, scenarioOf("chat")).bytes;
  await giveJob<HttpJob, Phase>(generator.child, {
    ...{ url, pids, besidePids, seconds, connections, request },
  });
  await delay(restAfterLoadSeconds * 1000);
  loadedMb[name] = megabytes();
}

async function untilAnswered(contender: Contender): Promise<void> {
  const { url, body } = requestTo(contender, scenarioOf("chat"));
  const { headers } = contender;
  for (;;) {
    const answer = await fetch(url, { method: "POST", headers, body }).catch(() => null);
    await answer?.arrayBuffer();
    if (answer?.status === 200) return;
    await delay(retryMs);
  }
}

/** `sluice status` of the gateway whose directory this is. */
function timeStatus({ execPath }: Processes, home: string): number {
  const args = [programPath("sluice"), "--config", join(home, "sluice.yaml"), "status"];
  const startedAt = performance.now();
  execFileSync(execPath, args, { stdio: "ignore", env: { PATH: process.env["PATH"] } });
  return performance.now() - startedAt;
}

const program = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
