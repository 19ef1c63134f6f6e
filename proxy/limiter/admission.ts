/**
 * An admission, from the question to the settle: the questions and reports of the proxy's steps
 * (`client/limiter-client.ts`), and the outcomes.
 */

import type { AdminRole } from "../../shared/access/admin-role.js";
import type { ModelPatterns } from "../../shared/access/allowed-models.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { Breach, BudgetBreach, SuccessHeaders } from "../../shared/domain/verdict.js";
import type { Failure } from "../../shared/error-code.js";
import type { Execution } from "../../shared/wire/execution.js";
import type { EndedKey, KeyOfCaller } from "../../shared/wire/message-from-daemon.js";
import type { Metered, Rates, Reported, Wait } from "../../shared/wire/message-to-daemon.js";
import type { DrawnOutput } from "../hard-caps/output-allowance.js";

/** The metering of an admission under hard caps, and its grant. */
export interface Metering extends DrawnOutput {
  /** The target's rates; null without a price. */
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
  isSettled: boolean;
  /** As in `Admit`, for a request that went to another model. */
  readonly uses?: readonly string[] | undefined;
  /** As in `Admit`. */
  readonly session?: string | undefined;
  /** As in `Admitted`. */
  readonly exhausted?: string | undefined;
  /** Undefined if no hard cap counts it. */
  metering?: Metering | undefined;
  /** As in `Admitted`, with those of reroutes. */
  readonly shadow?: readonly string[] | undefined;
  /** If it has waited for room. */
  readonly waited?: QueueWait | undefined;
}

/** How long a request has waited for room, and whether its client requested the wait. */
export interface QueueWait {
  readonly ms: number;
  readonly isPreferred: boolean;
}

/** How a request may wait for room. */
export interface MayWait extends Omit<Wait, "waitedMs"> {
  /** How long it has waited for an earlier verdict. */
  readonly waitedMs: number;
  /** The longest wait of any path. */
  readonly atMostMs: number;
  /** Called when it begins to wait; `leave` ends the wait. */
  readonly onQueued: (leave: () => void) => void;
  /** Called every `placeEveryMs` with the request's place in the queue. Mustn't throw. */
  readonly onPlace?: ((place: Place) => void) | undefined;
}

/** The place of a request that waits for room. */
export interface Place {
  /** Its place in the queue, from 1. */
  readonly position: number;
  /** The expected remaining wait; null if unknown. */
  readonly expectedMs: number | null;
}

/** The parts of an admission besides its targets; see `Admit`. */
export interface AdmissionDetails {
  /** Whether it is work for later, such as a batch; see `LimiterClient.admit`. False if absent. */
  readonly submission?: boolean;
  readonly modelNames?: readonly string[] | undefined;
  readonly uses?: readonly string[] | undefined;
  readonly fixed?: true | undefined;
  readonly metered?: Metered | undefined;
  /** Undefined: it doesn't wait for room. */
  readonly wait?: MayWait | undefined;
  readonly session?: string | undefined;
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
      readonly waited?: QueueWait | undefined;
    }
  /** A budget refuses. `headers`: what the rules would have left. */
  | {
      readonly kind: "exceeded";
      readonly id: number;
      readonly breach: BudgetBreach;
      readonly headers: SuccessHeaders | null;
      readonly key: KeyOfCaller | null;
      readonly waited?: QueueWait | undefined;
    }
  /** No caller with these credentials is allowed. */
  | { readonly kind: "denied"; readonly ended: EndedKey | null }
  | { readonly kind: "unavailable" }
  /** The client left while it waited for room. */
  | { readonly kind: "left" }
  /** The daemon can't accept it now. */
  | { readonly kind: "failed"; readonly failure: Failure };

export type RejectedAdmission = Exclude<AdmissionOutcome, { readonly kind: "admitted" }>;

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

/** The usage of a request. */
export interface SpentUsage {
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
