/**
 * When managed keys were last used on any host: one hash per key, with the time of the last use
 * under `key` and under the hash of each old secret. Each host reports the uses that it has seen,
 * and reads those of the keys that it lists.
 */
import { isMoment } from "../../../shared/time.js";
import type { EngineCommands, EngineConnection, EngineScript } from "../engine/engine.js";

interface SeenKey {
  readonly number: number;
  readonly deletedAtMs: number | null;
  readonly lastUsedAtMs: number | null;
  readonly oldSecrets: readonly { readonly hash: string; readonly lastUsedAtMs: number | null }[];
}

/** The last uses of one key on all hosts. */
interface HeardUses {
  readonly number: number;
  readonly lastUsedAtMs: number | null;
  /** By the hash of the old secret. */
  readonly oldSecrets: ReadonlyMap<string, number>;
}

const keyKind = "key";

function nameOf(clusterName: string, number: number): string {
  return `sluice:{${clusterName}}:key-use:${number}`;
}

/**
 * Keeps the later of the stored and the reported time. Arguments: field and time of each. A time
 * after the engine's own counts as the engine's.
 */
export const keyUseScript: EngineScript = {
  name: "key-use",
  source: `
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local found = redis.pcall('HGET', KEYS[1], 'key')
if type(found) == 'table' and found.err then
  if not string.find(found.err, 'WRONGTYPE', 1, true) then return found end
  redis.call('DEL', KEYS[1])
end
for i = 1, #ARGV, 2 do
  local reported = math.min(tonumber(ARGV[i + 1]), now)
  local known = tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or '') or 0
  if not (known >= 0 and known <= now) then known = 0 end
  if reported > known then redis.call('HSET', KEYS[1], ARGV[i], string.format('%.0f', reported)) end
end
return 0`,
};

/** Rejects as the engine's calls; each use may or may not have been reported then. */
export async function publishKeyUses(
  engine: Pick<EngineConnection, "call" | "commands">,
  clusterName: string,
  keys: readonly SeenKey[],
): Promise<void> {
  const reported = keys.map(async ({ number, deletedAtMs, lastUsedAtMs, oldSecrets }) => {
    const name = nameOf(clusterName, number);
    if (deletedAtMs !== null) return await engine.commands.del(name);
    const uses = [{ hash: keyKind, lastUsedAtMs }, ...oldSecrets].flatMap((secret) =>
      secret.lastUsedAtMs === null ? [] : [secret.hash, secret.lastUsedAtMs],
    );
    return uses.length === 0 ? null : await engine.call(keyUseScript, [name], uses);
  });
  const failed = (await Promise.allSettled(reported)).find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
}

/** Rejects as the commands. */
export function askKeyUses(
  commands: Pick<EngineCommands, "hgetall">,
  clusterName: string,
  keys: readonly { readonly number: number }[],
): Promise<readonly HeardUses[]> {
  return Promise.all(
    keys.map(async ({ number }) => {
      const oldSecrets = new Map<string, number>();
      for (const [hash, text] of await commands.hgetall(nameOf(clusterName, number)))
        if (isMoment(Number(text))) oldSecrets.set(hash, Number(text));
      const lastUsedAtMs = oldSecrets.get(keyKind) ?? null;
      return { number, lastUsedAtMs, oldSecrets };
    }),
  );
}
