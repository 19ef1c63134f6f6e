/**
 * Messages as the arrays of the wire, and the grammar of what proxy, command line and daemon send
 * to each other. Each frame is `u32be length` + one msgpack array `[kind, id, …]`; `codec.ts` makes
 * the bytes; `parse-to-daemon.ts` and `parse-from-daemon.ts` turn arrays into messages again.
 *
 * Towards the daemon:
 *
 *   hello id wireVersion role proxyId leases more
 *     first on each connection; wireVersion: see `wire-versions.ts`; `more`: another hello with
 *     further leases follows
 *   read connection earlier
 *     first after the welcome of a proxy: see `VerdictsRead`; earlier: [connection, read,
 *     connection, read, …]
 *   admit id userPath credential targets submission [read [modelNames [unpriced]]]
 *     credential: see `Claimed`; targets: [provider, model, provider, model, …] in order of
 *     preference, or none for a judgement alone (see `Admit`); model "": the request names none;
 *     read: how many `admitted` of this connection the proxy has read; modelNames: by which a key's
 *     list may allow the model
 *   authorize id credential
 *     whether a caller is known whose request isn't limited
 *   reroute id lease targets [read]
 *     the lease's target has failed: the first of these with room takes over
 *   hold 0 leases
 *     requests that went to a target without a verdict; leases as in a hello, of which those that
 *     are held already move to another target
 *   settle seq part lease userPath admittedAtMs lsn attempt startedAgoMs endedAgoMs tokens
 *          estimated record [targetStartedAgoMs]
 *     part: see `settledParts`; lease 0: the request had no verdict; record: for the usage record
 *     (`execution.ts`), of `request`, `progress` and `cached`, or []; one that makes no sense is
 *     dropped, while its settle counts
 *   release lease
 *     the request has ended and frees its slots; its settle stands behind a backlog
 *   refusal id requestId model
 *     id: of the refused admit; which request that was, to explain it later
 *   admin id op body
 *     op: an `AdminOp`, or one of a later release, which is answered with failed; body: that of
 *     the HTTP API
 *
 * From the daemon:
 *
 *   welcome id daemonVersion settledSeq limited inertRules inertBudgets keysExist deniedJwts
 *     settledSeq: the last settle of this proxy that is durable; deniedJwts: how many; the rest as
 *     in the events
 *   admitted id target admittedAtMs lsn headers key
 *     to admit and reroute; target: index into its targets; headers: [] or six counts; key:
 *     [userPath, keyId] of a caller with a managed key, else []
 *   refused id scope subject periodSeconds dimension cap waitSeconds key
 *     to admit and reroute: a rule refuses
 *   exceeded id scope subject periodSeconds spentUsd amountUsd waitSeconds headers key
 *     to admit: a budget refuses; headers as in admitted, with nothing counted
 *   denied id keyId expiredAtMs
 *     to admit and authorize: the credential is unknown (keyId "") or not allowed any more;
 *     expiredAtMs 0: it hasn't expired
 *   authorized id userPath keyId [models]
 *     to authorize, and to an admit without targets; userPath: what the key is bound to, else "";
 *     models: that it may use
 *   settled seq
 *     every settle up to seq is durable
 *   answer id body
 *     to admin
 *   failed id failure
 *     to admin; to an admit or a reroute that the daemon can't take; and to a hello of a version
 *     that it doesn't speak: then it takes a proxy's settles, and nothing else
 *   event 0 name value
 *     `limited`: whether any rule or budget exists, so whether requests need a verdict
 *     `inert_rules`, `inert_budgets`: how many are loaded and do nothing
 *     `last_backup`: when the last backup was made; after a welcome only if one is known
 *     `keys_exist`: a managed key exists, so that callers without credentials are denied
 *     `jwts_denied`: [complete, denied, allowed], how the list of denied JWTs changes; denied:
 *     [claim, value, issuer, expiresAtMs, …], allowed: [claim, value, issuer, …], issuer "" and
 *     expiresAtMs 0 for none; the whole list follows a welcome, unless it is empty, the last
 *     part `complete`
 *     `store_failing`: why the store can't be written, null once it can; after a welcome only if
 *     it can't; `cluster_failing`: likewise of the engine that hosts share
 *
 * Fields behind these are a later release's, and are passed over.
 *
 * A lease is named by the id of its `admit`, which is unique within a proxy's life; in a hello it
 * is `[lease, userPath, admittedAtMs, lsn, attempt, submission]`. `lsn` is the daemon's log
 * sequence number at the admission: by it a restarted daemon sees whether its restored windows
 * already hold the request. An attempt is `[provider, model, atMs, lsn]`, with the number under
 * which its target counted it: that of the admission, or of the reroute; or `[]` while the request
 * has no target. A request without a verdict has the number 0 and is counted with its settle; if
 * it needed none because no rule existed, it has `unlimitedLsn`, and no later rule counts it.
 * When the daemon answers again, a proxy reports each request that still runs without a verdict: as
 * a lease with `uncountedLsn`, which holds its slots, and in a settle of its own without a lease
 * and tokens, which counts it; the settle that ends it has `uncountedLsn` then.
 * Settles of one proxy carry ascending `seq` and are sent in that order, so the number alone
 * identifies a repeat.
 *
 * A submission hands in work that is done elsewhere, such as a batch: the user path's rules count
 * it as one request, it holds no slot, and it counts in no target's rules; so its lease never has
 * an attempt. A settle doesn't mark it: it moves no slots, and without an attempt it counts at the
 * path alone.
 */
import type { Target } from "../domain/target-name.js";
import type { SuccessHeaders } from "../domain/verdict.js";
import { executionToWire } from "./execution.js";
import { jwtChangeToWire } from "./jwt-change.js";
import type { FromDaemon, KeyOfCaller } from "./message-from-daemon.js";
import type { ToDaemon } from "./message-to-daemon.js";
import { attemptToWire, leaseToWire } from "./wire-lease.js";

/** A message as the array that goes on the wire. */
export function toWire(message: ToDaemon | FromDaemon): readonly unknown[] {
  switch (message.kind) {
    case "admit": {
      const { id, userPath, credential, submission, read, modelNames } = message;
      const targets = flattenTargets(message.targets);
      if (message.targets.some(isUnpriced))
        return [
          ...["admit", id, userPath, credential, targets, submission],
          ...[read ?? null, modelNames ?? null, message.targets.map(isUnpriced)],
        ];
      if (read === undefined) return ["admit", id, userPath, credential, targets, submission];
      return modelNames === undefined
        ? ["admit", id, userPath, credential, targets, submission, read]
        : ["admit", id, userPath, credential, targets, submission, read, modelNames];
    }
    case "settle": {
      const fields: unknown[] = [
        "settle",
        message.seq,
        message.part,
        message.lease,
        message.userPath,
        message.admittedAtMs,
        message.lsn,
        attemptToWire(message),
        message.startedAgoMs,
        message.endedAgoMs,
        message.tokens,
        message.estimated,
        executionToWire(message.record),
      ];
      if (message.targetStartedAgoMs !== undefined) fields.push(message.targetStartedAgoMs);
      return fields;
    }
    case "reroute":
      return [
        "reroute",
        message.id,
        message.lease,
        flattenTargets(message.targets),
        ...readToWire(message.read),
      ];
    case "hold":
      return ["hold", 0, message.leases.map(leaseToWire)];
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
      return ["denied", message.id, message.ended?.keyId ?? "", message.ended?.expiredAtMs ?? 0];
    case "authorize":
      return ["authorize", message.id, message.credential];
    case "authorized":
      return [
        "authorized",
        message.id,
        message.userPath,
        message.keyId,
        ...(message.models === undefined ? [] : [message.models]),
      ];
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
        message.leases.map(leaseToWire),
        message.more,
      ];
    case "read":
      return ["read", message.connection, message.earlier.flat()];
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
        message.deniedJwts,
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
      return message.name === "jwts_denied"
        ? ["event", 0, message.name, jwtChangeToWire(message.value)]
        : ["event", 0, message.name, message.value];
  }
}

function readToWire(read: number | undefined): readonly number[] {
  return read === undefined ? [] : [read];
}

function isUnpriced({ unpriced }: Target): boolean {
  return unpriced === true;
}

function flattenTargets(targets: readonly Target[]): string[] {
  if (targets.length === 1) return [targets[0]!.provider, targets[0]!.model];
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
