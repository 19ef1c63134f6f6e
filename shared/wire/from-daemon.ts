/**
 * Frames from the daemon, checked. The daemon is trusted to mean well, not to be of the same
 * version; the grammar stands in `message.ts`.
 */
import { isCount } from "../assert.js";
import { budgetScopes } from "../domain/budget.js";
import { scopes } from "../domain/rule.js";
import { errorTypes, type Failure } from "../error-code.js";
import type { Dimension, FromDaemon, KeyOfCaller, SuccessHeaders } from "./message.js";

const dimensions: readonly Dimension[] = ["requests", "tokens", "concurrent"];

/** What a frame from the daemon holds, or null when it breaks the grammar. */
export function fromDaemonFromWire(frame: unknown): FromDaemon | null {
  if (!Array.isArray(frame)) return null;
  const id: unknown = frame[1];
  if (!isCount(id)) return null;
  switch (frame[0]) {
    case "admitted": {
      const [, , target, admittedAtMs, lsn, flat, rawKey] = frame as unknown[];
      const key = keyFromWire(rawKey);
      if (
        !isCount(target) ||
        !isCount(admittedAtMs) ||
        !isCount(lsn) ||
        !Array.isArray(flat) ||
        key === undefined
      )
        return null;
      return {
        kind: "admitted",
        id,
        target,
        admittedAtMs,
        lsn,
        headers: headersFromWire(flat),
        key,
      };
    }
    case "refused": {
      const [, , rawScope, subject, periodSeconds, rawDimension, cap, waitSeconds, rawKey] =
        frame as unknown[];
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
      return {
        kind: "refused",
        id,
        scope,
        subject,
        periodSeconds,
        dimension,
        cap,
        waitSeconds,
        key,
      };
    }
    case "denied":
      return { kind: "denied", id };
    case "authorized": {
      const [, , userPath, keyId] = frame as unknown[];
      return typeof userPath === "string" && typeof keyId === "string"
        ? { kind: "authorized", id, userPath, keyId }
        : null;
    }
    case "exceeded": {
      const [, , rawScope, subject, periodSeconds, spentUsd, amountUsd, waitSeconds, flat, rawKey] =
        frame as unknown[];
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
    case "settled":
      return { kind: "settled", seq: id };
    case "welcome": {
      const [, , daemonVersion, settledSeq, limited, inertRules, inertBudgets, keysExist] =
        frame as unknown[];
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
      };
    }
    case "answer":
      return { kind: "answer", id, body: (frame as unknown[])[2] };
    case "failed": {
      const failure = failureFromWire((frame as unknown[])[2]);
      return failure === null ? null : { kind: "failed", id, failure };
    }
    case "event": {
      const [, , name, value] = frame as unknown[];
      if (name === "keys_exist") return value === true ? { kind: "event", name, value } : null;
      if (name === "limited")
        return typeof value === "boolean" ? { kind: "event", name, value } : null;
      if (name === "store_failing")
        return value === null || typeof value === "string" ? { kind: "event", name, value } : null;
      return (name === "inert_rules" || name === "inert_budgets") && isCount(value)
        ? { kind: "event", name, value }
        : null;
    }
    default:
      return null;
  }
}

/** Undefined for what isn't one. */
function keyFromWire(flat: unknown): KeyOfCaller | null | undefined {
  if (!Array.isArray(flat)) return undefined;
  if (flat.length === 0) return null;
  const [userPath, keyId] = flat as unknown[];
  return typeof userPath === "string" && typeof keyId === "string"
    ? { userPath, keyId }
    : undefined;
}

function failureFromWire(value: unknown): Failure | null {
  if (typeof value !== "object" || value === null) return null;
  const { status, type, message, code, param, provider } = value as Record<string, unknown>;
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
  if (flat.length !== 6 || !flat.every((count) => isCount(count))) return null;
  const [requestLimit, requestsLeft, requestReset, tokenLimit, tokensLeft, tokenReset] = flat as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
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
