/**
 * Which host sends an alert that several have noticed: one hash per alert and destination, with the
 * field `claimed`, which the first host adds, and its id.
 */
import type { EngineCommands } from "../engine/engine.js";

/** Longer than an alert waits to be delivered. */
const keptMs = 8 * 86_400_000;

interface Claim {
  readonly destination: string;
  readonly id: string;
  readonly host: string;
}

/**
 * Whether this host sends it: it is the first, or has claimed it before. If the first host ended
 * between its two commands, the next one sends it. Rejects as the commands.
 */
export async function claimAlert(
  commands: Pick<EngineCommands, "hget" | "hset" | "pexpire">,
  clusterName: string,
  { destination, id, host }: Claim,
): Promise<boolean> {
  const key = `sluice:${clusterName}:alert:{${id} ${destination}}`;
  const isFirst = (await commands.hset(key, { claimed: "1" })) === 1;
  const owner = isFirst ? null : await commands.hget(key, "host");
  if (owner !== null) return owner === host;
  await commands.hset(key, { host });
  await commands.pexpire(key, keptMs);
  return true;
}
