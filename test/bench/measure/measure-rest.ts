/**
 * How soon each program gives its first answer after its start, what memory it takes at rest and
 * after a load, and how long `sluice status` takes.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "../../support/processes/free-port.js";
import { programPath } from "../../support/processes/program-path.js";
import { chatRequest, requestBody, requestHeaders, requestPath } from "../load/chat-exchange.js";
import type { HttpJob } from "../load/http-load.js";
import { findProgram, startNginx } from "../peers/installed-peers.js";
import { benchProviders, startPair, twoRules, writeConfig } from "../peers/sluice.js";
import { giveJob } from "./job-channel.js";
import type { Phase } from "./phase.js";
import { type Memory, memoryOf, withChildren } from "./process-stat.js";
import type { Processes, Running } from "./processes.js";
import type { RunContext } from "./rounds.js";

export interface RestMeasures {
  /** One per start: until the first answer with status 200. */
  readonly firstAnswerMs: readonly number[];
  readonly atRest: Memory;
  readonly afterLoad: Memory;
}

export interface RestReport {
  /** By program. */
  readonly programs: Readonly<Record<string, RestMeasures>>;
  /** One per run. */
  readonly statusMs: readonly number[];
}

interface Started {
  readonly url: string;
  readonly running: readonly Running[];
}

/** After the start and after the load, before memory is read. */
const restSeconds = 10;
const retryMs = 5;
/** As in the units of systemd. */
const unitVariables = { ["MALLOC_ARENA_MAX"]: "1" };

export async function measureRest(context: RunContext, connections: number): Promise<RestReport> {
  context.say("starts and memory");
  const upstream = await context.processes.node(ourProgram("../peers/upstream.js"), []);
  const generator = await context.processes.node(ourProgram("../load/http-load.js"), []);
  const programs: Record<string, RestMeasures> = {};
  const statusMs: number[] = [];
  for (const [name, start] of Object.entries(starters(context, upstream.url))) {
    const firstAnswerMs: number[] = [];
    for (let round = 1; ; round++) {
      const startedAt = performance.now();
      const { url, running } = await start(round);
      await untilAnswered(url);
      firstAnswerMs.push(performance.now() - startedAt);
      if (round === context.rounds) {
        const pids = running.flatMap(({ pid }) => withChildren(pid));
        await delay(restSeconds * 1000);
        const atRest = memoryOf(pids);
        if (name === "up")
          for (let count = 0; count < context.rounds; count++)
            statusMs.push(timeStatus(context, round));
        await giveJob<HttpJob, Phase>(generator.child, {
          url,
          pids,
          besidePids: [],
          seconds: context.seconds,
          connections,
          request: chatRequest(new URL(url).hostname),
        });
        await delay(restSeconds * 1000);
        programs[name] = { firstAnswerMs, atRest, afterLoad: memoryOf(pids) };
      }
      for (const one of running) await context.processes.stop(one);
      if (round === context.rounds) break;
    }
  }
  await context.processes.stopAll();
  return { programs, statusMs };
}

/**
 * Each in turn runs a copy of Node of its own: a page that is shared with the processes of the
 * benchmark would count in part only.
 */
function starters(
  { processes, dir }: RunContext,
  upstreamUrl: string,
): Readonly<Record<string, (round: number) => Promise<Started>>> {
  const node = join(dir, "node");
  copyFileSync(process.execPath, node);
  const own = (env: Readonly<Record<string, string>> = {}): Processes => ({
    ...processes,
    node: (file, args, nodeFlags = []) =>
      processes.node(file, args, nodeFlags, { execPath: node, env }),
  });
  const nginxFile = findProgram("nginx");
  return {
    async up(round) {
      const at = makeDirectory(dir, `up-${round}`);
      const port = await freePort();
      const config = writeConfig(at, {
        server: { host: "127.0.0.1", port },
        providers: benchProviders(upstreamUrl),
        rate_limits: twoRules,
      });
      const up = await processes.program(node, [programPath("sluice"), "up", "--config", config], {
        host: "127.0.0.1",
        port,
      });
      return { url: `http://127.0.0.1:${port}`, running: [up] };
    },
    async pair(round) {
      const at = makeDirectory(dir, `rest-${round}`);
      const { daemon, proxy } = await startPair(own(unitVariables), at, upstreamUrl, "two rules");
      return { url: proxy.url, running: [proxy, daemon] };
    },
    async undici() {
      const undici = await own().node(ourProgram("../peers/undici-forwarder.js"), [upstreamUrl]);
      return { url: undici.url, running: [undici] };
    },
    ...(nginxFile === null
      ? {}
      : {
          async nginx(round: number) {
            const at = join(dir, `nginx-${round}`);
            const nginx = await startNginx(processes, at, nginxFile, upstreamUrl);
            return { url: nginx.url, running: [nginx] };
          },
        }),
  };
}

function makeDirectory(dir: string, name: string): string {
  const at = join(dir, name);
  mkdirSync(at, { mode: 0o700 });
  return at;
}

async function untilAnswered(url: string): Promise<void> {
  for (;;) {
    const status = await fetch(`${url}${requestPath}`, {
      method: "POST",
      headers: requestHeaders,
      body: requestBody,
    }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => null,
    );
    if (status === 200) return;
    await delay(retryMs);
  }
}

/** `sluice status` of the gateway that `up` has started in this round. */
function timeStatus({ dir }: RunContext, round: number): number {
  const config = join(dir, `up-${round}`, "sluice.yaml");
  const startedAt = performance.now();
  execFileSync(join(dir, "node"), [programPath("sluice"), "--config", config, "status"], {
    stdio: "ignore",
    env: { PATH: process.env["PATH"] },
  });
  return performance.now() - startedAt;
}

function ourProgram(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}
