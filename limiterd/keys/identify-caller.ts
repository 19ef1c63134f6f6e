/**
 * Identifies the caller of a request: its user path, its managed key, and whether the key may use
 * the model (docs/authentication.md). Managed keys are checked here; the proxy has authenticated
 * other callers.
 */

import { keyOfAdministration } from "../../shared/access/admin-role.js";
import { allowsModel, modelNotAllowed } from "../../shared/access/allowed-models.js";
import { type Target, targetName } from "../../shared/domain/target-name.js";
import type { Failure } from "../../shared/error-code.js";
import type { EndedKey, KeyOfCaller } from "../../shared/wire/message-from-daemon.js";
import type { Claimed } from "../../shared/wire/message-to-daemon.js";
import { expiryOf, isAccepted, type KeyRing, type ManagedKey } from "./key-ring.js";

export interface IdentifiedCaller {
  readonly kind: "identified";
  readonly userPath: string;
  /** Null for a caller without a managed key. */
  readonly key: ManagedKey | null;
}

/** The request is refused with 401. */
interface UnknownCaller {
  readonly kind: "denied";
  readonly ended: EndedKey | null;
}

/** Notes the use of an active key. */
export function identifyCaller(
  keys: KeyRing,
  claimed: Claimed,
  nowMs: number,
): IdentifiedCaller | UnknownCaller {
  const caller = findCaller(keys, claimed, nowMs);
  if (caller.kind === "identified" && caller.key !== null)
    keys.use(caller.key, claimed.credential, nowMs);
  return caller;
}

/** Whether the caller of a request is refused now, or its key doesn't allow the model. */
export function isDenied(keys: KeyRing, request: Claimed & RequestedModel, nowMs: number): boolean {
  const caller = findCaller(keys, request, nowMs);
  return caller.kind === "denied" || modelProblem(caller.key, request) !== null;
}

function findCaller(
  keys: KeyRing,
  { userPath, credential }: Claimed,
  nowMs: number,
): IdentifiedCaller | UnknownCaller {
  if (credential === "authenticated" || (credential === "none" && keys.size === 0))
    return { kind: "identified", userPath, key: null };
  const key = keys.find(credential);
  if (key === undefined) return { kind: "denied", ended: null };
  if (!isAccepted(key, credential, nowMs)) {
    const expiredAtMs = key.deactivatedAtMs === null ? expiryOf(key, credential) : null;
    return { kind: "denied", ended: { keyId: key.id, expiredAtMs } };
  }
  return { kind: "identified", userPath: key.userPath ?? userPath, key };
}

/** The part of a caller's key that the proxy receives. */
export function keyOf({ userPath, key }: IdentifiedCaller): KeyOfCaller | null {
  return key === null ? null : { userPath, keyId: key.id };
}

interface RequestedModel {
  readonly targets: readonly Target[];
  /** See `Admit`. */
  readonly modelNames?: readonly string[] | undefined;
}

/** The refusal, or null. Without `modelNames` the key must allow every target. */
export function modelProblem(
  key: Pick<ManagedKey, "id" | "models" | "role"> | null,
  { targets, modelNames }: RequestedModel,
): Failure | null {
  if (key === null) return null;
  const { id, models, role } = key;
  if (role !== null) return keyOfAdministration(id);
  if (models === null) return null;
  const requested = modelNames === undefined ? targets.map(namesOf) : [modelNames];
  const refused = requested.find((names) => !allowsModel(models, names));
  return refused === undefined ? null : modelNotAllowed(id, models, refused);
}

function namesOf(target: Target): readonly string[] {
  const { model } = target;
  if (model === "") return [];
  // The part before a slash may be a provider that the daemon doesn't know.
  return model.includes("/") ? [targetName(target)] : [targetName(target), model];
}
