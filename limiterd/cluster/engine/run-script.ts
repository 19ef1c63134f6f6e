/**
 * Runs scripts by their digests, and tells an engine that doesn't know one its source: it was
 * started again, or another server has taken over. Scripts so need nothing to be installed in the
 * engine, and hosts of several versions share one.
 */
import { createHash } from "node:crypto";
import type { EngineScript, EngineValue } from "./engine.js";
import type { EngineClient } from "./engine-client.js";

type Words = readonly [keys: readonly string[], args: readonly (string | number)[]];

export function createScriptRunner(): (
  client: EngineClient,
  script: EngineScript,
  words: Words,
) => Promise<EngineValue> {
  const digests = new Map<string, string>();
  const digestOf = (source: string): string => {
    const digest = digests.get(source) ?? createHash("sha1").update(source).digest("hex");
    digests.set(source, digest);
    return digest;
  };
  return async (client, { source }, [keys, args]) => {
    const words = [keys.length, ...keys, ...args];
    try {
      return (await client.send("EVALSHA", [digestOf(source), ...words])) as EngineValue;
    } catch (error) {
      // It hasn't run anything.
      if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
      return (await client.send("EVAL", [source, ...words])) as EngineValue;
    }
  };
}
