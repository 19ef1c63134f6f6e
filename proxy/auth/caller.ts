/**
 * The caller of a request: what is known of it, its refusals, and its check by the daemon if its
 * request isn't limited, or is refused before its admission: a caller with a wrong token must learn
 * only that it is wrong. An admission includes this check.
 */
import { type Administration, keyOfAdministration } from "../../shared/access/admin-role.js";
import {
  allowsModel,
  type ModelPatterns,
  modelNotAllowed,
} from "../../shared/access/allowed-models.js";
import { unreachable } from "../../shared/assert.js";
import { unauthenticatedBodyMs, unauthorizedBodyBytesMax } from "../../shared/bounds.js";
import { type Failure, plainFailure } from "../../shared/error-code.js";
import type { Authorized, EndedKey } from "../../shared/wire/message-from-daemon.js";
import type { Claimed } from "../../shared/wire/message-to-daemon.js";
import type { Exchange } from "../http/exchange.js";
import type { Area } from "../http/match-route.js";
import type { Limiter } from "../limiter/client/limiter-client.js";
import { limiterUnavailable } from "../limiter/daemon-calls.js";

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
export const wrongToken: Failure = unauthorizedFailure("authentication failed");

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

export function unauthorizedFailure(message: string): Failure {
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

/**
 * The caller with its effective user path, or the refusal. No daemon call for callers that the
 * proxy authenticated, nor for callers without credentials while no managed key exists. Without the
 * daemon, a key gets a 503 in either failure mode. A `scrape` of an open gateway works without the
 * daemon, unless keys are known to exist: metrics matter most during an outage.
 */
export async function authorizeCaller(
  limiter: Limiter,
  caller: Caller,
  area: Area | "scrape",
): Promise<Authentication> {
  const { credential } = caller;
  if (credential === "authenticated") return { ok: true, caller };
  if (credential === "none") {
    if (limiter.notices.keysExist === true) return { ok: false, failure: caller.denial };
    // An admin request may wait until the daemon is back; by then a key may exist.
    if (limiter.notices.keysExist === false && (area !== "admin" || limiter.reachable))
      return keyAuthentication(caller, { userPath: "", keyId: "" }, area);
  }
  const outcome = await limiter.authorize(credential);
  switch (outcome.kind) {
    case "authorized":
      return keyAuthentication(caller, outcome, area);
    case "denied":
      return deniedCaller(caller, outcome.ended);
    case "unavailable":
      if (area === "scrape" && credential === "none" && limiter.notices.keysExist !== true)
        return keyAuthentication(caller, { userPath: "", keyId: "" }, area);
      return { ok: false, failure: limiterUnavailable() };
    default:
      return unreachable(outcome);
  }
}

/** `userPath`: the path that the key is bound to; empty when the caller may name its path. */
function keyAuthentication(
  caller: Caller,
  { userPath, keyId, models, role }: Pick<Authorized, "userPath" | "keyId" | "models" | "role">,
  area: Area | "scrape",
): Authentication {
  if (area === "admin" && keyId !== "" && role === undefined)
    return {
      ok: false,
      failure: plainFailure(
        403,
        "permission_error",
        "a managed key without a role does not open /admin: use the master key or a key of administration",
      ),
      note: `refused on /admin: ${keyId}`,
    };
  if (area !== "admin" && role !== undefined)
    return { ok: false, failure: keyOfAdministration(keyId) };
  if (userPath === "" && caller.pathFailure !== null)
    return { ok: false, failure: caller.pathFailure };
  return {
    ok: true,
    caller: {
      ...caller,
      keyId,
      administers:
        role === undefined ? caller.administers : { role, path: userPath === "" ? "/" : userPath },
      allowLists: models === undefined ? caller.allowLists : [models],
      userPath: userPath === "" ? caller.userPath : userPath,
      pathFailure: null,
    },
  };
}

/** The parts of the gateway that `mustAuthorizeFirst` uses. */
interface AuthorizeFirstParts {
  readonly limiter: Limiter;
  readonly capacity: {
    readonly unauthenticated: { take(bytes: number): boolean; give(bytes: number): void };
  };
}

/**
 * Whether the caller of a limited request must be checked before its body is read, not with the
 * admission. The body of an unknown caller must be small and arrive soon, and all such bodies share
 * little memory, which this takes; when it is used up, callers are checked first.
 */
export function mustAuthorizeFirst(
  { limiter, capacity: { unauthenticated } }: AuthorizeFirstParts,
  { credential, pathFailure }: Caller,
  exchange: Exchange,
): boolean {
  if (credential === "authenticated") return false;
  if (pathFailure !== null || (credential === "none" && limiter.notices.keysExist === true))
    return true;
  if (credential === "none") return false;
  // The client waits for 100 Continue before it sends its body.
  if (exchange.header("expect") !== undefined) return true;
  // A compressed body may decode to much more than its Content-Length.
  if (exchange.header("content-encoding") !== undefined) return true;
  const length = exchange.header("content-length");
  if (length === undefined) return exchange.header("transfer-encoding") !== undefined;
  const bytes = Number(length);
  if (bytes > unauthorizedBodyBytesMax) return true;
  if (!unauthenticated.take(bytes)) return true;
  exchange.awaitBody(unauthenticatedBodyMs, () => unauthenticated.give(bytes));
  return false;
}

/**
 * Why a caller whose key isn't checked yet may not have its body parsed; null if it may. Parsing
 * many values takes time, so only known callers may send them.
 */
export function denialOfDense(
  limiter: Limiter,
  caller: Caller,
  isDense: () => boolean,
): Promise<Failure | null> | null {
  // The proxy knows it, or the daemon authorized it before the body was read.
  if (caller.credential === "authenticated" || caller.keyId !== "") return null;
  if (!isDense()) return null;
  return authorizeCaller(limiter, caller, "model").then((authorized) =>
    authorized.ok ? null : authorized.failure,
  );
}
