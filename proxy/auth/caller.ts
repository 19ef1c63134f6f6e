/** The caller of a request, as the parts of authentication hand it on. */
import { type Failure, plainFailure } from "../../shared/error-code.js";
import type { Claimed } from "../../shared/wire/message-to-daemon.js";

/** The caller of a request. `credential` says what is left to check, as in `Claimed`. */
export interface Caller extends Claimed {
  /** Whether it has shown the master key, or needs none: the gateway is open. */
  readonly isOperator: boolean;
  /** Of a managed key, once the daemon has identified it; empty before that and without one. */
  readonly keyId: string;
  /** What is wrong with the path in the header; it matters only if the caller may name its path. */
  readonly pathFailure: Failure | null;
  /** The answer if the daemon denies the caller. */
  readonly denial: Failure;
}

export type Authentication =
  | { readonly ok: true; readonly caller: Caller }
  /** `note` is for the log alone: callers learn nothing from a refusal. */
  | { readonly ok: false; readonly failure: Failure; readonly note?: string };

/** The one answer to a token that isn't accepted, whatever is wrong with it. */
export const wrongToken: Failure = unauthorized("authentication failed");

export function unauthorized(message: string): Failure {
  return plainFailure(401, "authentication_error", message);
}

/** A caller whose path the proxy knows itself: from a JWT. */
export function authenticatedCaller(userPath: string): Caller {
  return {
    userPath,
    credential: "authenticated",
    isOperator: false,
    keyId: "",
    pathFailure: null,
    denial: wrongToken,
  };
}
