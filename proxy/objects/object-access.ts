/**
 * Which stored objects a caller may use: those that its own path made (docs/security.md, "Stored
 * objects"). The daemon remembers who made what. The master key and the callers of an open gateway
 * see everything, without a call to the daemon.
 */

import { isObject, parseJson } from "../../shared/checked.js";
import type { ProviderConfig } from "../../shared/config/config.js";
import type { Target } from "../../shared/domain/target-name.js";
import { type Failure, invalid, plainFailure } from "../../shared/error-code.js";
import type { Log } from "../../shared/log.js";
import type { Operation } from "../../shared/operation.js";
import {
  interactionDays,
  isObjectId,
  type ObjectOwner,
  objectDays,
  objectsPerCall,
  readObjectOwners,
  responseDays,
  threadDays,
} from "../../shared/wire/stored-object.js";
import { authorizeCaller, type Caller } from "../auth/caller.js";
import type { NamedValues } from "../body/scan-json.js";
import type { Limiter } from "../limiter/client/limiter-client.js";
import type { Naming } from "./object-body.js";
import { type NamedIds, namedMax } from "./object-ids.js";

/** Whether there are callers that must not see each other's objects. */
export function remembersOwners({
  limiter,
  credentials,
}: {
  readonly limiter: Pick<Limiter, "notices">;
  readonly credentials: { readonly jwt: unknown };
}): boolean {
  return limiter.notices.keysExist !== false || credentials.jwt !== null;
}

type Owners =
  | { readonly ok: true; readonly owners: ReadonlyMap<string, readonly ObjectOwner[]> }
  | { readonly ok: false; readonly failure: Failure };

/** The owners of each id, at each provider that has it; none if unknown. */
export async function ownersOf(
  limiter: Pick<Limiter, "call">,
  ids: readonly string[],
): Promise<Owners> {
  const owners = new Map<string, readonly ObjectOwner[]>();
  for (let i = 0; i < ids.length; i += objectsPerCall) {
    const batch = ids.slice(i, i + objectsPerCall);
    const answer = await limiter.call("objects.owners", { ids: batch });
    if (!answer.ok) return answer;
    const batchOwners = readObjectOwners(answer.body, batch.length);
    for (const [index, id] of batch.entries()) owners.set(id, batchOwners[index]!);
  }
  return { ok: true, owners };
}

/** The objects that a request created. */
export interface CreatedObjects {
  readonly operation: Operation;
  readonly provider: string;
  readonly userPath: string;
  readonly ids: readonly string[];
}

/** Records the owner of objects. If that fails, only the master key can use them. */
export async function rememberOwner(
  { limiter, log }: { readonly limiter: Pick<Limiter, "call">; readonly log: Pick<Log, "warn"> },
  { operation, provider, userPath, ids }: CreatedObjects,
): Promise<void> {
  if (ids.length === 0) return;
  const answer = await limiter.call("objects.own", {
    user_path: userPath,
    days: keptDays(operation),
    objects: ids.map((id) => ({ provider, id })),
  });
  if (!answer.ok)
    log.warn(
      { user_path: userPath, provider, ids, reason: answer.failure.message },
      "the owner of a stored object can't be recorded: only the master key can use it",
    );
}

function keptDays(operation: Operation): number {
  if (operation === "responses") return responseDays;
  if (operation === "messages") return threadDays;
  return operation === "interactions" ? interactionDays : objectDays;
}

/** The answer for an id that isn't the caller's, whether it exists or not. */
export function noSuchObject(id: string, field: string | null = null): Failure {
  const message = `there is no ${id} of this user path`;
  const missing = { ...plainFailure(404, "not_found_error", message), param: field };
  return field === "previous_message_id" ? { ...missing, details: lostThread } : missing;
}

/** At this code Anthropic's SDKs begin a new thread with the whole conversation. */
const lostThread = { error_code: "thread_not_found" };

function tooMany(): Failure {
  return invalid(`the body names more than ${namedMax} stored objects`, "body");
}

/**
 * Why a request may not name these objects: another path made one of them. The provider decides
 * about objects without a known owner, such as a file that the operator uploaded for everyone.
 * Returns null for an unknown caller, too, whose request is refused anyway. `named` is null if the
 * request names too many.
 */
export async function foreignObject(
  { limiter }: { readonly limiter: Pick<Limiter, "call" | "authorize" | "notices" | "reachable"> },
  caller: Caller,
  named: NamedIds | null,
): Promise<Failure | null> {
  if (named?.size === 0 || caller.isOperator) return null;
  const authorized = await authorizeCaller(limiter as Limiter, caller, "model");
  if (!authorized.ok) return null;
  if (named === null) return tooMany();
  const foreign = await firstForeign(limiter, authorized.caller.userPath, [...named.keys()]);
  if (!foreign.ok) return foreign.failure;
  return foreign.id === null ? null : noSuchObject(foreign.id, named.get(foreign.id)!);
}

/** The first object that only other paths made; null without one. */
export async function firstForeign(
  limiter: Pick<Limiter, "call">,
  userPath: string,
  ids: readonly string[],
): Promise<
  | { readonly ok: true; readonly id: string | null }
  | { readonly ok: false; readonly failure: Failure }
> {
  const answer = await ownersOf(limiter, ids);
  if (!answer.ok) return answer;
  const foreign = ids.find((id) => {
    const owners = answer.owners.get(id)!;
    return owners.length > 0 && !owners.some((owner) => owner.userPath === userPath);
  });
  return { ok: true, id: foreign ?? null };
}

/** Why this caller may not use the objects that a model request names; null if it may. */
export async function foreignInCall(
  gateway: { readonly limiter: Limiter },
  caller: Caller,
  { repeated, ids }: Naming,
): Promise<Failure | null> {
  return repeated ?? foreignObject(gateway, caller, ids);
}

/**
 * Whether these targets belong to several accounts, so that the owner of a stored object must be
 * recorded.
 */
export function hasSeveralProviders(targets: readonly Target[]): boolean {
  return targets.some(({ provider }) => provider !== targets[0]!.provider);
}

/** Whether a request may continue what a provider has stored. */
export function mayContinue(
  call: NamedValues & {
    readonly operation: Operation;
  },
): boolean {
  const { operation } = call;
  return (
    operation === "responses" ||
    operation === "compact" ||
    operation === "input_tokens" ||
    operation === "interactions" ||
    (operation === "messages" && hasThread(call))
  );
}

/** Whether a request of the Messages API begins or continues a thread at its provider. */
export function hasThread(call: NamedValues): boolean {
  return call.valuesOf("thread").some((value) => value !== "null");
}

/** The part of the gateway that knows the accounts of providers. */
type Providers = ReadonlyMap<string, { readonly config: Pick<ProviderConfig, "account"> }>;

/**
 * The targets at the account that has the conversation which the body continues; others would
 * answer that it doesn't exist. All targets if it continues none, if the account is unknown or has
 * no target, or if the daemon is away.
 */
export async function targetsOfMaker(
  {
    limiter,
    providers,
  }: { readonly limiter: Pick<Limiter, "call">; readonly providers: Providers },
  call: NamedValues,
  targets: readonly Target[],
): Promise<readonly Target[]> {
  if (!hasSeveralProviders(targets)) return targets;
  const ids = continuedIds(call);
  if (ids.length === 0) return targets;
  const answer = await ownersOf(limiter, ids);
  if (!answer.ok) return targets;
  // A provider may have been removed since.
  const accountOf = (provider: string): string =>
    providers.get(provider)?.config.account ?? provider;
  const makers = [...answer.owners.values()].flat().map(({ provider }) => accountOf(provider));
  const ofMakers = targets.filter(({ provider }) => makers.includes(accountOf(provider)));
  return ofMakers.length === 0 ? targets : ofMakers;
}

/** The ids of the conversation that a body continues, in the fields of any of these APIs. */
function continuedIds(call: NamedValues): readonly string[] {
  return ["previous_response_id", "previous_interaction_id", "conversation", "thread"].flatMap(
    (name): readonly string[] => {
      const json = call.valuesOf(name).at(-1);
      const value = json === undefined ? null : parseJson(json);
      const idField = name === "thread" ? "previous_message_id" : "id";
      const id: unknown = isObject(value) ? value[idField] : value;
      return isObjectId(id) ? [id] : [];
    },
  );
}
