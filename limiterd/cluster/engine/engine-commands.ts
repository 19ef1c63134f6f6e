/** The engine's commands as words, and their answers as values. */
import type { EngineCommands } from "./engine.js";
import type { Send } from "./engine-client.js";
import { readTime } from "./examine-engine.js";

export function createCommands(send: Send): EngineCommands {
  const number = async (...[name, words]: Parameters<Send>): Promise<number> =>
    Number(await send(name, words));
  return {
    get: (key) => send("GET", [key]).then(textOrNull),
    async set(key, value, { expiresMs, onlyNew } = {}) {
      const expiry = expiresMs === undefined ? [] : ["PX", expiresMs];
      return (await send("SET", [key, value, ...expiry, ...(onlyNew ? ["NX"] : [])])) !== null;
    },
    del: (key) => number("DEL", [key]),
    pexpire: async (key, ms) => (await number("PEXPIRE", [key, ms])) === 1,
    incr: (key) => number("INCR", [key]),
    hget: (key, field) => send("HGET", [key, field]).then(textOrNull),
    hmget: async (key, fields) =>
      fields.length === 0 ? [] : items(await send("HMGET", [key, ...fields])).map(textOrNull),
    hgetall: async (key) => new Map(pairs(await send("HGETALL", [key]))),
    hset: async (key, fields) => {
      const words = Object.entries(fields).flat();
      return words.length === 0 ? 0 : number("HSET", [key, ...words]);
    },
    hdel: async (key, fields) => (fields.length === 0 ? 0 : number("HDEL", [key, ...fields])),
    hlen: (key) => number("HLEN", [key]),
    zadd: (key, score, member) => number("ZADD", [key, score, member]),
    zrem: async (key, members) => (members.length === 0 ? 0 : number("ZREM", [key, ...members])),
    zrangebyscore: async (key, { from, to, limit }) =>
      pairs(
        await send("ZRANGEBYSCORE", [key, bound(from), bound(to), "WITHSCORES", "LIMIT", 0, limit]),
      ).map(([member, score]) => ({ member, score: Number(score) })),
    time: async () => readTime(await send("TIME", [])),
    async publish(channel, message) {
      await send("PUBLISH", [channel, message]);
    },
  };
}

function bound(score: number): number | string {
  if (Number.isFinite(score)) return score;
  return score > 0 ? "+inf" : "-inf";
}

function textOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}

function items(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function pairs(value: unknown): readonly (readonly [string, string])[] {
  const flat = items(value).map(String);
  return flat.flatMap((each, i) => (i % 2 === 0 ? [[each, flat[i + 1] ?? ""] as const] : []));
}
