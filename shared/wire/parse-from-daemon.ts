/**
 * The check of frames from the daemon. The daemon is trusted to mean well, not to be of the same
 * version; the grammar is in `to-wire.ts`.
 */
import { isCount, isObject } from "../checked.js";
import { budgetScopes } from "../domain/budget.js";
import { scopes } from "../domain/rule.js";
import type { Dimension, SuccessHeaders } from "../domain/verdict.js";
import { errorTypes, type Failure } from "../error-code.js";
import { isMoment } from "../time.js";
import { jwtChangeFromWire } from "./jwt-change.js";
import type {
  Admitted,
  Authorized,
  DaemonEvent,
  EndedKey,
  Exceeded,
  FromDaemon,
  KeyOfCaller,
  Refused,
  UnknownEvent,
  Welcome,
} from "./message-from-daemon.js";

const dimensions: readonly Dimension[] = ["requests", "tokens", "concurrent", "children"];

/**
 * What a frame from the daemon holds, or null when it breaks the grammar. Fields behind the known
 * ones are a later release's, and are passed over.
 */
export function parseFromDaemon(frame: unknown): FromDaemon | UnknownEvent | null {
  if (!Array.isArray(frame)) return null;
  const [kind, id, third]: readonly unknown[] = frame;
  if (!isCount(id)) return null;
  switch (kind) {
    case "admitted":
      return admittedFromWire(id, frame);
    case "refused":
      return refusedFromWire(id, frame);
    case "exceeded":
      return exceededFromWire(id, frame);
    case "denied":
      return { kind: "denied", id, ended: endedFromWire(frame) };
    case "authorized":
      return authorizedFromWire(id, frame);
    case "settled":
      return { kind: "settled", seq: id };
    case "welcome":
      return welcomeFromWire(id, frame);
    case "answer":
      return { kind: "answer", id, body: third };
    case "failed": {
      const failure = failureFromWire(third);
      return failure === null ? null : { kind: "failed", id, failure };
    }
    case "event":
      return eventFromWire(frame);
    default:
      return null;
  }
}

function admittedFromWire(id: number, frame: readonly unknown[]): Admitted | null {
  const [, , target, admittedAtMs, lsn, flat, rawKey] = frame;
  const key = keyFromWire(rawKey);
  if (
    !isCount(target) ||
    !isCount(admittedAtMs) ||
    !isCount(lsn) ||
    !Array.isArray(flat) ||
    key === undefined
  )
    return null;
  return { kind: "admitted", id, target, admittedAtMs, lsn, headers: headersFromWire(flat), key };
}

function refusedFromWire(id: number, frame: readonly unknown[]): Refused | null {
  const [, , rawScope, subject, periodSeconds, rawDimension, cap, waitSeconds, rawKey] = frame;
  const scope = scopes.find((known) => known === rawScope);
  const dimension = dimensions.find((known) => known === rawDimension);
  const key = keyFromWire(rawKey);
  if (
    key === undefined ||
    scope === undefined ||
    dimension === undefined ||
    typeof subject !== "string" ||
    !isCount(periodSeconds) ||
    !isCount(cap) ||
    !isCount(waitSeconds, 1)
  )
    return null;
  return { kind: "refused", id, scope, subject, periodSeconds, dimension, cap, waitSeconds, key };
}

function exceededFromWire(id: number, frame: readonly unknown[]): Exceeded | null {
  const [, , rawScope, subject, periodSeconds, spentUsd, amountUsd, waitSeconds, flat, rawKey] =
    frame;
  const key = keyFromWire(rawKey);
  const scope = budgetScopes.find((known) => known === rawScope);
  if (
    key === undefined ||
    scope === undefined ||
    typeof subject !== "string" ||
    !isCount(periodSeconds, 1) ||
    !isCount(waitSeconds, 1) ||
    !Array.isArray(flat)
  )
    return null;
  if (
    typeof spentUsd !== "number" ||
    typeof amountUsd !== "number" ||
    !(spentUsd >= 0) ||
    !(amountUsd > 0)
  )
    return null;
  return {
    kind: "exceeded",
    id,
    dimension: "budget",
    scope,
    subject,
    periodSeconds,
    spentUsd,
    amountUsd,
    waitSeconds,
    headers: headersFromWire(flat),
    key,
  };
}

/** Daemons of earlier releases don't say it. */
function endedFromWire([, , keyId, expiredAtMs]: readonly unknown[]): EndedKey | null {
  if (typeof keyId !== "string" || keyId === "") return null;
  return { keyId, expiredAtMs: isMoment(expiredAtMs) && expiredAtMs > 0 ? expiredAtMs : null };
}

function authorizedFromWire(id: number, frame: readonly unknown[]): Authorized | null {
  const [, , userPath, keyId, models] = frame;
  if (typeof userPath !== "string" || typeof keyId !== "string") return null;
  if (models === undefined) return { kind: "authorized", id, userPath, keyId };
  return Array.isArray(models) && models.every((pattern) => typeof pattern === "string")
    ? { kind: "authorized", id, userPath, keyId, models }
    : null;
}

function welcomeFromWire(id: number, frame: readonly unknown[]): Welcome | null {
  const [, , daemonVersion, settledSeq, limited, inertRules, inertBudgets, keysExist, jwts] = frame;
  if (
    typeof daemonVersion !== "string" ||
    !isCount(settledSeq) ||
    typeof limited !== "boolean" ||
    !isCount(inertRules) ||
    !isCount(inertBudgets) ||
    typeof keysExist !== "boolean"
  )
    return null;
  return {
    kind: "welcome",
    id,
    daemonVersion,
    settledSeq,
    limited,
    inertRules,
    inertBudgets,
    keysExist,
    // Daemons of earlier releases don't know any.
    deniedJwts: isCount(jwts) ? jwts : 0,
  };
}

function eventFromWire([, , name, value]: readonly unknown[]): DaemonEvent | UnknownEvent | null {
  switch (name) {
    case "limited":
      return typeof value === "boolean" ? { kind: "event", name, value } : null;
    case "inert_rules":
    case "inert_budgets":
      return isCount(value) ? { kind: "event", name, value } : null;
    case "last_backup":
      return isMoment(value) ? { kind: "event", name, value } : null;
    case "keys_exist":
      return value === true ? { kind: "event", name, value } : null;
    case "jwts_denied": {
      const change = jwtChangeFromWire(value);
      return change === null ? null : { kind: "event", name, value: change };
    }
    case "store_failing":
    case "cluster_failing":
      return value === null || typeof value === "string" ? { kind: "event", name, value } : null;
    default:
      return typeof name === "string" ? { kind: "unknown event" } : null;
  }
}

/** Null for a caller without a managed key, undefined for what isn't a key. */
function keyFromWire(flat: unknown): KeyOfCaller | null | undefined {
  if (!Array.isArray(flat)) return undefined;
  if (flat.length === 0) return null;
  const [userPath, keyId]: readonly unknown[] = flat;
  return typeof userPath === "string" && typeof keyId === "string"
    ? { userPath, keyId }
    : undefined;
}

function failureFromWire(value: unknown): Failure | null {
  if (!isObject(value)) return null;
  const { status, type, message, code, param, provider } = value;
  const known = errorTypes.find((name) => name === type);
  if (!isCount(status, 400) || status > 599 || known === undefined || typeof message !== "string")
    return null;
  if (!isTextOrNull(code) || !isTextOrNull(param) || !isTextOrNull(provider)) return null;
  return { status, type: known, message, code, param, provider };
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}

function headersFromWire(flat: readonly unknown[]): SuccessHeaders | null {
  const [requestLimit, requestsLeft, requestReset, tokenLimit, tokensLeft, tokenReset] = flat;
  if (!isCount(requestLimit) || !isCount(requestsLeft) || !isCount(requestReset)) return null;
  if (!isCount(tokenLimit) || !isCount(tokensLeft) || !isCount(tokenReset)) return null;
  return {
    requests:
      requestLimit > 0
        ? { limit: requestLimit, remaining: requestsLeft, resetSeconds: requestReset }
        : null,
    tokens:
      tokenLimit > 0
        ? { limit: tokenLimit, remaining: tokensLeft, resetSeconds: tokenReset }
        : null,
  };
}
