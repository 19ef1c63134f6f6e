/**
 * Messages as the arrays of the wire. Their grammar is in `message.ts`; `parse-to-daemon.ts` and
 * `parse-from-daemon.ts` turn arrays into messages again.
 */
import { executionToWire } from "./execution.js";
import type {
  FromDaemon,
  KeyOfCaller,
  Lease,
  SuccessHeaders,
  Target,
  ToDaemon,
} from "./message.js";

/** A message as the array that goes on the wire. */
export function toWire(message: ToDaemon | FromDaemon): readonly unknown[] {
  switch (message.kind) {
    case "admit":
      return [
        "admit",
        message.id,
        message.userPath,
        message.credential,
        flattenTargets(message.targets),
        message.submission,
      ];
    case "settle":
      return [
        "settle",
        message.seq,
        message.part,
        message.lease,
        message.userPath,
        message.admittedAtMs,
        message.lsn,
        flattenAttempt(message),
        message.startedAgoMs,
        message.endedAgoMs,
        message.tokens,
        message.estimated,
        executionToWire(message.record),
      ];
    case "reroute":
      return ["reroute", message.id, message.lease, flattenTargets(message.targets)];
    case "admitted":
      return [
        "admitted",
        message.id,
        message.target,
        message.admittedAtMs,
        message.lsn,
        flattenHeaders(message.headers),
        flattenKey(message.key),
      ];
    case "refused":
      return [
        "refused",
        message.id,
        message.scope,
        message.subject,
        message.periodSeconds,
        message.dimension,
        message.cap,
        message.waitSeconds,
        flattenKey(message.key),
      ];
    case "denied":
      return ["denied", message.id];
    case "authorize":
      return ["authorize", message.id, message.credential];
    case "authorized":
      return ["authorized", message.id, message.userPath, message.keyId];
    case "exceeded":
      return [
        "exceeded",
        message.id,
        message.scope,
        message.subject,
        message.periodSeconds,
        message.spentUsd,
        message.amountUsd,
        message.waitSeconds,
        flattenHeaders(message.headers),
        flattenKey(message.key),
      ];
    case "settled":
      return ["settled", message.seq];
    case "hello":
      return [
        "hello",
        message.id,
        message.wireVersion,
        message.role,
        message.proxyId,
        message.leases.map(flattenLease),
        message.more,
      ];
    case "welcome":
      return [
        "welcome",
        message.id,
        message.daemonVersion,
        message.settledSeq,
        message.limited,
        message.inertRules,
        message.inertBudgets,
        message.keysExist,
      ];
    case "release":
      return ["release", message.id];
    case "refusal":
      return ["refusal", message.id, message.requestId, message.model];
    case "admin":
      return ["admin", message.id, message.op, message.body ?? null];
    case "answer":
      return ["answer", message.id, message.body];
    case "failed":
      return ["failed", message.id, message.failure];
    case "event":
      return ["event", 0, message.name, message.value];
  }
}

function flattenTargets(targets: readonly Target[]): string[] {
  const flat: string[] = [];
  for (const target of targets) flat.push(target.provider, target.model);
  return flat;
}

function flattenHeaders(headers: SuccessHeaders | null): number[] {
  if (headers === null) return [];
  const { requests, tokens } = headers;
  return [
    requests?.limit ?? 0,
    requests?.remaining ?? 0,
    requests?.resetSeconds ?? 0,
    tokens?.limit ?? 0,
    tokens?.remaining ?? 0,
    tokens?.resetSeconds ?? 0,
  ];
}

function flattenKey(key: KeyOfCaller | null): string[] {
  return key === null ? [] : [key.userPath, key.keyId];
}

function flattenLease(lease: Lease): unknown[] {
  return [
    lease.lease,
    lease.userPath,
    lease.admittedAtMs,
    lease.lsn,
    flattenAttempt(lease),
    lease.submission,
  ];
}

function flattenAttempt({
  target,
  targetAtMs,
  targetLsn,
}: Pick<Lease, "target" | "targetAtMs" | "targetLsn">): unknown[] {
  return target === null ? [] : [target.provider, target.model, targetAtMs, targetLsn];
}
