/**
 * The owners of objects at providers, shared by all hosts: one hash per object id, with [user path,
 * expiry] by provider. A host reads it when it doesn't know an owner itself, so no host stores the
 * owners of other hosts. The first path that is written is the owner.
 */
import { parseJson } from "../../../shared/checked.js";
import { isNormalUserPath } from "../../../shared/domain/user-path.js";
import { dayMs, isMoment } from "../../../shared/time.js";
import type { MadeObjects, ObjectOwner } from "../../../shared/wire/stored-object.js";
import type { EngineCommands } from "../engine/engine.js";

type Commands = Pick<EngineCommands, "hgetall" | "hset" | "pexpire">;

function keyOf(clusterName: string, id: string): string {
  return `sluice:${clusterName}:object:{${id}}`;
}

/** Rejects as the commands. */
export async function publishOwners(
  commands: Commands,
  clusterName: string,
  { userPath, objects, days }: MadeObjects,
  nowMs: number,
): Promise<void> {
  const forMs = days * dayMs;
  await Promise.all(
    objects.map(async ({ provider, id }) => {
      const key = keyOf(clusterName, id);
      const owners = ownersOf(await commands.hgetall(key), nowMs);
      if (owners.some((owner) => owner.provider === provider)) return;
      await commands.hset(key, { [provider]: JSON.stringify([userPath, nowMs + forMs]) });
      await commands.pexpire(key, forMs);
    }),
  );
}

/** The owners of this id, one per provider that has such an object. Rejects as the commands. */
export async function askOwners(
  commands: Commands,
  clusterName: string,
  id: string,
  nowMs: number,
): Promise<readonly ObjectOwner[]> {
  return ownersOf(await commands.hgetall(keyOf(clusterName, id)), nowMs);
}

function ownersOf(fields: ReadonlyMap<string, string>, nowMs: number): readonly ObjectOwner[] {
  return [...fields].flatMap(([provider, text]) => {
    const userPath = ownerFromText(text, nowMs);
    return userPath === null ? [] : [{ provider, userPath }];
  });
}

/** Null for an expired entry, or one that no host wrote. */
function ownerFromText(text: string, nowMs: number): string | null {
  const value = parseJson(text);
  if (!Array.isArray(value)) return null;
  const [userPath, untilMs] = value as unknown[];
  return typeof userPath === "string" &&
    isNormalUserPath(userPath) &&
    isMoment(untilMs) &&
    untilMs > nowMs
    ? userPath
    : null;
}
