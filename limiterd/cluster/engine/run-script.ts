/**
 * Runs scripts by their digests, and tells an engine that doesn't know one its source: it was
 * started again, or another server has taken over. Scripts so need nothing to be installed in the
 * engine, and hosts of several versions share one.
 *
 * Each answer comes with a digest of itself and of the question's number. An answer that was
 * changed on its way, or belongs to another question, is refused.
 */
import { createHash } from "node:crypto";
import type { EngineScript, EngineValue } from "./engine.js";
import type { EngineClient } from "./engine-client.js";
import { EngineFault } from "./engine-faults.js";

type Words = readonly [keys: readonly string[], args: readonly (string | number)[]];

/** `readValue` below digests the same. */
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

type Run = (client: EngineClient, script: EngineScript, words: Words) => Promise<EngineValue>;

/** Rejects with an `EngineFault` where the answer isn't the engine's to this question. */
export function createScriptRunner(): Run {
  const wrapped = new Map<string, { readonly source: string; readonly digest: string }>();
  const scriptOf = (source: string) => {
    const known = wrapped.get(source);
    if (known !== undefined) return known;
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
      // It hasn't run anything.
      if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
      return readAnswer(await client.sendForBytes("EVAL", [source, ...words]), number);
    }
  };
}

function readAnswer(told: unknown, question: string): EngineValue {
  if (Array.isArray(told) && told.length === 2 && told[1] instanceof Buffer) {
    const hash = createHash("sha1").update(question);
    const value = readValue(told[0], (bytes) => void hash.update("\n").update(bytes));
    if (told[1].equals(Buffer.from(hash.digest("hex")))) return value;
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
  const values = value.map((each) => readValue(each, add));
  add(".");
  return values;
}
