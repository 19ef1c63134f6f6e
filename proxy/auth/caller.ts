/** The caller of a request, and refusals of callers. */
import type { Administration } from "../../shared/access/admin-role.js";
import {
  allowsModel,
  type ModelPatterns,
  modelNotAllowed,
} from "../../shared/access/allowed-models.js";
import { type Failure, plainFailure } from "../../shared/error-code.js";
import type { EndedKey } from "../../shared/wire/message-from-daemon.js";
import type { Claimed } from "../../shared/wire/message-to-daemon.js";

/** The caller of a request. `credential` says what is left to check, as in `Claimed`. */
export interface Caller extends Claimed {
  /** Whether it has the master key, or the gateway is open. */
  readonly isOperator: boolean;
  /** What it may do on /admin; absent if nothing, or until the daemon has identified its key. */
  readonly administers?: Administration | undefined;
  /** With a session of the dashboard: who has signed in, for the audit log. */
  readonly signedInAs?: string;
  /** The id of the managed key; empty until the daemon has identified it, and without one. */
  readonly keyId: string;
  /**
   * Allow lists, each of which must allow its models; none allow any model. The lists of a managed
   * key are known once the daemon identified it.
   */
  readonly allowLists: readonly ModelPatterns[];
  /** The problem of the path header; it applies only to callers that may choose their path. */
  readonly pathFailure: Failure | null;
  /** The answer if the daemon denies the caller. */
  readonly denial: Failure;
}

/** The name under which requests are counted: the key, or else the path. */
export function callerName({ keyId, userPath }: Pick<Caller, "keyId" | "userPath">): string {
  return keyId === "" ? userPath : keyId;
}

export type Authentication = { readonly ok: true; readonly caller: Caller } | RefusedCaller;

export interface RefusedCaller {
  readonly ok: false;
  readonly failure: Failure;
  /** For the log only: a refusal tells strangers nothing. */
  readonly note?: string;
  /** When the key or token expired; only its owner learns this. */
  readonly expiredAtMs?: number;
}

/**
 * Why the caller's known allow lists refuse the model of a request; null if they don't. `names`:
 * the names that a list may match; empty for a request without a model.
 */
export function modelProblem(
  { allowLists, keyId }: Pick<Caller, "allowLists" | "keyId">,
  names: readonly string[],
): Failure | null {
  const refusing = allowLists.find((list) => !allowsModel(list, names));
  if (refusing === undefined) return null;
  return modelNotAllowed(keyId === "" ? "this token" : keyId, refusing, names);
}

/** The one answer to every invalid token. */
export const wrongToken: Failure = unauthorized("authentication failed");

/** The refusal of a caller that the daemon has denied. */
export function deniedCaller(
  { denial }: Pick<Caller, "denial">,
  ended: EndedKey | null,
): RefusedCaller {
  if (ended === null) return { ok: false, failure: denial };
  const { keyId, expiredAtMs } = ended;
  return expiredAtMs === null
    ? { ok: false, failure: denial, note: `${keyId} is deactivated` }
    : { ok: false, failure: denial, note: `${keyId} has expired`, expiredAtMs };
}

export function unauthorized(message: string): Failure {
  return plainFailure(401, "authentication_error", message);
}

/** A caller whose path the proxy knows itself: from a JWT. */
export function authenticatedCaller(
  userPath: string,
  allowLists: readonly ModelPatterns[] = [],
): Caller {
  return {
    userPath,
    credential: "authenticated",
    isOperator: false,
    keyId: "",
    allowLists,
    pathFailure: null,
    denial: wrongToken,
  };
}
