/**
 * What proxy, command line and daemon say to each other. Each frame is `u32be length` + one msgpack
 * array `[kind, id, …]`; `to-wire.ts` makes the array, `codec.ts`
 * the bytes; frames towards the daemon are checked here, those from it in `from-daemon.ts`.
 *
 * Towards the daemon:
 *
 *   hello    id wireVersion role proxyId leases more      first on each connection; `more`: another hello with further leases follows
 *   admit    id userPath targets                          targets: [provider, model, provider, model, …] in order of preference
 *   settle   seq lease userPath provider model admittedAtMs lsn startedAgoMs endedAgoMs tokens estimated
 *                                                         lease 0: let through unasked; its request is counted now
 *   refusal  id requestId model                           id: of the refused admit; which request that was, to explain it later
 *   admin    id op body                                   op: an `AdminOp`; body: what the HTTP API takes
 *
 * From the daemon:
 *
 *   welcome  id daemonVersion settledSeq limited inertRules
 *                                                         settledSeq: the last settle of this proxy that is durable; the rest as in the events
 *   admitted id target admittedAtMs lsn headers           target: index into the admission's targets; headers: [] or six counts
 *   refused  id scope subject periodSeconds dimension cap waitSeconds
 *   settled  seq                                          every settle up to seq is durable
 *   answer   id body                                      to admin
 *   failed   id failure                                   to admin, and to a hello that can't be welcomed
 *   event    0 name value                                 `limited`: whether any rule exists, so whether admissions must be asked for
 *                                                         `inert_rules`: how many rules are loaded and do nothing
 *
 * A lease is named by the id of its `admit`, which is unique within a proxy's life. `lsn` is the
 * daemon's log sequence number at the admission: handed back later, it tells a restarted daemon
 * whether its restored windows already hold the request. Settles of one proxy carry ascending `seq`
 * and travel in that order, so a repeat is known by its number alone.
 */
import { isCount } from "../assert.js";
import { candidatesMax, leasesPerHello, requestIdCharsMax, subjectBytesMax } from "../bounds.js";
import type { Failure } from "../error-code.js";
import type { Scope } from "../rule.js";
import { isNormalUserPath } from "../user-path.js";

/** Where a request may go: a provider instance and the model's id there. */
export interface Target {
  readonly provider: string;
  readonly model: string;
}

/** What a proxy holds of an admitted request, and all that it takes to hold it again. */
export interface Lease extends Target {
  readonly lease: number;
  readonly userPath: string;
  readonly admittedAtMs: number;
  readonly lsn: number;
}

export type Role = "proxy" | "cli";

export interface Hello {
  readonly kind: "hello";
  readonly id: number;
  readonly wireVersion: number;
  readonly role: Role;
  readonly proxyId: string;
  readonly leases: readonly Lease[];
  readonly more: boolean;
}

export interface Admit {
  readonly kind: "admit";
  readonly id: number;
  readonly userPath: string;
  readonly targets: readonly Target[];
}

/** Everything it takes to charge a request, even for a daemon that has forgotten the lease. Times are relative, so that the two clocks needn't agree. */
export interface Settle extends Lease {
  readonly kind: "settle";
  readonly seq: number;
  readonly startedAgoMs: number;
  readonly endedAgoMs: number;
  readonly tokens: number;
  readonly estimated: boolean;
}

/** Sent after a `refused`, so that the daemon can explain the refusal by its request id. Nothing is answered. */
export interface RefusalNote {
  readonly kind: "refusal";
  /** Of the `admit` that was refused. */
  readonly id: number;
  readonly requestId: string;
  /** As the caller named it. */
  readonly model: string;
}

export const adminOps = ["rate-limits.list", "rate-limits.put", "rate-limits.delete", "rate-limits.reset-one", "rate-limits.reset", "explain", "status"] as const;
export type AdminOp = (typeof adminOps)[number];

export interface Admin {
  readonly kind: "admin";
  readonly id: number;
  readonly op: AdminOp;
  readonly body: unknown;
}

export type ToDaemon = Hello | Admit | Settle | RefusalNote | Admin;

/** The six counts of the success headers; null where no rule gives that triple. Resets are whole seconds. */
export interface SuccessHeaders {
  readonly requests: { readonly limit: number; readonly remaining: number; readonly resetSeconds: number } | null;
  readonly tokens: { readonly limit: number; readonly remaining: number; readonly resetSeconds: number } | null;
}

export interface Welcome {
  readonly kind: "welcome";
  readonly id: number;
  readonly daemonVersion: string;
  readonly settledSeq: number;
  readonly limited: boolean;
  readonly inertRules: number;
}

export interface Admitted {
  readonly kind: "admitted";
  readonly id: number;
  readonly target: number;
  readonly admittedAtMs: number;
  readonly lsn: number;
  readonly headers: SuccessHeaders | null;
}

export type Dimension = "requests" | "tokens" | "concurrent";

/** The breach that is reported (CONTRACT section 4). `subject` is the child's path for a template. */
export interface Breach {
  readonly scope: Scope;
  readonly subject: string;
  readonly periodSeconds: number;
  readonly dimension: Dimension;
  readonly cap: number;
  readonly waitSeconds: number;
}

export interface Refused extends Breach {
  readonly kind: "refused";
  readonly id: number;
}

export interface Settled {
  readonly kind: "settled";
  readonly seq: number;
}

export interface Answer {
  readonly kind: "answer";
  readonly id: number;
  readonly body: unknown;
}

export interface Failed {
  readonly kind: "failed";
  readonly id: number;
  readonly failure: Failure;
}

export interface LimitedEvent {
  readonly kind: "event";
  readonly name: "limited";
  readonly value: boolean;
}

export interface InertRulesEvent {
  readonly kind: "event";
  readonly name: "inert_rules";
  readonly value: number;
}

export type FromDaemon = Welcome | Admitted | Refused | Settled | Answer | Failed | LimitedEvent | InertRulesEvent;

/** What a frame towards the daemon holds, or null when it breaks the grammar: the peer is then closed. */
export function toDaemonFromWire(frame: unknown): ToDaemon | null {
  if (!Array.isArray(frame)) return null;
  const id: unknown = frame[1];
  if (!isCount(id)) return null;
  switch (frame[0]) {
    case "admit": return frame.length === 4 ? admitFromWire(id, frame[2], frame[3]) : null;
    case "settle": return frame.length === 12 ? settleFromWire(id, frame) : null;
    case "refusal": return frame.length === 4 && isRequestId(frame[2]) && isName(frame[3]) ? { kind: "refusal", id, requestId: frame[2], model: frame[3] } : null;
    case "admin": {
      const op = adminOps.find((known) => known === frame[2]);
      return frame.length === 4 && op !== undefined ? { kind: "admin", id, op, body: frame[3] as unknown } : null;
    }
    case "hello": return frame.length === 7 ? helloFromWire(id, frame) : null;
    default: return null;
  }
}

function admitFromWire(id: number, userPath: unknown, flat: unknown): Admit | null {
  if (typeof userPath !== "string" || !isNormalUserPath(userPath)) return null;
  if (!Array.isArray(flat) || flat.length < 2 || flat.length % 2 !== 0 || flat.length > candidatesMax * 2) return null;
  const targets: Target[] = [];
  for (let i = 0; i < flat.length; i += 2) {
    const provider: unknown = flat[i];
    const model: unknown = flat[i + 1];
    if (!isName(provider) || !isName(model)) return null;
    targets.push({ provider, model });
  }
  return { kind: "admit", id, userPath, targets };
}

function settleFromWire(seq: number, frame: readonly unknown[]): Settle | null {
  const lease = leaseFromWire([frame[2], frame[3], frame[4], frame[5], frame[6], frame[7]]);
  const startedAgoMs = frame[8];
  const endedAgoMs = frame[9];
  const tokens = frame[10];
  const estimated = frame[11];
  if (seq < 1 || lease === null || !isCount(startedAgoMs) || !isCount(endedAgoMs) || !isCount(tokens) || typeof estimated !== "boolean") return null;
  return { kind: "settle", seq, ...lease, startedAgoMs, endedAgoMs, tokens, estimated };
}

function helloFromWire(id: number, frame: readonly unknown[]): Hello | null {
  const [, , theirVersion, role, proxyId, flat, more] = frame;
  if (!isCount(theirVersion) || (role !== "proxy" && role !== "cli") || typeof more !== "boolean") return null;
  if (typeof proxyId !== "string" || !/^[\w-]{1,64}$/.test(proxyId)) return null;
  if (!Array.isArray(flat) || flat.length > leasesPerHello) return null;
  const leases: Lease[] = [];
  for (const item of flat as unknown[]) {
    const lease = Array.isArray(item) && item.length === 6 ? leaseFromWire(item) : null;
    if (lease === null || lease.lease === 0) return null;
    leases.push(lease);
  }
  return { kind: "hello", id, wireVersion: theirVersion, role, proxyId, leases, more };
}

function leaseFromWire(flat: readonly unknown[]): Lease | null {
  const [lease, userPath, provider, model, admittedAtMs, lsn] = flat;
  if (!isCount(lease) || !isCount(admittedAtMs) || !isCount(lsn)) return null;
  if (typeof userPath !== "string" || !isNormalUserPath(userPath) || !isName(provider) || !isName(model)) return null;
  return { lease, userPath, provider, model, admittedAtMs, lsn };
}

function isRequestId(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= requestIdCharsMax;
}

/** What may stand as a provider's or a model's name in a frame. */
export function isName(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= subjectBytesMax;
}
