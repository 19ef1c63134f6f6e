/**
 * Redis behind the admission port: two scripts, called by their hash, all keys and caps named by
 * the caller.
 */
import { setTimeout as delay } from "node:timers/promises";
import { connectRedis, encodeCommand } from "../peers/redis-client.js";
import type { Reply } from "../peers/redis-reply.js";
import { admitScript, settleScript } from "../peers/redis-scripts.js";
import { type AdmissionPort, unattended } from "./admission-port.js";
import { leastCap, matchingRules, tenantCount, tokensPerSettle } from "./limiter-rules.js";

/** Connects to Redis' socket and loads the scripts. */
export async function connectRedisLimiter(path: string): Promise<AdmissionPort> {
  const client = await connectRedis(path, (error) => port.events.onLost(error));
  const admitHash = String(await client.ask(["SCRIPT", "LOAD", admitScript.trim()]));
  const settleHash = String(await client.ask(["SCRIPT", "LOAD", settleScript.trim()]));
  // Encoded once: what a caller spends on building its commands isn't Redis' to answer for.
  const admits = Array.from({ length: tenantCount }, (_, tenant) =>
    encodeCommand(admitCommand(admitHash, tenant)),
  );
  const settles = Array.from({ length: tenantCount }, (_, tenant) =>
    encodeCommand(settleCommand(settleHash, tenant)),
  );
  const tenantOfSlot: number[] = [];
  let rulesAreSeen = false;

  function onVerdict(slot: number, reply: Reply): void {
    if (!Array.isArray(reply))
      return port.events.onLost(
        new Error(`Redis answered an admission with ${JSON.stringify(reply)}`),
      );
    const [breach, limit] = reply as readonly Reply[];
    if (!rulesAreSeen) {
      if (limit !== leastCap)
        return port.events.onLost(
          new Error(
            `Redis' first admission names the limit ${JSON.stringify(limit)}, not ${leastCap}`,
          ),
        );
      rulesAreSeen = true;
    }
    port.events.onVerdict(slot, breach === 0);
  }

  function onSettled(reply: Reply): void {
    if (reply === 0) port.events.onSettled(1);
    else port.events.onLost(new Error(`Redis answered a settle with ${JSON.stringify(reply)}`));
  }

  const port: AdmissionPort = {
    events: unattended,
    admit(slot, tenant) {
      tenantOfSlot[slot] = tenant;
      client.send(admits[tenant]!, (reply) => onVerdict(slot, reply));
    },
    settle(slot) {
      client.send(settles[tenantOfSlot[slot]!]!, onSettled);
    },
    async prepare() {
      // The append-only file is shortened between the phases, so that its rewriting falls into
      // none.
      await client.ask(["BGREWRITEAOF"]);
      while (
        /aof_rewrite_(in_progress|scheduled):1/.test(
          String(await client.ask(["INFO", "persistence"])),
        )
      )
        await delay(20);
    },
  };
  return port;
}

function windowKey(path: string, periodSeconds: number): string {
  return `w:${path}:${periodSeconds}`;
}

function admitCommand(hash: string, tenant: number): string[] {
  const rules = matchingRules(tenant);
  const caps = rules.flatMap((rule) =>
    rule.periodSeconds === 0
      ? [rule.maxRequests]
      : [rule.periodSeconds * 1000, rule.maxRequests, rule.maxTokens ?? 0],
  );
  return [
    "EVALSHA",
    hash,
    String(rules.length),
    ...rules.map((rule) => windowKey(rule.path, rule.periodSeconds)),
    ...caps.map(String),
  ];
}

function settleCommand(hash: string, tenant: number): string[] {
  const rules = matchingRules(tenant).filter(
    (rule) => rule.maxTokens !== null || rule.periodSeconds === 0,
  );
  const periods = rules
    .filter((rule) => rule.periodSeconds !== 0)
    .map((rule) => rule.periodSeconds * 1000);
  return [
    "EVALSHA",
    hash,
    String(rules.length),
    ...rules.map((rule) => windowKey(rule.path, rule.periodSeconds)),
    String(tokensPerSettle),
    ...periods.map(String),
  ];
}
