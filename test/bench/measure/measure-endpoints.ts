/**
 * The parts of `npm run heavy -- bench:endpoints`: which processes run, and who takes turns with
 * whom.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  benchModel,
  benchUserPath,
  httpRequest,
  requestBody,
  requestHeaders,
  requestPath,
} from "../load/chat-exchange.js";
import type { HttpJob } from "../load/http-load.js";
import { type ConfigParts, type SluicePair, startConfigured, twoRules } from "../peers/sluice.js";
import { type PeerKind, providersAt, type Scenario } from "../report/endpoint-scenarios.js";
import { giveJob } from "./job-channel.js";
import type { Phase } from "./phase.js";
import type { Running } from "./processes.js";
import { type Contender, inTurn, type Rounds, type RunContext } from "./rounds.js";

/** One client, or as many as keep the peer busy. */
export type Level = "alone" | "loaded";

export interface ScenarioMeasures {
  readonly scenario: Scenario;
  /** By `phaseName`. */
  readonly rounds: Rounds;
}

export function phaseName(peer: PeerKind, level: Level): string {
  return `${peer} ${level}`;
}

interface Peer {
  readonly url: string;
  readonly pids: readonly number[];
  readonly besidePids: readonly number[];
}

/** Each endpoint at Sluice, with two rules, and at those that do less. */
export async function measureScenarios(
  context: RunContext,
  connections: number,
  wanted: readonly Scenario[],
): Promise<readonly ScenarioMeasures[]> {
  const { processes } = context;
  const upstream = await startProvider(context);
  const undici = await processes.node(ourProgram("../peers/undici-forwarder.js"), [upstream.url]);
  // http-proxy calls a function that newer versions of Node warn of.
  const httpProxy = await processes.node(
    ourProgram("../peers/http-proxy-forwarder.js"),
    [upstream.url],
    ["--no-deprecation"],
  );
  const pair = await startIn(context, "endpoints", {
    providers: providersAt(upstream.url),
    rate_limits: twoRules,
  });
  const peers: Readonly<Record<PeerKind, Peer>> = {
    direct: { url: upstream.url, pids: [], besidePids: [] },
    undici: { url: undici.url, pids: [undici.pid], besidePids: [] },
    "http-proxy": { url: httpProxy.url, pids: [httpProxy.pid], besidePids: [] },
    sluice: asPeer(pair),
  };
  const generator = await startGenerator(context);
  const measured: ScenarioMeasures[] = [];
  for (const scenario of wanted) {
    const missing = await checkSluice(peers.sluice, scenario);
    if (missing !== null) {
      measured.push({ scenario, rounds: { phases: {}, skipped: { [scenario.label]: missing } } });
      continue;
    }
    const contender = (kind: PeerKind, level: Level): Contender => {
      const { url, pids, besidePids } = peers[kind];
      const request = httpRequest(
        new URL(url).hostname,
        kind === "sluice" ? scenario.path : scenario.upstreamPath,
        scenario.body,
      );
      return {
        name: phaseName(kind, level),
        run: (seconds) =>
          giveJob<HttpJob, Phase>(generator.child, {
            url,
            pids,
            besidePids,
            request,
            seconds,
            connections: level === "alone" ? 1 : connections,
          }),
      };
    };
    context.say(scenario.label);
    const alone = scenario.peers.map((kind) => contender(kind, "alone"));
    const loaded = scenario.peers
      .filter((kind) => kind !== "direct")
      .map((kind) => contender(kind, "loaded"));
    measured.push({ scenario, rounds: await inTurn(context, [...alone, ...loaded], {}) });
  }
  await processes.stopAll();
  return measured;
}

const cap = 1_000_000_000;

/** What one chat completion costs Sluice as more is asked of it. */
const growing: Readonly<Record<string, Omit<ConfigParts, "providers">>> = {
  "no rules, usage off": { usage: { enabled: false }, rate_limits: { user_paths: [] } },
  "no rules, usage on": { rate_limits: { user_paths: [] } },
  "five rules, two budgets, usage on": {
    rate_limits: {
      user_paths: [
        { path: "/", limits: [{ period: "minute", max_requests: cap }] },
        { path: "/bench", limits: [{ period: "hour", max_requests: cap, max_tokens: 1000 * cap }] },
        {
          path: benchUserPath,
          limits: [
            { period: "minute", max_requests: cap, max_tokens: 1000 * cap },
            { period: "concurrent", max_requests: 100_000 },
          ],
        },
      ],
      models: [{ model: `bench/${benchModel}`, limits: [{ period: "minute", max_requests: cap }] }],
    },
    budgets: {
      user_paths: [
        { path: "/", limits: [{ period: "monthly", amount: cap }] },
        { path: "/bench", limits: [{ period: "daily", amount: cap }] },
      ],
    },
    prices: { [`bench/${benchModel}`]: { input: 2.5, output: 10 } },
  },
};

export async function measureGrowing(context: RunContext, connections: number): Promise<Rounds> {
  const upstream = await startProvider(context);
  const providers = providersAt(upstream.url);
  const pairs = new Map<string, SluicePair>();
  for (const [name, parts] of Object.entries(growing))
    pairs.set(name, await startIn(context, `growing-${pairs.size}`, { providers, ...parts }));
  return compareChat(context, connections, pairs);
}

async function compareChat(
  context: RunContext,
  connections: number,
  pairs: ReadonlyMap<string, SluicePair>,
): Promise<Rounds> {
  const generator = await startGenerator(context);
  const contenders = [...pairs].map(([name, pair]): Contender => {
    const peer = asPeer(pair);
    const request = httpRequest(new URL(peer.url).hostname, requestPath, requestBody);
    return {
      name,
      run: (seconds) =>
        giveJob<HttpJob, Phase>(generator.child, { ...peer, request, seconds, connections }),
    };
  });
  const rounds = await inTurn(context, contenders, {});
  await context.processes.stopAll();
  return rounds;
}

/**
 * One request by an ordinary client. Null: it is the real thing; a text: this build doesn't offer
 * it.
 */
async function checkSluice(
  peer: Peer,
  { label, path, body, expected }: Scenario,
): Promise<string | null> {
  const response = await fetch(`${peer.url}${path}`, {
    method: "POST",
    headers: requestHeaders,
    body,
  });
  const text = await response.text();
  if (response.status === 404 && text.includes("unknown API endpoint"))
    return "this build doesn't have it";
  if (response.status !== 200)
    throw new Error(`${label}: Sluice answered ${response.status}: ${text.slice(0, 300)}`);
  for (const part of expected)
    if (!text.includes(part))
      throw new Error(`${label}: Sluice's answer has no ${part}: ${text.slice(0, 300)}`);
  if (!response.headers.has("x-ratelimit-limit-tokens"))
    throw new Error(
      `${label}: the answer has no x-ratelimit-limit-tokens: the rules aren't in force`,
    );
  return null;
}

function startProvider({ processes }: RunContext): Promise<Running> {
  return processes.node(ourProgram("../peers/endpoints-upstream.js"), []);
}

function startGenerator({ processes }: RunContext): Promise<Running> {
  return processes.node(ourProgram("../load/http-load.js"), []);
}

function startIn(context: RunContext, name: string, parts: ConfigParts): Promise<SluicePair> {
  const dir = join(context.dir, name);
  mkdirSync(dir, { mode: 0o700 });
  return startConfigured(context.processes, dir, parts);
}

function asPeer({ daemon, proxy }: SluicePair): Peer {
  return { url: proxy.url, pids: [proxy.pid], besidePids: [daemon.pid] };
}

function ourProgram(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}
