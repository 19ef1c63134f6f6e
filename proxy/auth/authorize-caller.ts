/**
 * Has the daemon check the caller of a request that isn't limited, or is refused before its
 * admission: a caller with a wrong token must learn only that it is wrong. An admission includes
 * this check.
 */
import { keyOfAdministration } from "../../shared/access/admin-role.js";
import { unreachable } from "../../shared/assert.js";
import { unauthenticatedBodyMs, unauthorizedBodyBytesMax } from "../../shared/bounds.js";
import { type Failure, plainFailure } from "../../shared/error-code.js";
import type { Authorized } from "../../shared/wire/message-from-daemon.js";
import type { Exchange } from "../http/exchange.js";
import type { Area } from "../http/match-route.js";
import { limiterUnavailable } from "../limiter/daemon-calls.js";
import type { Limiter } from "../limiter/limiter.js";
import { type Authentication, type Caller, deniedCaller } from "./caller.js";

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
    if (limiter.keysExist === true) return { ok: false, failure: caller.denial };
    // An admin request may wait until the daemon is back; by then a key may exist.
    if (limiter.keysExist === false && (area !== "admin" || limiter.reachable))
      return identified(caller, { userPath: "", keyId: "" }, area);
  }
  const outcome = await limiter.authorize(credential);
  switch (outcome.kind) {
    case "authorized":
      return identified(caller, outcome, area);
    case "denied":
      return deniedCaller(caller, outcome.ended);
    case "unavailable":
      if (area === "scrape" && credential === "none" && limiter.keysExist !== true)
        return identified(caller, { userPath: "", keyId: "" }, area);
      return { ok: false, failure: limiterUnavailable() };
    default:
      return unreachable(outcome);
  }
}

/** `userPath`: the path that the key is bound to; empty when the caller may name its path. */
function identified(
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
interface DoorKeeper {
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
  { limiter, capacity: { unauthenticated } }: DoorKeeper,
  { credential, pathFailure }: Caller,
  exchange: Exchange,
): boolean {
  if (credential === "authenticated") return false;
  if (pathFailure !== null || (credential === "none" && limiter.keysExist === true)) return true;
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
