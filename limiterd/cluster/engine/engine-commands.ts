/** The engine's commands as words and their answers as values, and how scripts are run. */

import { createHash } from "node:crypto";
import { isMoment } from "../../../shared/time.js";
import {
  type EngineCommands,
  EngineRefusedError,
  type EngineScript,
  type EngineValue,
} from "./engine.js";
import type { EngineClient } from "./engine-client.js";
import { EngineFault } from "./engine-faults.js";

/** Sends a command; `words` follow its key. */
type Ask = (
  name: string,
  key: string | null,
  words: readonly (string | number)[],
) => Promise<EngineValue>;

/**
 * Runs one command: its name and the words after its key. A value of another type under one of
 * Sluice's keys counts as lost and is deleted.
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

/** The maximum number of words of one command: Lua's `unpack` takes about 8,000. */
const wordsMax = 1000;

export function createCommands(ask: Ask): EngineCommands {
  const count = async (...[name, key, words]: Parameters<Ask>): Promise<number> => {
    const answered = await ask(name, key, words);
    if (!Number.isSafeInteger(answered)) throw unexpectedAnswer(name);
    return answered as number;
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
      if (nowMs === null) throw unexpectedAnswer("TIME");
      return nowMs;
    },
  };
}

/** Null for anything but a time. */
export function readTime(value: unknown): number | null {
  const [seconds, micros] = Array.isArray(value) ? value.map(Number) : [];
  const nowMs = (seconds ?? Number.NaN) * 1000 + Math.floor((micros ?? Number.NaN) / 1000);
  return isMoment(nowMs) ? nowMs : null;
}

function textOrNull(name: string, value: EngineValue): string | null {
  if (value !== null && typeof value !== "string") throw unexpectedAnswer(name);
  return value;
}

function pairs(value: EngineValue): readonly (readonly [string, string])[] {
  const flat = Array.isArray(value) ? value.map(String) : [];
  return flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1] ?? ""] as const] : []));
}

function unexpectedAnswer(command: string): EngineRefusedError {
  return new EngineRefusedError(`an answer to ${command} that isn't understood`);
}

type Words = readonly [keys: readonly string[], args: readonly (string | number)[]];

/** Makes a script that also returns a digest of its answer; `readValue` computes the same. */
function withDigest(source: string): string {
  return `
local question = table.remove(ARGV)
local answer = (function()
${source}
end)()
if type(answer) == 'table' and answer.err then return answer end
local words = {question}
local function add(value)
  if type(value) == 'table' and value.ok then value = value.ok end
  if type(value) == 'number' then words[#words + 1] = string.format(':%.0f', value)
  elseif type(value) == 'string' then words[#words + 1] = '$' .. #value .. ' ' .. value
  elseif type(value) == 'table' then
    words[#words + 1] = '*'
    local i = 1
    while value[i] ~= nil do
      add(value[i])
      i = i + 1
    end
    words[#words + 1] = '.'
  else words[#words + 1] = '_' end
end
add(answer)
return {answer, redis.sha1hex(table.concat(words, '\\n'))}`;
}

type RunScript = (client: EngineClient, script: EngineScript, words: Words) => Promise<EngineValue>;

/**
 * Runs scripts by their digests and sends the source if the engine doesn't know a script. So
 * scripts need no installation, and hosts of several releases can share an engine. Each answer
 * carries a digest of itself and of the question's number. Rejects with an `EngineFault` if an
 * answer was changed in transit or belongs to another question.
 */
export function createScriptRunner(): RunScript {
  const wrapped = new Map<string, { readonly source: string; readonly digest: string }>();
  const scriptOf = (source: string) => {
    const cached = wrapped.get(source);
    if (cached !== undefined) return cached;
    const whole = withDigest(source);
    const script = { source: whole, digest: createHash("sha1").update(whole).digest("hex") };
    wrapped.set(source, script);
    return script;
  };
  let question = 0;
  return async (client, script, [keys, args]) => {
    const { source, digest } = scriptOf(script.source);
    const number = String(++question);
    const words = [keys.length, ...keys, ...args, number];
    try {
      return readAnswer(await client.sendForBytes("EVALSHA", [digest, ...words]), number);
    } catch (error) {
      // The script hasn't run.
      if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
      return readAnswer(await client.sendForBytes("EVAL", [source, ...words]), number);
    }
  };
}

function readAnswer(answered: unknown, question: string): EngineValue {
  if (Array.isArray(answered) && answered.length === 2 && answered[1] instanceof Buffer) {
    const hash = createHash("sha1").update(question);
    const value = readValue(answered[0], (bytes) => void hash.update("\n").update(bytes));
    if (answered[1].equals(Buffer.from(hash.digest("hex")))) return value;
  }
  throw new EngineFault("the engine's answers are damaged, or to other questions");
}

function readValue(value: unknown, add: (bytes: string | Buffer) => void): EngineValue {
  if (value === null) {
    add("_");
    return null;
  }
  if (typeof value === "number") {
    add(`:${value}`);
    return value;
  }
  if (value instanceof Buffer) {
    add(Buffer.concat([Buffer.from(`$${value.length} `), value]));
    return value.toString();
  }
  if (!Array.isArray(value)) throw new EngineFault("the engine's answers are damaged");
  add("*");
  const values = value.map((item) => readValue(item, add));
  add(".");
  return values;
}
