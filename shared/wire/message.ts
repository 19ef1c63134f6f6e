/**
 * What proxy, command line and daemon say to each other. Each frame is `u32be length` + one msgpack
 * array `[kind, id, …]`; `to-wire.ts` makes the array, `codec.ts` the bytes; frames towards the
 * daemon are checked in `to-daemon.ts`, those from it in `from-daemon.ts`.
 *
 * Towards the daemon:
 *
 *   hello    id wireVersion role proxyId leases more      first on each connection; `more`: another hello with further leases follows
 *   admit    id userPath credential targets submission    credential: see `Claimed`; targets: [provider, model, provider, model, …] in order
 *                                                         of preference; model "": the request names none
 *   authorize id credential                               whether a caller who asks for nothing that is limited is known
 *   reroute  id lease targets                             the lease's target has failed: the first of these with room is to take over
 *   settle   seq part lease userPath admittedAtMs lsn attempt startedAgoMs endedAgoMs tokens estimated record
 *                                                         part: `request`, it has ended; `attempt`, its target failed and the request goes
 *                                                         on; `withdrawn`, it was never made; `cached`, it needed none. lease 0: let
 *                                                         through unasked. record: what the usage record tells (`execution.ts`), of
 *                                                         `request` and `cached`, or []; one without sense is dropped, the settle counts
 *   refusal  id requestId model                           id: of the refused admit; which request that was, to explain it later
 *   admin    id op body                                   op: an `AdminOp`; body: what the HTTP API takes
 *
 * From the daemon:
 *
 *   welcome  id daemonVersion settledSeq limited inertRules inertBudgets keysExist
 *                                                         settledSeq: the last settle of this proxy that is durable; the rest as in the events
 *   admitted id target admittedAtMs lsn headers key       to admit and reroute; target: index into its targets; headers: [] or six counts;
 *                                                         key: [userPath, keyId] of a caller with a managed key, else []
 *   refused  id scope subject periodSeconds dimension cap waitSeconds key
 *   exceeded id scope subject periodSeconds spentUsd amountUsd waitSeconds headers key
 *                                                         to admit: a budget refuses; headers as in admitted, with nothing counted
 *   denied   id                                           to admit and authorize: nobody with this credential may call
 *   authorized id userPath keyId                          to authorize; userPath: what the key is bound to, else ""
 *   settled  seq                                          every settle up to seq is durable
 *   answer   id body                                      to admin
 *   failed   id failure                                   to admin, and to a hello that can't be welcomed
 *   event    0 name value                                 `limited`: whether any rule or budget exists, so whether admissions must be asked for
 *                                                         `inert_rules`, `inert_budgets`: how many are loaded and do nothing
 *                                                         `keys_exist`: a managed key exists, so that nobody calls without credentials any more
 *                                                         `store_failing`: why the store can't be written, null once it can; after a welcome only if it can't
 *
 * A lease is named by the id of its `admit`, which is unique within a proxy's life; in a hello it
 * is `[lease, userPath, admittedAtMs, lsn, attempt, submission]`. `lsn` is the daemon's log
 * sequence number at the admission: handed back later, it tells a restarted daemon whether its
 * restored windows already hold the request. An attempt is `[provider, model, atMs, lsn]`, with the
 * number under which its target counted it: that of the admission, or of the reroute; or `[]` when
 * no target is at work. Whatever was let through unasked has the number 0 and is counted with its
 * settle; if that was because there was no rule, `unlimitedLsn`, and no rule counts it that is
 * younger. Settles of one proxy carry ascending `seq` and travel in that order, so a repeat is
 * known by its number alone.
 *
 * A submission hands in work that is done elsewhere, such as a batch: the user path's rules count
 * it as one request, it holds no slot, and no target's rules are asked; so its lease never has an
 * attempt. A settle needn't say so: it moves no slots, and without an attempt it counts at the path
 * alone.
 */

import type { Target } from "../domain/target-name.js";
import type { Breach, BudgetBreach, SuccessHeaders } from "../domain/verdict.js";
import type { Failure } from "../error-code.js";
import type { AdminOp } from "./admin-op.js";
import type { Execution } from "./execution.js";

export type { Target } from "../domain/target-name.js";
export type { Breach, BudgetBreach, Dimension, SuccessHeaders } from "../domain/verdict.js";
export type { AdminOp } from "./admin-op.js";

/** What a proxy holds of an admitted request, and all that it takes to hold it again. */
export interface Lease {
  readonly lease: number;
  readonly userPath: string;
  readonly admittedAtMs: number;
  readonly lsn: number;
  /**
   * Where it is being tried; null between a failed target and the next one, and for a submission.
   */
  readonly target: Target | null;
  /** When the target's rules counted it, and under which number; 0 when they weren't asked. */
  readonly targetAtMs: number;
  readonly targetLsn: number;
  /** It holds no slot, and no target's rules were asked. */
  readonly submission: boolean;
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

/**
 * Who a request claims to be from. `authenticated`: the proxy has checked the caller, who is on
 * `userPath`. `none`: the caller showed no credentials, which is well as long as no key exists.
 * Else the SHA-256 of a managed key; `userPath` then counts only if the key is bound to none.
 */
export interface Claimed {
  readonly userPath: string;
  readonly credential: string;
}

/** A caller's managed key, as the daemon knows it. */
export interface KeyOfCaller {
  /** The caller's effective user path. */
  readonly userPath: string;
  readonly keyId: string;
}

export interface Admit extends Claimed {
  readonly kind: "admit";
  readonly id: number;
  readonly targets: readonly Target[];
  /** Only the user path's rules and the budgets are asked; `targets` tells where it is going. */
  readonly submission: boolean;
}

/** Answered with `authorized` or `denied`; nothing is counted. */
export interface Authorize {
  readonly kind: "authorize";
  readonly id: number;
  /** As in `Claimed`. */
  readonly credential: string;
}

/** The target of a lease has failed: the first of `targets` with room takes over. */
export interface Reroute {
  readonly kind: "reroute";
  readonly id: number;
  readonly lease: number;
  readonly targets: readonly Target[];
}

/**
 * What a settle ends. `request`: all of it. `attempt`: what one target did, which has failed, while
 * the request goes on. `withdrawn`: an admission that nobody waited for any more, so that nothing
 * was sent. `cached`: an answer from a proxy's memory, which counts nowhere but is recorded.
 */
export const settledParts = ["request", "attempt", "withdrawn", "cached"] as const;
export type SettledPart = (typeof settledParts)[number];

/**
 * Everything it takes to charge a request, even for a daemon that has forgotten the lease. Times
 * are relative, so that the two clocks needn't agree.
 */
export interface Settle extends Omit<Lease, "submission"> {
  readonly kind: "settle";
  readonly seq: number;
  readonly part: SettledPart;
  readonly startedAgoMs: number;
  readonly endedAgoMs: number;
  readonly tokens: number;
  readonly estimated: boolean;
  /**
   * What was executed, for the usage record; null: nothing was, or usage is off. Its values may be
   * nonsense: see `flawOf`.
   */
  readonly record: Execution | null;
}

/**
 * Sent after a `refused`, so that the daemon can explain the refusal by its request id. Nothing is
 * answered.
 */
export interface RefusalNote {
  readonly kind: "refusal";
  /** Of the `admit` that was refused. */
  readonly id: number;
  readonly requestId: string;
  /** As the caller named it; empty when it named none. */
  readonly model: string;
}

export interface Admin {
  readonly kind: "admin";
  readonly id: number;
  readonly op: AdminOp;
  readonly body: unknown;
}

export type ToDaemon = Hello | Admit | Authorize | Reroute | Settle | RefusalNote | Admin;

export interface Welcome {
  readonly kind: "welcome";
  readonly id: number;
  readonly daemonVersion: string;
  readonly settledSeq: number;
  readonly limited: boolean;
  readonly inertRules: number;
  readonly inertBudgets: number;
  readonly keysExist: boolean;
}

export interface Admitted {
  readonly kind: "admitted";
  readonly id: number;
  readonly target: number;
  readonly admittedAtMs: number;
  readonly lsn: number;
  readonly headers: SuccessHeaders | null;
  /** Null for a caller without a managed key, and in answer to a reroute. */
  readonly key: KeyOfCaller | null;
}

export interface Refused extends Breach {
  readonly kind: "refused";
  readonly id: number;
  /** As in `Admitted`. */
  readonly key: KeyOfCaller | null;
}

export interface Denied {
  readonly kind: "denied";
  readonly id: number;
}

export interface Authorized {
  readonly kind: "authorized";
  readonly id: number;
  /** What the key is bound to; empty when it is bound to none, or there is none. */
  readonly userPath: string;
  /** Empty without a key. */
  readonly keyId: string;
}

export interface Exceeded extends BudgetBreach {
  readonly kind: "exceeded";
  readonly id: number;
  readonly headers: SuccessHeaders | null;
  readonly key: KeyOfCaller | null;
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

/** Told unasked, to every proxy. */
export type DaemonEvent =
  | { readonly kind: "event"; readonly name: "limited"; readonly value: boolean }
  | {
      readonly kind: "event";
      readonly name: "inert_rules" | "inert_budgets";
      readonly value: number;
    }
  | { readonly kind: "event"; readonly name: "keys_exist"; readonly value: true }
  | { readonly kind: "event"; readonly name: "store_failing"; readonly value: string | null };

export type FromDaemon =
  | Welcome
  | Admitted
  | Refused
  | Exceeded
  | Denied
  | Authorized
  | Settled
  | Answer
  | Failed
  | DaemonEvent;
