/**
 * Real processes under load, of which one is killed with SIGKILL every few seconds, drawn by the
 * seed. At the end what the daemon has counted is compared with what the providers have served.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { giveJob } from "../bench/measure/job-channel.js";
import type { Processes, Running } from "../bench/measure/processes.js";
import { startClients } from "../bench/overshoot/clients.js";
import type { ProviderJob } from "../bench/overshoot/provider.js";
import type { Served } from "../bench/overshoot/work.js";
import { ownBuild, writeConfig } from "../bench/peers/sluice.js";
import { createRandom } from "../sim/random.js";
import { agesSeconds } from "../support/ages.js";
import { ruleNow } from "../support/client.js";
import type { Part } from "./simulated.js";

export interface RealRun {
  readonly processes: Processes;
  readonly dir: string;
  /** The folder of Sluice's programs; null: those of this checkout. */
  readonly programs: string | null;
  readonly seed: number;
}

export const programFiles = (programs: string | null): typeof ownBuild =>
  programs === null
    ? ownBuild
    : {
        daemonFile: join(programs, "sluice-limiterd.js"),
        proxyFile: join(programs, "sluice-proxy.js"),
      };

const clientsOfLoad = 20;
const slots = 16;
const clientsOfCap = 8;
/** Reached amid the kills. */
const cap = 300;
/** Between a start and the next kill. Two deaths within a moment may lose what was counted then. */
const quietMs = { least: 1_500, most: 2_500 };

export async function killProcesses({
  processes,
  dir,
  programs,
  seed,
  seconds,
}: RealRun & { readonly seconds: number }): Promise<Part> {
  const random = createRandom(seed);
  const home = join(dir, "killed");
  mkdirSync(home, { mode: 0o700 });
  const startProvider = (): Promise<Running> =>
    processes.node(fileURLToPath(new URL("../bench/overshoot/provider.js", import.meta.url)), []);
  const [load, capped] = [await startProvider(), await startProvider()];
  const count = ({ child }: Running): Promise<Served> =>
    giveJob<ProviderJob, Served>(child, { reset: null });
  const provider = ({ url }: Running): object => ({
    type: "openai",
    base_url: `${url}/v1`,
    api_key: "none",
    models: ["m"],
  });
  const counted = { period_seconds: agesSeconds, max_requests: 1e9, max_tokens: 1e12 };
  const config = writeConfig(home, {
    providers: { load: provider(load), capped: provider(capped) },
    rate_limits: {
      user_paths: [
        { path: "/load", limits: [counted, { period: "concurrent", max_requests: slots }] },
        { path: "/capped", limits: [{ period_seconds: agesSeconds, max_requests: cap }] },
      ],
    },
  });
  const { daemonFile, proxyFile } = programFiles(programs);
  const start = (file: string): Promise<Running> => processes.node(file, ["--config", config]);
  let [daemon, proxy] = await Promise.all([start(daemonFile), start(proxyFile)]);
  const target = (name: string) => () => ({
    url: proxy.url,
    headers: { "x-sluice-user-path": `/${name}` },
    model: `${name}/m`,
  });
  const onLoad = startClients(target("load"), clientsOfLoad);
  const onCapped = startClients(target("capped"), clientsOfCap, 1_000_000);

  const kills = { daemon: 0, proxy: 0 };
  const endMs = performance.now() + seconds * 1000;
  while (kills.daemon + kills.proxy < 2 || performance.now() < endMs) {
    await delay(random.int(quietMs.least, quietMs.most));
    const victim = random.chance(0.5) ? "daemon" : "proxy";
    kills[victim]++;
    await processes.kill(victim === "daemon" ? daemon : proxy);
    await delay(random.int(0, 300));
    if (victim === "daemon") daemon = await start(daemonFile);
    else proxy = await start(proxyFile);
  }
  await onLoad.stop();
  // Until the cap refuses everything.
  for (let i = 0; i < 600; i++) {
    if (performance.now() - onCapped.tally.lastAdmittedMs > 3_000 && onCapped.tally.refused > 0)
      break;
    await delay(100);
  }
  await onCapped.stop();

  const usedLoad = await atRest(proxy.url);
  const usedCapped = await ruleNow(proxy.url, "/capped", agesSeconds);
  const [served, servedCapped] = [await count(load), await count(capped)];
  const problems: string[] = [];
  /** A broken request may have been counted before its proxy died, and not reached a provider. */
  const within = (what: string, value: number, least: number, most: number): void => {
    if (value < least || value > most)
      problems.push(
        `${what}: ${value}, not ${least === most ? least : `from ${least} to ${most}`}`,
      );
  };
  const { broken, wholeTokens } = onLoad.tally;
  within("requests counted", usedLoad.requests_used, served.requests, served.requests + broken);
  within("tokens counted", usedLoad.tokens_used, wholeTokens, served.endedTokens);
  within("requests at the same moment", served.peak, 1, slots);
  within("counted against the cap", usedCapped.requests_used, cap, cap);
  within("served under the cap", servedCapped.requests, cap - onCapped.tally.broken, cap);
  await Promise.all([daemon, proxy, load, capped].map((running) => processes.stop(running)));
  const total = kills.daemon + kills.proxy;
  return {
    text: `${total} killed under load (${kills.daemon} × daemon, ${kills.proxy} × proxy); ${served.requests} requests and ${usedLoad.tokens_used.toLocaleString("en-US")} tokens counted once; cap of ${cap}: ${servedCapped.requests} served; ${slots} slots: at most ${served.peak} busy`,
    details: {
      kills: total,
      requests: served.requests,
      requests_counted: usedLoad.requests_used,
      tokens_counted: usedLoad.tokens_used,
      cap,
      served_under_cap: servedCapped.requests,
      slots,
      most_at_once: served.peak,
    },
    problems,
  };
}

/** The rule of the load when no request holds a slot any more, or after ten seconds. */
async function atRest(url: string): ReturnType<typeof ruleNow> {
  for (let i = 0; ; i++) {
    const [rule, held] = [await ruleNow(url, "/load", agesSeconds), await ruleNow(url, "/load", 0)];
    if (held.in_flight === 0 || i === 100) return rule;
    await delay(100);
  }
}
