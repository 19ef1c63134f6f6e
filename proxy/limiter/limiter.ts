/**
 * The port to the limiter: what the proxy's steps ask and tell. `limiter-client.ts` answers it over
 * the wire.
 */
import type { Execution } from "../../shared/wire/execution.js";
import type {
  AdminOp,
  Breach,
  BudgetBreach,
  Claimed,
  KeyOfCaller,
  SuccessHeaders,
  Target,
} from "../../shared/wire/message.js";
import type { CallOutcome } from "./daemon-calls.js";

/**
 * A request that may go to its target, until it is settled. `lease` 0: it was let through unasked.
 */
export interface Admission {
  lease: number;
  admittedAtMs: number;
  lsn: number;
  /** The effective one. */
  readonly userPath: string;
  /** Of the managed key that the request was admitted by; empty without one. */
  readonly keyId: string;
  /**
   * Where it may go now; null from the failure of a target until another one takes over, and for a
   * submission.
   */
  target: Target | null;
  /** As in `Lease`: 0 while the target's rules weren't asked. */
  targetAtMs: number;
  targetLsn: number;
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
  /** `id`: what the daemon knows the refusal by. */
  | {
      readonly kind: "refused";
      readonly id: number;
      readonly breach: Breach;
      readonly key: KeyOfCaller | null;
    }
  /** A budget has nothing left; `headers` as the rules stand. */
  | {
      readonly kind: "exceeded";
      readonly id: number;
      readonly breach: BudgetBreach;
      readonly headers: SuccessHeaders | null;
      readonly key: KeyOfCaller | null;
    }
  /** Nobody with these credentials may call. */
  | { readonly kind: "denied" }
  | { readonly kind: "unavailable" };

/**
 * What the daemon says of a caller. `userPath`: what its key is bound to; empty when it is bound to
 * none, or there is none.
 */
export type AuthorizeOutcome =
  | { readonly kind: "authorized"; readonly userPath: string; readonly keyId: string }
  | { readonly kind: "denied" }
  | { readonly kind: "unavailable" };

/** What a request used. */
export interface Spent {
  readonly tokens: number;
  readonly estimated: boolean;
  /** For the usage record; null: nothing was executed, or usage is off. */
  readonly record: Execution | null;
}

/** A request that was answered without an admission. */
export interface AnsweredFromCache {
  readonly userPath: string;
  readonly startedMonoMs: number;
  readonly estimated: boolean;
  readonly record: Execution;
}

/** The daemon, from where the proxy stands. */
export interface Limiter {
  /** Whether the daemon is there, has welcomed this proxy, and answers in time. */
  readonly reachable: boolean;
  readonly unsettled: number;
  /**
   * How many rules are loaded and do nothing, as the daemon said last; null before it said
   * anything.
   */
  readonly inertRules: number | null;
  /** The same of budgets. */
  readonly inertBudgets: number | null;
  /** Why the daemon can't write its store, as it said last; null when it can. */
  readonly storeFailing: string | null;
  /** Whether a managed key exists, as the daemon said last; null before it said anything. */
  readonly keysExist: boolean | null;
  /**
   * Asks for one request; at once, without the daemon, when no rule exists and no key is to be
   * looked up. Never rejects, ends within the deadline. Without the daemon, who shows a key is
   * never let through.
   *
   * A submission (CONTRACT section 5: batches) is one request of the user path's rules and of its
   * budgets, holds no slot, and is asked of no target's rules: `targets` is where it goes, for who
   * asks why it was refused, and the admission has no target.
   */
  admit(
    caller: Claimed,
    targets: readonly Target[],
    submission?: boolean,
  ): Promise<AdmissionOutcome>;
  /**
   * The target of an admission has failed: its attempt ends here, and the first of `targets` with
   * room takes over. Admitted, it is the same admission, with the headers of the new verdict.
   * Otherwise it has no target any more, and is to be settled. Never rejects, ends within the
   * deadline.
   */
  reroute(admission: Admission, targets: readonly Target[]): Promise<AdmissionOutcome>;
  /**
   * Asks whether a caller with this `credential` (see `Claimed`) is known. Never rejects, ends
   * within the deadline.
   */
  authorize(credential: string): Promise<AuthorizeOutcome>;
  /** Ends an admission, exactly once; `then` runs when the settle has left the process. */
  settle(admission: Admission, spent: Spent, then: () => void): void;
  /** Tells of a request that is recorded and counts nowhere; `then` as in `settle`. */
  settleCached(answered: AnsweredFromCache, then: () => void): void;
  /**
   * Tells which request a refusal answered, so that it can be explained by that id. Lost when the
   * daemon is away, as the refusal itself is.
   */
  noteRefusal(id: number, requestId: string, model: string): void;
  /** An admin operation; ends within the deadline. */
  call(op: AdminOp, body: unknown): Promise<CallOutcome>;
  /** Resolved when nothing is unsettled, or after `ms`. */
  drained(ms: number): Promise<void>;
}
