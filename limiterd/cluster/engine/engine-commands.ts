/** The engine's commands as words, and their answers as values. */
import type { EngineCommands } from "./engine.js";
import type { Send } from "./engine-client.js";
import { readTime } from "./examine-engine.js";

export function createCommands(send: Send): EngineCommands {
  const number = async (...[name, words]: Parameters<Send>): Promise<number> =>
    Number(await send(name, words));
  return {
    get: (key) => send("GET", [key]).then(textOrNull),
    async set(key, value, { expiresMs } = {}) {
      await send("SET", [key, value, ...(expiresMs === undefined ? [] : ["PX", expiresMs])]);
    },
    del: (key) => number("DEL", [key]),
    pexpire: async (key, ms) => (await number("PEXPIRE", [key, ms])) === 1,
    hget: (key, field) => send("HGET", [key, field]).then(textOrNull),
    hgetall: async (key) => new Map(pairs(await send("HGETALL", [key]))),
    hset: async (key, fields) => {
      const words = Object.entries(fields).flat();
      return words.length === 0 ? 0 : number("HSET", [key, ...words]);
    },
    hdel: async (key, fields) => (fields.length === 0 ? 0 : number("HDEL", [key, ...fields])),
    time: async () => readTime(await send("TIME", [])),
  };
}

function textOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}

function pairs(value: unknown): readonly (readonly [string, string])[] {
  const flat = Array.isArray(value) ? value.map(String) : [];
  return flat.flatMap((each, i) => (i % 2 === 0 ? [[each, flat[i + 1] ?? ""] as const] : []));
}
