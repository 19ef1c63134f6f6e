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

type ClaimCommands = Pick<EngineCommands, "hget" | "hset" | "pexpire">;

/**
 * The host that sends it: this one if it is the first, or has claimed it before; null while the
 * first host hasn't written its id. Rejects as the commands.
 */
export async function claimAlert(
  commands: ClaimCommands,
  clusterName: string,
  claim: Claim,
): Promise<string | null> {
  const key = keyOf(clusterName, claim);
  if ((await commands.hset(key, { claimed: "1" })) !== 1) return commands.hget(key, "host");
  await takeOver(commands, clusterName, claim);
  return claim.host;
}

/** Makes this host the one that sends it, if the first one ended before it wrote its id. */
export async function takeOver(
  commands: ClaimCommands,
  clusterName: string,
  claim: Claim,
): Promise<void> {
  const key = keyOf(clusterName, claim);
  await commands.hset(key, { host: claim.host });
  await commands.pexpire(key, keptMs);
}

function keyOf(clusterName: string, { destination, id }: Claim): string {
  return `sluice:${clusterName}:alert:{${id} ${destination}}`;
}
