/**
 * The port to the limiter: what the proxy's steps ask of it and report to it. `limiter-client.ts`
 * implements it over the wire.
 */
import type { ModelPatterns } from "../../shared/access/allowed-models.js";
import type { LinkState } from "../../shared/api/gateway-status.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { Breach, BudgetBreach, SuccessHeaders } from "../../shared/domain/verdict.js";
import type { Failure } from "../../shared/error-code.js";
import type { AdminOp } from "../../shared/wire/admin-op.js";
import type { Execution } from "../../shared/wire/execution.js";
import type { EndedKey, KeyOfCaller } from "../../shared/wire/message-from-daemon.js";
import type { Claimed } from "../../shared/wire/message-to-daemon.js";

/**
 * A request that may go to its target, until it is settled. `lease` 0: it went there without the
 * daemon's verdict.
 */
export interface Admission {
  lease: number;
  admittedAtMs: number;
  lsn: number;
  /** The path that the request counts on: that of its key, or else the one that it names. */
  readonly userPath: string;
  /** Of the managed key that admitted the request; empty without one. */
  readonly keyId: string;
  /**
   * Where it may go now; null from the failure of a target until another one takes over, and for a
   * submission.
   */
  target: Target | null;
  /** As in `Lease`: 0 while the target's rules haven't counted it. */
  targetAtMs: number;
  targetLsn: number;
  /** Since when it is tried, if it took over without a verdict. */
  targetStartedMonoMs?: number | undefined;
  /** It holds no slot, and can't be rerouted. */
  readonly submission: boolean;
  readonly startedMonoMs: number;
  settled: boolean;
}

export type AdmissionOutcome =
  | {
      readonly kind: "admitted";
      readonly admission: Admission;
      readonly headers: SuccessHeaders | null;
    }
  /** A rule refuses. `id`: by which the daemon remembers the refusal. */
  | {
      readonly kind: "refused";
      readonly id: number;
      readonly breach: Breach;
      readonly key: KeyOfCaller | null;
    }
  /** A budget refuses; `headers`: what the rules would leave. */
  | {
      readonly kind: "exceeded";
      readonly id: number;
      readonly breach: BudgetBreach;
      readonly headers: SuccessHeaders | null;
      readonly key: KeyOfCaller | null;
    }
  /** No caller with these credentials is allowed. */
  | { readonly kind: "denied"; readonly ended: EndedKey | null }
  | { readonly kind: "unavailable" }
  /** The daemon can't take it now. */
  | { readonly kind: "failed"; readonly failure: Failure };

export type Unadmitted = Exclude<AdmissionOutcome, { readonly kind: "admitted" }>;

/**
 * Whether a caller is known. `userPath`: what its key is bound to; empty when it is bound to none,
 * or there is none.
 */
export type AuthorizeOutcome =
  | {
      readonly kind: "authorized";
      readonly userPath: string;
      readonly keyId: string;
      /** The models that the key may use; undefined: any. */
      readonly models?: ModelPatterns | undefined;
    }
  | { readonly kind: "denied"; readonly ended: EndedKey | null }
  | { readonly kind: "unavailable" };

/** What the daemon answered to an admin operation, or why it didn't. */
export type CallOutcome =
  | { readonly ok: true; readonly body: unknown }
  | { readonly ok: false; readonly failure: Failure };

/** What a request used. */
export interface Spent {
  readonly tokens: number;
  readonly estimated: boolean;
  /** For the usage record; null: nothing was executed, or usage is off. */
  readonly record: Execution | null;
}

/** A request that the response cache answered, without an admission. */
export interface AnsweredFromCache {
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
  /**
   * How many rules are loaded and do nothing, as the daemon last reported; null before its first
   * welcome.
   */
  readonly inertRules: number | null;
  /** The same of budgets. */
  readonly inertBudgets: number | null;
  /** Why the daemon can't write its store, as it last reported; null when it can. */
  readonly storeFailing: string | null;
  /** Why it doesn't reach the engine that hosts share; null when it does, or shares none. */
  readonly clusterFailing: string | null;
  /** When the last backup of its store was made, as it last reported; null: none is known. */
  readonly lastBackupMs: number | null;
  /** Whether a managed key exists; null before the first welcome. */
  readonly keysExist: boolean | null;
  /**
   * Whether a JWT with these claims is denied, as the daemon has last said; nothing is known before
   * the first welcome.
   */
  isDeniedJwt(claims: Readonly<Record<string, unknown>>, nowMs: number): boolean;
  /**
   * Asks for the verdict on one request; resolves at once, without the daemon, when no rule exists
   * and no key is to be looked up. Never rejects, ends within the deadline. Without the daemon a
   * caller with a key is never admitted.
   *
   * A submission (a batch, `docs/reference/http-api.md`) is one request in the user path's rules
   * and budgets, holds no slot, and counts in no target's rules: `targets` is where it goes, for
   * those who ask why it was refused, and its admission has no target.
   *
   * `modelNames`: see `Admit`.
   */
  admit(
    caller: Claimed,
    targets: readonly Target[],
    submission?: boolean,
    modelNames?: readonly string[],
  ): Promise<AdmissionOutcome>;
  /**
   * Why the user path's rules and budgets refuse a request that isn't read yet; null: they don't,
   * or the daemon is away and the failure mode is `open`. Nothing is counted: an admission follows.
   * Never rejects, ends within the deadline.
   */
  refusal(caller: Claimed, submission: boolean): Promise<Unadmitted | null>;
  /**
   * The target of an admission has failed: the attempt is settled, and the first of `targets` with
   * room takes over. If one does, the outcome holds the same admission, with the headers of the new
   * verdict. Otherwise the admission has no target any more, and is to be settled. Never rejects,
   * ends within the deadline.
   */
  reroute(admission: Admission, targets: readonly Target[]): Promise<AdmissionOutcome>;
  /**
   * Whether a caller with this `credential` (see `Claimed`) is known. Never rejects, ends
   * within the deadline.
   */
  authorize(credential: string): Promise<AuthorizeOutcome>;
  /** What an admission that goes on has used since the last such report. */
  progress(admission: Admission, spent: Spent): void;
  /** Ends an admission, exactly once; `then` runs when the settle has left the process. */
  settle(admission: Admission, spent: Spent, then: () => void): void;
  /** Reports a request that is recorded and counts nowhere; `then` as in `settle`. */
  settleCached(answered: AnsweredFromCache, then: () => void): void;
  /** Reports the usage of a response that was charged an estimate; it counts once. */
  settleFinal(record: Execution): void;
  /**
   * Reports which request a refusal answered, so that it can be explained by its id. Dropped while
   * the daemon is unreachable: its refusals are lost then, too.
   */
  noteRefusal(id: number, requestId: string, model: string): void;
  /** An admin operation; ends within the deadline. */
  call(op: AdminOp, body: unknown): Promise<CallOutcome>;
  /** Resolved when every settle is acknowledged, or after `ms`. */
  drained(ms: number): Promise<void>;
}
