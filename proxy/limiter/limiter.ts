/**
 * The port to the limiter: the questions and reports of the proxy's steps. `limiter-client.ts`
 * implements it over the wire. At the end the error for a client whose state is broken.
 */

import type { AdminRole } from "../../shared/access/admin-role.js";
import type { ModelPatterns } from "../../shared/access/allowed-models.js";
import type { LinkState } from "../../shared/api/gateway-status.js";
import type { LoopTimes } from "../../shared/domain/loop-rule.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { Breach, BudgetBreach, SuccessHeaders } from "../../shared/domain/verdict.js";
import type { Failure } from "../../shared/error-code.js";
import type { AdminOp } from "../../shared/wire/admin-op.js";
import type { Execution } from "../../shared/wire/execution.js";
import type { EndedKey, KeyOfCaller } from "../../shared/wire/message-from-daemon.js";
import type {
  AskedBy,
  Claimed,
  Metered,
  Rates,
  Reported,
  Wait,
} from "../../shared/wire/message-to-daemon.js";
import type { DrawnOutput } from "../hard-caps/output-allowance.js";

/** What hard caps count of an admission, and have granted it. */
export interface Metering extends DrawnOutput {
  /** Of the target; null without a price. */
  rates: Rates | null;
}

/** See `LimitReports`. */
export type LimitReport = Omit<Reported, "kind">;

/** A request that may go to its target, until it is settled. `lease` 0: it has no verdict. */
export interface Admission {
  lease: number;
  admittedAtMs: number;
  lsn: number;
  /** The path that the request counts on: its key's path, else the one that it names. */
  readonly userPath: string;
  /** The id of the managed key that admitted the request; empty if there is none. */
  readonly keyId: string;
  /**
   * The current target; null after a target failed until another one takes over, and for a
   * submission.
   */
  target: Target | null;
  /** As in `Lease`: 0 until the target's rules have counted it. */
  targetAtMs: number;
  targetLsn: number;
  /** When its attempt began, if the target took over without a verdict. */
  targetStartedMonoMs?: number | undefined;
  /** Whether it is a submission, which holds no slot and can't be rerouted. */
  readonly submission: boolean;
  /** Whether a budget refuses the targets without a price. */
  readonly pricedOnly?: boolean;
  readonly startedMonoMs: number;
  settled: boolean;
  /** As in `Admit`, for a request that went to another model. */
  readonly uses?: readonly string[] | undefined;
  /** As in `Admitted`. */
  readonly exhausted?: string | undefined;
  /** Undefined if no hard cap counts it. */
  metering?: Metering | undefined;
  /** As in `Admitted`, with those of reroutes. */
  readonly shadow?: readonly string[] | undefined;
  /** If it has waited for room. */
  readonly waited?: Waited | undefined;
}

/** How long a request has waited for room, and whether its client has asked for it. */
export interface Waited {
  readonly ms: number;
  readonly preferred: boolean;
}

/** How a request may wait for room. */
export interface MayWait extends Omit<Wait, "waitedMs"> {
  /** How long it has waited for an earlier verdict. */
  readonly waitedMs: number;
  /** It waits no longer than this, whatever its path. */
  readonly atMostMs: number;
  /** Called when it begins to wait; `leave` ends the wait. */
  readonly onQueued: (leave: () => void) => void;
}

/** What an admission says beside its targets; see `Admit`. */
export interface Asked {
  readonly modelNames?: readonly string[] | undefined;
  readonly uses?: readonly string[] | undefined;
  readonly fixed?: true | undefined;
  readonly metered?: Metered | undefined;
  /** Undefined: it doesn't wait for room. */
  readonly wait?: MayWait | undefined;
}

export type AdmissionOutcome =
  | {
      readonly kind: "admitted";
      readonly admission: Admission;
      readonly headers: SuccessHeaders | null;
    }
  /** A rule refuses. The daemon keeps the refusal under `id`. */
  | {
      readonly kind: "refused";
      readonly id: number;
      readonly breach: Breach;
      readonly key: KeyOfCaller | null;
      readonly waited?: Waited | undefined;
    }
  /** A budget refuses. `headers`: what the rules would have left. */
  | {
      readonly kind: "exceeded";
      readonly id: number;
      readonly breach: BudgetBreach;
      readonly headers: SuccessHeaders | null;
      readonly key: KeyOfCaller | null;
      readonly waited?: Waited | undefined;
    }
  /** No caller with these credentials is allowed. */
  | { readonly kind: "denied"; readonly ended: EndedKey | null }
  | { readonly kind: "unavailable" }
  /** The client left while it waited for room. */
  | { readonly kind: "left" }
  /** The daemon can't accept it now. */
  | { readonly kind: "failed"; readonly failure: Failure };

export type Unadmitted = Exclude<AdmissionOutcome, { readonly kind: "admitted" }>;

/**
 * Whether a caller is known. `userPath`: the path that its key is bound to; empty if there is no
 * key or it is bound to no path.
 */
export type AuthorizeOutcome =
  | {
      readonly kind: "authorized";
      readonly userPath: string;
      readonly keyId: string;
      /** The models that the key may use; undefined for any. */
      readonly models?: ModelPatterns | undefined;
      /** Only of a key of administration. */
      readonly role?: AdminRole | undefined;
    }
  | { readonly kind: "denied"; readonly ended: EndedKey | null }
  | { readonly kind: "unavailable" };

/** The daemon's answer to an admin operation, or the failure. */
export type CallOutcome =
  | { readonly ok: true; readonly body: unknown }
  | { readonly ok: false; readonly failure: Failure };

/** The usage of a request. */
export interface Spent {
  readonly tokens: number;
  readonly estimated: boolean;
  /** For the usage record; null if nothing was executed, or usage is off. */
  readonly record: Execution | null;
}

/** Usage without an admission: of an answer of the cache, or of a web search. */
export interface UnadmittedUsage {
  readonly userPath: string;
  readonly startedMonoMs: number;
  readonly estimated: boolean;
  readonly record: Execution;
}

/** The limiter as the proxy knows it. */
export interface Limiter {
  readonly state: LinkState;
  /** Whether the state is `connected`. */
  readonly reachable: boolean;
  /** Settles that the daemon hasn't acknowledged. */
  readonly unsettled: number;
  /** Settles that were dropped because too many waited. */
  readonly dropped: number;
  /** Whether the daemon has rules or budgets, as it last reported. */
  readonly limited: boolean;
  /** Whether any rule or budget is a hard cap, as last reported by the daemon. */
  readonly hardLimits: boolean;
  /** When rules on loops act, as last reported; null if none does. */
  readonly loopTimes: LoopTimes | null;
  /** The number of inert rules as last reported by the daemon; null before its first welcome. */
  readonly inertRules: number | null;
  /** The number of inert budgets, likewise. */
  readonly inertBudgets: number | null;
  /** Why the daemon can't write its store, as last reported; null if it can. */
  readonly storeFailing: string | null;
  /** Why it can't reach the engine that hosts share; null if it can, or shares nothing. */
  readonly clusterFailing: string | null;
  /** When the last backup of its store was made, as last reported; null if none is known. */
  readonly lastBackupMs: number | null;
  /** Whether a managed key exists; null before the first welcome. */
  readonly keysExist: boolean | null;
  /** Whether a managed key is imported, and thus of any form; null before the first welcome. */
  readonly importedKeysExist: boolean | null;
  /**
   * Whether a JWT with these claims is denied, as the daemon last reported; false before the first
   * welcome.
   */
  isDeniedJwt(claims: Readonly<Record<string, unknown>>, nowMs: number): boolean;
  /**
   * Requests the verdict on one request. Resolves immediately, without the daemon, if no rule
   * exists and no key must be looked up. Never rejects; resolves within the deadline, or when a
   * request that waits for room has waited long enough. While the daemon is away, a caller with a
   * key is never admitted.
   *
   * A submission (a batch, `docs/reference/http-api.md`) counts as one request in the user path's
   * rules and budgets. It holds no slot and counts in no target's rules: `targets` serves only to
   * explain a refusal, and the admission has no target.
   *
   * `asked`: see `Admit`. A refusal with `use` isn't recorded, because another admission follows:
   * with another model, or `fixed`.
   */
  admit(
    caller: Claimed,
    targets: readonly Target[],
    submission?: boolean,
    asked?: Asked,
  ): Promise<AdmissionOutcome>;
  /**
   * Why the user path's rules and budgets refuse a request that isn't read yet; null if they don't,
   * or if the daemon is away and the failure mode is `open`. Counts nothing: an admission follows.
   * Never rejects; resolves within the deadline.
   */
  refusal(caller: Claimed, submission: boolean): Promise<Unadmitted | null>;
  /**
   * Reports that the target of an admission failed: settles the attempt and asks for the first of
   * `targets` with room. If one takes over, the outcome holds the same admission, with the headers
   * of the new verdict. Otherwise the admission has no target and must be settled. Never rejects;
   * resolves within the deadline.
   */
  reroute(
    admission: Admission,
    targets: readonly Target[],
    metered?: Metered,
  ): Promise<AdmissionOutcome>;
  /**
   * Asks for more output of an admission with `metering`: `total` in all, earlier attempts
   * included. `then` runs once, after `metering` has the answer, unless the admission is settled
   * first.
   */
  draw(admission: Admission, total: number, then: () => void): void;
  /**
   * Whether a caller with this `credential` (see `Claimed`) is known. Never rejects; resolves
   * within the deadline.
   */
  authorize(credential: string): Promise<AuthorizeOutcome>;
  /** Reports what a running admission has used since the last such report. */
  progress(admission: Admission, spent: Spent): void;
  /** Ends an admission, exactly once; `then` runs once the settle has been sent. */
  settle(admission: Admission, spent: Spent, then: () => void): void;
  /**
   * Reports what no admission was needed for: an answer of the cache, a web search. It is recorded
   * and counts in no rate limit; `then` as in `settle`.
   */
  settleUnadmitted(answered: UnadmittedUsage, then: () => void): void;
  /** Reports the actual usage of a response that was charged an estimate; it counts once. */
  settleFinal(record: Execution): void;
  /**
   * Reports which request a refusal answered, so that it can be explained by the request's id.
   * Dropped while the daemon is unreachable, since its refusals are lost then.
   */
  noteRefusal(id: number, requestId: string, model: string): void;
  /** Reports what an answer says of its provider's limits. Dropped while the daemon is away. */
  report(report: LimitReport): void;
  /**
   * Calls an admin operation, `by` for audited ones and for a role of a subtree; resolves within
   * the deadline.
   */
  call(op: AdminOp, body: unknown, by?: AskedBy): Promise<CallOutcome>;
  /** Resolves once every settle is acknowledged, or after `ms`. */
  drained(ms: number): Promise<void>;
}

/**
 * The only error that ends a running proxy: the state of its leases and settles is no longer
 * consistent. The assertions of this folder throw it, and it replaces any exception while handling
 * the daemon's messages, connections and deadlines. Any other error belongs to one request, which
 * `handlers/fail-request.ts` ends.
 */
export class BrokenLimiterState extends Error {
  override name = "BrokenLimiterState";
}

/** Like `assert` of `shared/assert.ts`, for the state of the limiter client. */
export function assertLimiter(condition: boolean, message: string): asserts condition {
  if (!condition) throw new BrokenLimiterState(`assertion failed: ${message}`);
}

/** Wraps an exception in a step of the limiter client that belongs to no request. */
export function asBrokenLimiterState(error: unknown): BrokenLimiterState {
  return error instanceof BrokenLimiterState
    ? error
    : new BrokenLimiterState("the limiter client failed half-way", { cause: error });
}

/** The admission isn't settled, and no verdict is pending. */
export function assertRuns({ settled, target }: Pick<Admission, "settled" | "target">): void {
  assertLimiter(!settled && target !== null, "the request runs at a target");
}
