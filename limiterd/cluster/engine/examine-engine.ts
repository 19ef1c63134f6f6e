/**
 * Examines whether an engine can be used: its version and role, and whether the user may run the
 * needed commands. Returns warnings for the operator. It reads and writes only its own key.
 */
import type { EngineClient } from "./engine-client.js";
import { readTime } from "./engine-commands.js";
import { EngineFault } from "./engine-faults.js";

export interface EngineFindings {
  readonly isCluster: boolean;
  /** Its name and version: `Valkey 8.0.1`. */
  readonly version: string;
  readonly nowMs: number;
  /** One sentence each. */
  readonly warnings: readonly string[];
}

/** The oldest Redis version; Valkey began as 7.2. */
const majorMin = 7;
/**
 * Maximum difference between the engine's clock and this host's, in ms, without a warning: tokens,
 * slots and the ends of windows use both clocks.
 */
const clockMsMax = 10_000;

/**
 * Runs every kind of command that Sluice uses in one step, which fails with the first failing
 * command.
 */
const tryout = `
local key = KEYS[1]
redis.call('DEL', key)
redis.call('SET', key, '1', 'PX', 10000)
redis.call('GET', key)
redis.call('DEL', key)
redis.call('HSET', key, 'a', '1')
redis.call('HSETNX', key, 'a', '1')
redis.call('HGET', key, 'a')
redis.call('HGETALL', key)
redis.call('HDEL', key, 'a')
redis.call('ZADD', key, 1, 'a')
redis.call('ZSCORE', key, 'a')
redis.call('ZRANGEBYSCORE', key, 0, 1, 'WITHSCORES', 'LIMIT', 0, 1)
redis.call('ZREM', key, 'a')
redis.call('PEXPIRE', key, 10000)
redis.call('DEL', key)
local now = redis.call('TIME')
return now[1]
`;

/** Rejects with an `EngineFault`, or with the engine's error. */
export async function examineEngine(
  client: EngineClient,
  clusterName: string,
  hostNowMs: () => number,
): Promise<EngineFindings> {
  // Any server of a Cluster that answers will do: others may be away.
  const info = await Promise.any(
    [...client.primaries().values()].map(async (send) => readInfo(await send("INFO", []))),
  ).catch((error: unknown) => {
    throw error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  });
  const name = info.has("valkey_version") ? "Valkey" : "Redis";
  const version = info.get("valkey_version") ?? info.get("redis_version") ?? "";
  if (Number.parseInt(info.get("redis_version") ?? "", 10) < majorMin)
    throw new EngineFault(`the engine is too old: ${name} ${version}, and 7.0 is needed`);
  const isCluster = info.get("cluster_enabled") === "1";
  const findings = { isCluster, version: `${name} ${version}`, warnings: warningsOf(info) };
  if (isCluster && client.primaries().has("")) return { ...findings, nowMs: hostNowMs() };
  if (info.get("role") === "slave") throw new Error("READONLY a replica");

  const channel = `sluice:{${clusterName}}:tryout`;
  await client.send("EVAL", [tryout, 1, channel]);
  await client.send("PUBLISH", [channel, ""]);
  const askedMs = hostNowMs();
  const nowMs = readTime(await client.send("TIME", []));
  if (nowMs === null) throw new EngineFault("what the engine says of its time isn't understood");
  const aheadMs = nowMs - (askedMs + hostNowMs()) / 2;
  return {
    ...findings,
    nowMs,
    warnings:
      Math.abs(aheadMs) <= clockMsMax
        ? findings.warnings
        : [
            ...findings.warnings,
            `the engine's clock is more than ${clockMsMax / 1000} s ${aheadMs > 0 ? "ahead of" : "behind"} this host's: token limits count in other windows than requests`,
          ],
  };
}

export function readInfo(text: unknown): ReadonlyMap<string, string> {
  const lines = String(text).split(/\r?\n/);
  return new Map(
    lines.flatMap((line) => {
      const colon = line.indexOf(":");
      return colon === -1 || line.startsWith("#")
        ? []
        : [[line.slice(0, colon), line.slice(colon + 1)]];
    }),
  );
}

function warningsOf(info: ReadonlyMap<string, string>): readonly string[] {
  const policy = info.get("maxmemory_policy") ?? "noeviction";
  return info.get("maxmemory") !== "0" && policy !== "noeviction"
    ? [
        `the engine's maxmemory-policy is ${policy}: when it is full it forgets counters; set noeviction`,
      ]
    : [];
}
