/** The engine's commands as words, and their answers as values. */
import { isMoment } from "../../../shared/time.js";
import {
  type EngineCommands,
  EngineRefusedError,
  type EngineScript,
  type EngineValue,
} from "./engine.js";

/** Asks a command of its key; `words` are what follows. */
type Ask = (
  name: string,
  key: string | null,
  words: readonly (string | number)[],
) => Promise<EngineValue>;

/**
 * Runs one command: its name, and what follows its key. A value of another type under a key of
 * Sluice's counts as lost: it is deleted.
 */
export const commandScript: EngineScript = {
  name: "command",
  source: `
local words = {ARGV[1]}
for _, key in ipairs(KEYS) do words[#words + 1] = key end
for i = 2, #ARGV do words[#words + 1] = ARGV[i] end
local answer = redis.pcall(unpack(words))
if type(answer) == 'table' and answer.err and string.find(answer.err, 'WRONGTYPE', 1, true) then
  redis.call('DEL', KEYS[1])
  answer = redis.call(unpack(words))
end
return answer`,
};

/** Words of one command: a Lua function takes some 8,000. */
const wordsMax = 1000;

export function createCommands(ask: Ask): EngineCommands {
  const count = async (...[name, key, words]: Parameters<Ask>): Promise<number> => {
    const told = await ask(name, key, words);
    if (!Number.isSafeInteger(told)) throw unexpected(name);
    return told as number;
  };
  const inPieces = async (name: string, key: string, words: readonly string[]): Promise<number> => {
    let sum = 0;
    for (let i = 0; i < words.length; i += wordsMax)
      sum += await count(name, key, words.slice(i, i + wordsMax));
    return sum;
  };
  return {
    get: async (key) => textOrNull("GET", await ask("GET", key, [])),
    async set(key, value, { expiresMs } = {}) {
      await ask("SET", key, [value, ...(expiresMs === undefined ? [] : ["PX", expiresMs])]);
    },
    del: (key) => count("DEL", key, []),
    pexpire: async (key, ms) => (await count("PEXPIRE", key, [ms])) === 1,
    hget: async (key, field) => textOrNull("HGET", await ask("HGET", key, [field])),
    hgetall: async (key) => new Map(pairs(await ask("HGETALL", key, []))),
    hset: (key, fields) => inPieces("HSET", key, Object.entries(fields).flat()),
    hdel: (key, fields) => inPieces("HDEL", key, fields),
    async time() {
      const nowMs = readTime(await ask("TIME", null, []));
      if (nowMs === null) throw unexpected("TIME");
      return nowMs;
    },
  };
}

/** Null for what isn't the time. */
export function readTime(value: unknown): number | null {
  const [seconds, micros] = Array.isArray(value) ? value.map(Number) : [];
  const nowMs = (seconds ?? Number.NaN) * 1000 + Math.floor((micros ?? Number.NaN) / 1000);
  return isMoment(nowMs) ? nowMs : null;
}

function textOrNull(name: string, value: EngineValue): string | null {
  if (value !== null && typeof value !== "string") throw unexpected(name);
  return value;
}

function pairs(value: EngineValue): readonly (readonly [string, string])[] {
  const flat = Array.isArray(value) ? value.map(String) : [];
  return flat.flatMap((each, i) => (i % 2 === 0 ? [[each, flat[i + 1] ?? ""] as const] : []));
}

function unexpected(command: string): EngineRefusedError {
  return new EngineRefusedError(`an answer to ${command} that isn't understood`);
}
