/**
 * The messages from the daemon, as types. Their grammar is in `to-wire.ts`, their check in
 * `parse-from-daemon.ts`.
 */
import type { JwtDenial, JwtName } from "../domain/jwt-denial.js";
import type { Breach, BudgetBreach, SuccessHeaders } from "../domain/verdict.js";
import type { Failure } from "../error-code.js";

/** A caller's managed key, as the daemon knows it. */
export interface KeyOfCaller {
  /** The caller's effective user path. */
  readonly userPath: string;
  readonly keyId: string;
}

export interface Welcome {
  readonly kind: "welcome";
  readonly id: number;
  readonly daemonVersion: string;
  readonly settledSeq: number;
  readonly limited: boolean;
  readonly inertRules: number;
  readonly inertBudgets: number;
  readonly keysExist: boolean;
  /** How many JWTs are denied; if any, an event with their list follows. */
  readonly deniedJwts: number;
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

/** A managed key that isn't accepted any more; its holder may know when it expired. */
export interface EndedKey {
  readonly keyId: string;
  /** Null: it was deactivated. */
  readonly expiredAtMs: number | null;
}

export interface Denied {
  readonly kind: "denied";
  readonly id: number;
  /** Null: no key is known by the credential. */
  readonly ended: EndedKey | null;
}

export interface Authorized {
  readonly kind: "authorized";
  readonly id: number;
  /** What the key is bound to; empty when it is bound to none, or there is none. */
  readonly userPath: string;
  /** Empty without a key. */
  readonly keyId: string;
  /** The models that the key may use; undefined: any. */
  readonly models?: readonly string[] | undefined;
}

export interface Exceeded extends BudgetBreach {
  readonly kind: "exceeded";
  readonly id: number;
  readonly headers: SuccessHeaders | null;
  readonly key: KeyOfCaller | null;
}

interface Settled {
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

/** How the list of denied JWTs changes. */
export interface JwtChange {
  readonly denied: readonly JwtDenial[];
  readonly allowed: readonly JwtName[];
  /** Ends the list after a welcome: those that it hasn't named aren't denied any more. */
  readonly complete: boolean;
}

/** Sent to every proxy when the value changes. */
export type DaemonEvent =
  | { readonly kind: "event"; readonly name: "limited"; readonly value: boolean }
  | {
      readonly kind: "event";
      /** `last_backup`: when it was made, in milliseconds. */
      readonly name: "inert_rules" | "inert_budgets" | "last_backup";
      readonly value: number;
    }
  | { readonly kind: "event"; readonly name: "keys_exist"; readonly value: true }
  | { readonly kind: "event"; readonly name: "jwts_denied"; readonly value: JwtChange }
  | {
      readonly kind: "event";
      readonly name: "store_failing" | "cluster_failing";
      readonly value: string | null;
    };

/** An event of a later release: it is passed over. */
export interface UnknownEvent {
  readonly kind: "unknown event";
}

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
