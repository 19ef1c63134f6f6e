/**
 * The daemon part: admissions and settles over the real socket, beside Redis with scripts that do
 * the same on its own.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { atLevel, inFlightLevels, type LimiterName } from "../load/admission-levels.js";
import type { AdmissionJob } from "../load/admission-load.js";
import { findProgram, startRedis } from "../peers/installed-peers.js";
import { sluiceMissing, startDaemon } from "../peers/sluice.js";
import { giveJob } from "./job-channel.js";
import type { Phase } from "./phase.js";
import { type Contender, inTurn, type Rounds, type RunContext } from "./rounds.js";

export async function measureDaemon(context: RunContext): Promise<Rounds> {
  const { processes, say } = context;
  const skipped: Record<string, string> = {};
  const limiters: Limiter[] = [];
  const missing = sluiceMissing();
  if (missing === null) {
    say("starting two daemons with 10,000 rules");
    for (const name of ["daemon", "daemon+usage"] as const) {
      const { daemon, socket } = await startDaemon(
        processes,
        freshDir(context, name),
        name === "daemon+usage",
      );
      limiters.push({ name, pid: daemon.pid, socket });
    }
  } else {
    skipped["daemon"] = missing;
  }
  const redisFile = findProgram("redis-server");
  if (redisFile === null) {
    skipped["redis"] = "not installed (Debian: redis-server)";
  } else {
    const { redis, socket } = await startRedis(processes, freshDir(context, "redis"), redisFile);
    limiters.push({ name: "redis", pid: redis.pid, socket });
  }
  const ready: { limiter: Limiter; load: Load }[] = [];
  for (const limiter of limiters) ready.push({ limiter, load: await startLoad(context, limiter) });
  const contenders: Contender[] = inFlightLevels.flatMap((inFlight) =>
    ready.map(({ limiter, load }) => ({
      name: atLevel(limiter.name, inFlight),
      run: (seconds: number) => load(inFlight, seconds),
    })),
  );
  const rounds = await inTurn(context, contenders, skipped);
  await processes.stopAll();
  return rounds;
}

interface Limiter {
  readonly name: LimiterName;
  readonly pid: number;
  readonly socket: string;
}

type Load = (inFlight: number, seconds: number) => Promise<Phase>;

async function startLoad({ processes }: RunContext, { name, pid, socket }: Limiter): Promise<Load> {
  const generator = await processes.node(
    fileURLToPath(new URL("../load/admission-load.js", import.meta.url)),
    [name === "redis" ? "redis" : "daemon", socket],
  );
  return (inFlight, seconds) =>
    giveJob<AdmissionJob, Phase>(generator.child, {
      inFlight,
      seconds,
      pids: [pid],
      besidePids: [],
    });
}

function freshDir(context: RunContext, name: string): string {
  const dir = join(context.dir, name);
  mkdirSync(dir, { mode: 0o700 });
  return dir;
}
