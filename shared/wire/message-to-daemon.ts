/**
 * The messages towards the daemon, as types. Their grammar is in `to-wire.ts`, their check in
 * `parse-to-daemon.ts`.
 */
import type { Target } from "../domain/target-name.js";
import type { AdminOp } from "./admin-op.js";
import type { Execution } from "./execution.js";

/** What a proxy holds of an admitted request: all that a restarted daemon needs to know. */
export interface Lease {
  readonly lease: number;
  readonly userPath: string;
  readonly admittedAtMs: number;
  readonly lsn: number;
  /**
   * Where it is being tried; null between a failed target and the next one, and for a submission.
   */
  readonly target: Target | null;
  /** When the target's rules counted it, and under which number; 0 when they didn't. */
  readonly targetAtMs: number;
  readonly targetLsn: number;
  /** It holds no slot, and counts in no target's rules. */
  readonly submission: boolean;
}

/**
 * The log sequence number, in a lease or a settle, of a request that this doesn't count: it was
 * counted otherwise, or admitted while rate limits were off. Below every number that the daemon
 * assigns, and not 0, which stands for no admission at all.
 */
export const uncountedLsn = 1;

/**
 * The log sequence number, in a lease or a settle, of a request that needed no verdict because its
 * proxy knew of no rule and no budget. Numbers that the daemon assigns are larger.
 */
export const unlimitedLsn = 2;

/** Whether an admission, or an attempt, has no verdict and so no number of the daemon's. */
export function isUnnumbered(lsn: number): boolean {
  return lsn === 0 || lsn === unlimitedLsn;
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
 * How many verdicts that admit (`admitted`) a proxy has read on its earlier connections: what
 * others have counted is taken back. It follows the welcome, before anything is asked, and has no
 * answer.
 */
export interface VerdictsRead {
  readonly kind: "read";
  /** Which one this connection is, of those on which the proxy was welcomed. */
  readonly connection: number;
  /** Of the last ones before it, each with its number. */
  readonly earlier: readonly (readonly [connection: number, read: number])[];
}

/** A hello of a version that isn't spoken here. Null: it says no role, or no id of a proxy. */
export interface ForeignHello {
  readonly kind: "foreign hello";
  readonly id: number;
  readonly wireVersion: number;
  readonly role: Role | null;
  readonly proxyId: string | null;
}

/** An admin operation of another release; it may be any. */
export interface UnknownOperation {
  readonly kind: "unknown operation";
  readonly id: number;
  readonly op: string;
}

/** What peers of other releases may say without breaking the grammar. */
export type OfOtherRelease = ForeignHello | UnknownOperation;

/**
 * Who a request claims to be from. `authenticated`: the proxy has checked the caller, who is on
 * `userPath`. `none`: the caller has no credentials, which is allowed as long as no key exists.
 * Else the SHA-256 of a managed key; `userPath` then counts only if the key is bound to none.
 */
export interface Claimed {
  readonly userPath: string;
  readonly credential: string;
}

export interface Admit extends Claimed {
  readonly kind: "admit";
  readonly id: number;
  /**
   * None: its path's rules and budgets judge a request that isn't read yet. Nothing is counted, and
   * unless they refuse the answer is `authorized`.
   */
  readonly targets: readonly Target[];
  /** Only the user path's rules and the budgets apply; `targets` is where it goes. */
  readonly submission: boolean;
  /** How many verdicts that admit the proxy has read on this connection. */
  readonly read?: number | undefined;
  /**
   * The names by which a key's list may allow the model, none for a request that doesn't say which
   * model it uses; undefined from a proxy that doesn't tell. Said with `read`.
   */
  readonly modelNames?: readonly string[] | undefined;
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
  /** As in `Admit`. */
  readonly read?: number | undefined;
}

/**
 * Requests that went to a target without a verdict, though the daemon is connected: they hold their
 * slots from now on, as those of a hello do. A lease that is held already moves to this target. It
 * has no answer.
 */
export interface Hold {
  readonly kind: "hold";
  readonly leases: readonly Lease[];
}

/**
 * What a settle ends. `request`: all of it. `progress`: nothing; what a request that goes on has
 * used since the last one, which its `request` leaves out. `attempt`: at one target, which has
 * failed, while the request tries another. `untried`: nothing; a target that the daemon chose too
 * late, and where nothing was sent. `withdrawn`: an admission that came too late. `cached`: an
 * answer from a proxy's cache, which counts nowhere but is recorded. `final`: the usage of a
 * response that was charged an estimate, which its provider kept working at; it counts instead.
 */
export const settledParts = [
  "request",
  "progress",
  "attempt",
  "untried",
  "withdrawn",
  "cached",
  "final",
] as const;
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
  /**
   * Since when its target is tried, if that took over from another one without a verdict; else
   * that is said by `targetAtMs`, or is when the request began.
   */
  readonly targetStartedAgoMs?: number | undefined;
  readonly tokens: number;
  readonly estimated: boolean;
  /**
   * What was executed, for the usage record; null: nothing was, or usage is off. Its values may
   * make no sense: see `flawOf`.
   */
  readonly record: Execution | null;
}

/**
 * A request has ended, but its settle must wait for others before it: its slots are free at once.
 * Only for a request whose verdicts have all arrived, so that its settle says all by itself. It has
 * no answer.
 */
export interface Release {
  readonly kind: "release";
  /** The lease. */
  readonly id: number;
}

/**
 * Sent after a `refused`, so that the daemon can explain the refusal by its request id. It has no
 * answer.
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

export type ToDaemon =
  | Hello
  | VerdictsRead
  | Admit
  | Authorize
  | Reroute
  | Hold
  | Settle
  | Release
  | RefusalNote
  | Admin;
