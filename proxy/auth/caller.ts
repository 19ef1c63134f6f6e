/** The caller of a request, as the parts of authentication hand it on. */
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
  /** Whether it has shown the master key, or needs none: the gateway is open. */
  readonly isOperator: boolean;
  /** Of a managed key, once the daemon has identified it; empty before that and without one. */
  readonly keyId: string;
  /**
   * The lists of models of which each must allow what it uses; none: any model. Those of a managed
   * key are known once the daemon has identified it.
   */
  readonly allowLists: readonly ModelPatterns[];
  /** What is wrong with the path in the header; it matters only if the caller may name its path. */
  readonly pathFailure: Failure | null;
  /** The answer if the daemon denies the caller. */
  readonly denial: Failure;
}

/** Whose requests are counted together: those of one key, or else of one path. */
export function callerName({ keyId, userPath }: Pick<Caller, "keyId" | "userPath">): string {
  return keyId === "" ? userPath : keyId;
}

export type Authentication = { readonly ok: true; readonly caller: Caller } | RefusedCaller;

export interface RefusedCaller {
  readonly ok: false;
  readonly failure: Failure;
  /** For the log alone: strangers learn nothing from a refusal. */
  readonly note?: string;
  /** For who has the key or token, and so for nobody else: when it expired. */
  readonly expiredAtMs?: number;
}

/**
 * Why the caller may not use the model of a request, as far as the proxy knows its lists; null: it
 * may. `names`: by which it may be allowed; none for a request that doesn't say what it uses.
 */
export function modelProblem(
  { allowLists, keyId }: Pick<Caller, "allowLists" | "keyId">,
  names: readonly string[],
): Failure | null {
  const refusing = allowLists.find((list) => !allowsModel(list, names));
  if (refusing === undefined) return null;
  return modelNotAllowed(keyId === "" ? "this token" : keyId, refusing, names);
}

/** The one answer to a token that isn't accepted, whatever is wrong with it. */
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
