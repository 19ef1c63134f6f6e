/**
 * The check of frames towards the daemon. A peer that sends one that breaks the grammar, which is
 * in `to-wire.ts`, is closed.
 */
import { modelNamesMax } from "../access/allowed-models.js";
import { candidatesMax, connectionsNamedMax, requestIdCharsMax } from "../bounds.js";
import { isCount } from "../checked.js";
import { isKeyHash } from "../domain/managed-key.js";
import type { Target } from "../domain/target-name.js";
import { isNormalUserPath } from "../domain/user-path.js";
import { adminOps, isOperationName } from "./admin-op.js";
import { executionFromWire } from "./execution.js";
import {
  type Admit,
  type ForeignHello,
  type Hello,
  type OfOtherRelease,
  type Reroute,
  type Settle,
  settledParts,
  type ToDaemon,
  type VerdictsRead,
} from "./message-to-daemon.js";
import { isModelName, isName, leaseFromWire, leasesFromWire } from "./wire-lease.js";
import { speaks, type WireVersions, wireVersions } from "./wire-versions.js";

/**
 * What a frame towards the daemon holds, or null when it breaks the grammar. Fields behind the
 * known ones are a later release's, and are passed over.
 */
export function parseToDaemon(
  frame: unknown,
  versions: WireVersions = wireVersions,
): ToDaemon | OfOtherRelease | null {
  if (!Array.isArray(frame)) return null;
  const id: unknown = frame[1];
  if (!isCount(id)) return null;
  switch (frame[0]) {
    case "admit":
      return admitFromWire(id, frame);
    case "settle":
      return settleFromWire(id, frame);
    case "read":
      return readFromWire(id, frame[2]);
    case "release":
      return id > 0 ? { kind: "release", id } : null;
    case "refusal":
      return isRequestId(frame[2]) && isModelName(frame[3])
        ? { kind: "refusal", id, requestId: frame[2], model: frame[3] }
        : null;
    case "authorize":
      return isCredential(frame[2]) ? { kind: "authorize", id, credential: frame[2] } : null;
    case "reroute":
      return rerouteFromWire(id, frame);
    case "hold": {
      const leases = leasesFromWire(frame[2]);
      return leases === null || id !== 0 ? null : { kind: "hold", leases };
    }
    case "admin": {
      if (frame.length < 4 || !isOperationName(frame[2])) return null;
      const op = adminOps.find((known) => known === frame[2]);
      return op === undefined
        ? { kind: "unknown operation", id, op: frame[2] }
        : { kind: "admin", id, op, body: frame[3] as unknown };
    }
    case "hello":
      return helloFromWire(id, frame, versions);
    default:
      return null;
  }
}

function admitFromWire(id: number, frame: readonly unknown[]): Admit | null {
  const userPath = frame[2];
  const credential = frame[3];
  const submission = frame[5];
  const unpriced = frame[8] ?? undefined;
  // In front of `unpriced`, absent fields are null.
  const [read, modelNames] =
    unpriced === undefined ? [frame[6], frame[7]] : [frame[6] ?? undefined, frame[7] ?? undefined];
  if (
    typeof userPath !== "string" ||
    !isNormalUserPath(userPath) ||
    !isCredential(credential) ||
    typeof submission !== "boolean" ||
    !isOptionalCount(read) ||
    !(modelNames === undefined || isModelNames(modelNames))
  )
    return null;
  const named = targetsFromWire(frame[4], 0);
  const targets = named === null ? null : withoutPrices(named, unpriced);
  return targets === null
    ? null
    : { kind: "admit", id, userPath, credential, targets, submission, read, modelNames };
}

/** `unpriced`: for each target whether it has no price; undefined: it is absent. */
function withoutPrices(targets: readonly Target[], unpriced: unknown): readonly Target[] | null {
  if (unpriced === undefined) return targets;
  return Array.isArray(unpriced) &&
    unpriced.length === targets.length &&
    unpriced.every((one) => typeof one === "boolean")
    ? targets.map((target, i) => (unpriced[i] === true ? { ...target, unpriced: true } : target))
    : null;
}

function isOptionalCount(value: unknown): value is number | undefined {
  return value === undefined || isCount(value);
}

function isModelNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length <= modelNamesMax && value.every(isModelName);
}

function isCredential(value: unknown): value is string {
  return value === "authenticated" || value === "none" || isKeyHash(value);
}

function rerouteFromWire(id: number, frame: readonly unknown[]): Reroute | null {
  const [, , lease, flat, read] = frame;
  const targets = targetsFromWire(flat);
  return targets === null || !isCount(lease, 1) || !isOptionalCount(read)
    ? null
    : { kind: "reroute", id, lease, targets, read };
}

function targetsFromWire(flat: unknown, targetsMin = 1): Target[] | null {
  if (
    !Array.isArray(flat) ||
    flat.length < targetsMin * 2 ||
    flat.length % 2 !== 0 ||
    flat.length > candidatesMax * 2
  )
    return null;
  const targets: Target[] = [];
  for (let i = 0; i < flat.length; i += 2) {
    const provider: unknown = flat[i];
    const model: unknown = flat[i + 1];
    if (!isName(provider) || !isModelName(model)) return null;
    targets.push({ provider, model });
  }
  return targets;
}

function settleFromWire(seq: number, frame: readonly unknown[]): Settle | null {
  const part = settledParts.find((known) => known === frame[2]);
  const lease = leaseFromWire([frame[3], frame[4], frame[5], frame[6], frame[7], false]);
  const startedAgoMs = frame[8];
  const endedAgoMs = frame[9];
  const tokens = frame[10];
  const estimated = frame[11];
  const record = executionFromWire(frame[12]);
  const targetStartedAgoMs = frame[13];
  if (
    seq < 1 ||
    part === undefined ||
    lease === null ||
    !isCount(startedAgoMs) ||
    !isCount(endedAgoMs) ||
    !isCount(tokens) ||
    typeof estimated !== "boolean" ||
    record === undefined ||
    !isOptionalCount(targetStartedAgoMs)
  )
    return null;
  if (
    ((part === "attempt" || part === "untried" || part === "progress") && lease.target === null) ||
    ((part === "attempt" || part === "untried" || part === "withdrawn") && record !== null)
  )
    return null;
  const isAlone = part === "cached" || part === "final";
  if (isAlone && (lease.lease !== 0 || lease.target !== null || tokens !== 0)) return null;
  // Field by field, not by spreading the lease: V8 would make a new hidden class for each settle.
  return {
    kind: "settle",
    seq,
    part,
    lease: lease.lease,
    userPath: lease.userPath,
    admittedAtMs: lease.admittedAtMs,
    lsn: lease.lsn,
    target: lease.target,
    targetAtMs: lease.targetAtMs,
    targetLsn: lease.targetLsn,
    startedAgoMs,
    endedAgoMs,
    targetStartedAgoMs,
    tokens,
    estimated,
    record,
  };
}

function helloFromWire(
  id: number,
  frame: readonly unknown[],
  versions: WireVersions,
): Hello | ForeignHello | null {
  const [, , theirVersion, theirRole, theirId, flat, more] = frame;
  if (!isCount(theirVersion)) return null;
  const role = theirRole === "proxy" || theirRole === "cli" ? theirRole : null;
  const proxyId = isProxyId(theirId) ? theirId : null;
  if (!speaks(versions, theirVersion))
    return { kind: "foreign hello", id, wireVersion: theirVersion, role, proxyId };
  if (role === null || proxyId === null || typeof more !== "boolean") return null;
  const leases = leasesFromWire(flat);
  return leases === null
    ? null
    : { kind: "hello", id, wireVersion: theirVersion, role, proxyId, leases, more };
}

function readFromWire(connection: number, flat: unknown): VerdictsRead | null {
  if (connection === 0 || !Array.isArray(flat) || flat.length > 2 * connectionsNamedMax)
    return null;
  const earlier: (readonly [number, number])[] = [];
  for (let i = 0; i < flat.length; i += 2) {
    const [other, read] = flat.slice(i, i + 2) as unknown[];
    if (!isCount(other, 1) || !isCount(read)) return null;
    earlier.push([other, read]);
  }
  return { kind: "read", connection, earlier };
}

function isProxyId(value: unknown): value is string {
  return typeof value === "string" && /^[\w-]{1,64}$/.test(value);
}

function isRequestId(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= requestIdCharsMax;
}
