/**
 * The lines of the table of `npm run bench`: what is asked, of whom, how often. Contenders take
 * turns, since a machine's speed drifts, and only values of the same round are compared.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { BurstJob, BurstMeasured } from "../load/burst-load.js";
import { httpRequest } from "../load/chat-exchange.js";
import type { HttpJob } from "../load/http-load.js";
import { giveJob } from "../measure/job-channel.js";
import type { Phase } from "../measure/phase.js";
import { residentBytes } from "../measure/process-stat.js";
import type { Running } from "../measure/processes.js";
import { inTurn, type RunContext } from "../measure/rounds.js";
import type { Watched } from "../measure/watch-loop.js";
import type { ProviderJob, ProviderState } from "../peers/slow-provider.js";
import type { WatchProxyJob } from "../peers/watched-proxy.js";
import type { Line, Reach, TableMeasures, Values } from "../report/table-report.js";
import {
  type Contender,
  type ContenderName,
  contenderKinds,
  contenderNames,
  requestTo,
  startWatched,
} from "./contenders.js";
import { measureStarts } from "./measure-starts.js";
import { type Scenario, scenarioOf } from "./scenarios.js";

interface HttpLine {
  /** In `--only`. */
  readonly key: string;
  readonly name: string;
  readonly scenario: string;
  readonly connections: number;
  readonly ratePerSecond?: number;
  /** How many thousandths of `--warm-up` come first. */
  readonly warmUp: number;
  readonly among: readonly ContenderName[];
  readonly shows: readonly Shown[];
}

interface Shown {
  /** Beside the line's name. */
  readonly what: string;
  readonly unit: "µs" | "ms";
  readonly base: ContenderName | null;
  readonly of: (phase: Phase) => number;
  readonly atMost: number | null;
}

const all = ({ cpuUs, besideCpuUs }: Phase): number => cpuUs + besideCpuUs;
/** CPU of all processes. */
const cpu = (atMost: number | null, base: ContenderName = "undici"): Shown => ({
  what: "CPU",
  unit: "µs",
  base,
  of: all,
  atMost,
});

const forwarders = ["undici", "http-proxy", "nginx"] as const;
const sluices = ["Sluice, no limits", "Sluice"] as const;

const httpLines: readonly HttpLine[] = [
  {
    key: "chat",
    name: "chat",
    scenario: "chat",
    connections: 16,
    warmUp: 1000,
    among: contenderNames,
    shows: [
      cpu(2),
      {
        what: "CPU of the proxy",
        unit: "µs",
        base: "undici",
        of: ({ cpuUs }) => cpuUs,
        atMost: 1.5,
      },
    ],
  },
  {
    key: "paced",
    name: "chat, 200 a second",
    scenario: "chat",
    connections: 16,
    ratePerSecond: 200,
    warmUp: 0,
    among: contenderNames,
    shows: [cpu(1.7)],
  },
  {
    key: "one-client",
    name: "chat, one client",
    scenario: "chat",
    connections: 1,
    warmUp: 0,
    among: contenderNames,
    shows: [{ what: "p50", unit: "ms", base: null, of: ({ p50Us }) => p50Us / 1000, atMost: null }],
  },
  {
    key: "translated",
    name: "chat → Anthropic",
    scenario: "translated",
    connections: 16,
    warmUp: 1000,
    among: ["undici", ...sluices],
    shows: [cpu(null)],
  },
  {
    key: "passthrough",
    name: "passthrough",
    scenario: "passthrough",
    connections: 16,
    warmUp: 1000,
    among: [...forwarders, ...sluices],
    shows: [cpu(1.1, "http-proxy")],
  },
  {
    key: "stream",
    name: "stream of 200 events",
    scenario: "stream",
    connections: 16,
    warmUp: 100,
    among: contenderNames,
    shows: [cpu(1.4)],
  },
  {
    key: "translated-stream",
    name: "stream → Anthropic",
    scenario: "translated-stream",
    connections: 16,
    warmUp: 100,
    among: ["undici", ...sluices],
    shows: [cpu(2)],
  },
  {
    key: "large",
    name: "prompt of 1 MB",
    scenario: "large",
    connections: 4,
    warmUp: 15,
    among: contenderNames,
    shows: [cpu(1.8)],
  },
  {
    key: "large-translated",
    name: "prompt of 1 MB → Anthropic",
    scenario: "large-translated",
    connections: 4,
    warmUp: 15,
    among: ["undici", ...sluices],
    shows: [cpu(4)],
  },
  {
    key: "large-answer",
    name: "answer of 2 MB",
    scenario: "large-answer",
    connections: 4,
    warmUp: 15,
    among: contenderNames,
    shows: [cpu(1.4)],
  },
];

export const lineNames: readonly string[] = [
  ...httpLines.map(({ key }) => key),
  "turns",
  "burst",
  "rest",
];

export interface TableSize {
  /** Requests to each contender before a line of short requests. */
  readonly warmUp: number;
  readonly streams: number;
}

/** `wanted`: the names of lines. */
export async function measureTable(
  context: RunContext,
  { warmUp, streams }: TableSize,
  wanted: ReadonlySet<string>,
): Promise<TableMeasures> {
  const complaints: string[] = [];
  const skipped: Record<string, string> = {};
  for (const name of contenderNames) {
    const { missing } = contenderKinds[name];
    if (missing !== null) skipped[name] = missing;
  }
  const lines: Line[] = [];
  if (wanted.has("rest")) lines.push(...(await measureStarts(context, skipped)));
  const asked = httpLines.filter(({ key }) => wanted.has(key));
  if (asked.length > 0 || wanted.has("turns")) {
    const upstream = await context.processes.node(program("../peers/endpoints-upstream.js"), []);
    const contenders = await startContenders(context, contenderNames, upstream.url, skipped);
    const generator = await context.processes.node(program("../load/http-load.js"), []);
    for (const line of asked)
      lines.push(
        ...(await measureHttp(
          { context, generator, complaints, skipped, warmUp },
          line,
          contenders,
        )),
      );
    if (wanted.has("turns")) lines.push(await measureTurns(context, generator, upstream.url));
    await context.processes.stopAll();
  }
  if (wanted.has("burst"))
    lines.push(...(await measureBursts(context, { streams, skipped, complaints })));
  return { lines, skipped, complaints };
}

type Contenders = Partial<Record<ContenderName, Contender>>;

async function startContenders(
  { processes, dir, say }: RunContext,
  names: readonly ContenderName[],
  providerUrl: string,
  skipped: Record<string, string>,
): Promise<Contenders> {
  const contenders: Contenders = {};
  for (const name of names) {
    if (skipped[name] !== undefined) continue;
    say(`starting ${name}`);
    const home = join(dir, `${new URL(providerUrl).port}-${name.replaceAll(/\W+/g, "-")}`);
    mkdirSync(home, { mode: 0o700 });
    contenders[name] = await contenderKinds[name].start({ home, processes, providerUrl });
  }
  return contenders;
}

interface Measuring {
  readonly context: RunContext;
  readonly generator: Running;
  readonly complaints: string[];
  readonly skipped: Record<string, string>;
  readonly warmUp: number;
}

async function measureHttp(
  { context, generator, complaints, skipped, warmUp }: Measuring,
  line: HttpLine,
  contenders: Contenders,
): Promise<readonly Line[]> {
  const scenario = scenarioOf(line.scenario);
  const { connections, ratePerSecond } = line;
  const turns = [];
  for (const name of line.among) {
    const contender = contenders[name];
    if (contender === undefined) continue;
    const problem = await problemOf(contender, scenario);
    if (problem !== null) {
      const isOurs = name.startsWith("Sluice");
      if (isOurs) complaints.push(`${line.name}, ${name}: ${problem}`);
      else skipped[`${name}, ${line.name}`] = problem;
      continue;
    }
    const { url, pids, besidePids } = contender;
    const job = {
      ...{ url, pids, besidePids, connections },
      request: requestTo(contender, scenario).bytes,
      ...(ratePerSecond === undefined ? {} : { ratePerSecond }),
    };
    const requests = Math.ceil((line.warmUp * warmUp) / 1000);
    turns.push({
      name,
      warmUp: async () => {
        if (requests === 0) return;
        await giveJob<HttpJob, null>(generator.child, { ...job, seconds: 0, warmUp: requests });
      },
      run: (seconds: number) => giveJob<HttpJob, Phase>(generator.child, { ...job, seconds }),
    });
  }
  context.say(line.name);
  const { phases } = await inTurn(context, turns, {});
  for (const [name, its] of Object.entries(phases))
    for (const { errors, lastError } of its)
      if (errors > 0)
        complaints.push(`${line.name}, ${name}: ${errors} failed, the last with ${lastError}`);
  return line.shows.map(({ what, unit, base, of, atMost }) => ({
    name: `${line.name}, ${what}`,
    unit,
    base,
    values: Object.fromEntries(Object.entries(phases).map(([name, its]) => [name, its.map(of)])),
    reach: atMost === null ? null : { of: "Sluice", atMost },
  }));
}

/** One request by an ordinary client: what is measured must be the real thing. */
async function problemOf(contender: Contender, scenario: Scenario): Promise<string | null> {
  const { url, body } = requestTo(contender, scenario);
  const answer = await fetch(url, { method: "POST", headers: contender.headers, body });
  const text = await answer.text();
  if (answer.status !== 200) return `it answered ${answer.status}: ${text.slice(0, 300)}`;
  // A forwarder gives the provider's answer to another path.
  const isTranslated = scenario.path !== scenario.upstreamPath;
  const isOther = isTranslated && contender.pathOf(scenario) === scenario.upstreamPath;
  const missing = scenario.expected.find((part) => !isOther && !text.includes(part));
  return missing === undefined ? null : `its answer has no ${missing}: ${text.slice(0, 300)}`;
}

/** The longest turn of the proxy's event loop, amid prompts of 1 MB. */
async function measureTurns(
  context: RunContext,
  generator: Running,
  providerUrl: string,
): Promise<Line> {
  context.say("turns amid prompts of 1 MB");
  const home = join(context.dir, "turns");
  mkdirSync(home, { mode: 0o700 });
  const { processes } = context;
  const { url, proxy } = await startWatched({ home, processes, providerUrl });
  const { path, body } = scenarioOf("large");
  const request = httpRequest(new URL(url).hostname, path, body);
  const job = { url, pids: [proxy.pid], besidePids: [], request, connections: 4 };
  const turnsMs: number[] = [];
  await giveJob<HttpJob, null>(generator.child, { ...job, seconds: 0, warmUp: 400 });
  for (let round = 0; round < context.rounds; round++) {
    await giveJob<WatchProxyJob, Watched>(proxy.child, { memory: false });
    await giveJob<HttpJob, Phase>(generator.child, { ...job, seconds: context.seconds });
    const { busyMs } = await giveJob<WatchProxyJob, Watched>(proxy.child, { memory: false });
    turnsMs.push(busyMs);
  }
  return {
    name: "prompt of 1 MB, longest turn",
    unit: "ms",
    base: null,
    values: { Sluice: turnsMs },
    reach: { of: "Sluice", atMost: 5 },
  };
}

const everyMs = 500;
const events = 5;

/** Streams that begin at the same moment. */
async function measureBursts(
  context: RunContext,
  {
    streams,
    skipped,
    complaints,
  }: {
    readonly streams: number;
    readonly skipped: Record<string, string>;
    readonly complaints: string[];
  },
): Promise<readonly Line[]> {
  const { processes, rounds, say } = context;
  const provider = await processes.node(program("../peers/slow-provider.js"), [String(everyMs)]);
  const among = ["undici", "nginx", "GoModel", ...sluices] as const;
  const origin = new URL(provider.url).origin;
  const contenders = await startContenders(context, among, origin, skipped);
  const clients = await processes.node(program("../load/burst-load.js"), []);
  const values = { p50: {}, p99: {}, late: {}, held: {} } as Record<
    string,
    Record<string, number[]>
  >;
  const note = (what: string, name: string, value: number): void => {
    values[what]![name] = [...(values[what]![name] ?? []), value];
  };
  // The first one warms up.
  for (let round = 0; round <= rounds; round++)
    for (const [name, contender] of Object.entries(contenders)) {
      say(`burst ${round} of ${rounds}: ${name}`);
      const { url, pids } = contender;
      const restBytes = residentOf(pids);
      const request = requestTo(contender, scenarioOf("stream")).bytes;
      let isOver = false;
      const measuring = giveJob<BurstJob, BurstMeasured>(clients.child, {
        ...{ url, request, streams, everyMs },
      }).finally(() => {
        isOver = true;
      });
      await delay(events * everyMs);
      const heldBytes = residentOf(pids) - restBytes;
      // On a slow machine some streams begin later.
      while (!isOver) {
        await giveJob<ProviderJob, ProviderState>(provider.child, { finish: events });
        await delay(everyMs);
      }
      const { firstP50Us, firstP99Us, delayP99Us, errors } = await measuring;
      for (const [error, times] of Object.entries(errors))
        complaints.push(`burst, ${name}: ${times} × ${error}`);
      if (round === 0) {
        note("held", name, heldBytes / 1000 / streams);
        continue;
      }
      note("p50", name, firstP50Us / 1000);
      note("p99", name, firstP99Us / 1000);
      note("late", name, delayP99Us / 1000);
    }
  await processes.stopAll();
  const burst = `burst of ${streams} streams`;
  const ofSluice = (atMost: number): Reach => ({ of: "Sluice", atMost });
  return [
    line(`${burst}, first byte p50`, "ms", values["p50"]!, null),
    { ...line(`${burst}, first byte p99`, "ms", values["p99"]!, ofSluice(2)), base: "undici" },
    line(`${burst}, event late p99`, "ms", values["late"]!, ofSluice(10)),
    line(`${burst}, memory of a stream`, "kB", values["held"]!, ofSluice(30)),
  ];
}

function line(name: string, unit: Line["unit"], values: Values, reach: Reach | null): Line {
  return { name, unit, values, base: null, reach };
}

function residentOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + residentBytes(pid), 0);
}

const program = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
